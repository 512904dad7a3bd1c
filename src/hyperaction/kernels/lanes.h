// Sixteen states side by side, each in a vector lane of its own.
#pragma once

#include "transpose.h"
#include "vector.h"

namespace hyperaction {

constexpr int kRegisters = 64 / kRegisterBytes;
using Lanes = Group<float, kRegisterBytes, kRegisters>;
using LaneInts = Group<int32_t, kRegisterBytes, kRegisters>;
constexpr int kLanes = Lanes::kSize;

// Copies the outputs of a group of states into the arena, every table's axes in the program's
// order.
inline void load_states(const float* const* states, int64_t width, const int32_t* place,
                        Lanes* arena) {
  constexpr int kWidth = Lanes::kWidth;
  for (int part = 0; part < kRegisters; ++part) {
    const float* const* own = states + part * kWidth;
    int64_t j = 0;
    for (; j + kWidth <= width; j += kWidth) {
      Lanes::Register rows[kWidth];
      for (int i = 0; i < kWidth; ++i) rows[i] = load<Lanes::Register>(own[i] + j);
      transpose<kWidth>(rows);
      for (int k = 0; k < kWidth; ++k) arena[place[j + k]].parts[part] = rows[k];
    }
    for (; j < width; ++j)
      for (int i = 0; i < kWidth; ++i) arena[place[j]].parts[part][i] = own[i][j];
  }
}

// Copies numbers of the arena back to a group of states, in the order of their outputs.
inline void store_states(const Lanes* arena, const int32_t* place, int64_t width,
                         float* const* states) {
  constexpr int kWidth = Lanes::kWidth;
  for (int part = 0; part < kRegisters; ++part) {
    float* const* own = states + part * kWidth;
    int64_t j = 0;
    for (; j + kWidth <= width; j += kWidth) {
      Lanes::Register rows[kWidth];
      for (int k = 0; k < kWidth; ++k) rows[k] = arena[place[j + k]].parts[part];
      transpose<kWidth>(rows);
      for (int i = 0; i < kWidth; ++i)
        if (own[i]) store(rows[i], own[i] + j);
    }
    for (; j < width; ++j)
      for (int i = 0; i < kWidth; ++i)
        if (own[i]) own[i][j] = arena[place[j]].parts[part][i];
  }
}

}  // namespace hyperaction
