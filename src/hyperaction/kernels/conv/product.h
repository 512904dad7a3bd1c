// Sums of products under a moving window: the one loop of all convolutions without AMX.
//
// No patches are copied. A number under a window stands at the sum of two offsets in the image, of
// the window and of the number within it:
//   a result              y[p][o] = sum over t of x[window[p] + tap[t]] * weight[t][o]
//   a weight's gradient   d[t][o] = sum over p of x[tap[t] + window[p]] * gradient[p][o]
// So both are one product, with the two lists of offsets swapped.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "../vector.h"
#include "shape.h"

namespace hyperaction {

using Offsets = std::vector<int32_t>;
using Outputs = Group<float, kRegisterBytes, 2>;
constexpr int kOutputs = Outputs::kSize;
// By two registers: about as many sums as the 16 registers of AVX2 or the 32 of AVX-512 hold beside
// what is added to them, and enough to hide the time that an addition takes.
constexpr int kRows = kRegisterBytes == 64 ? 10 : 6;
// Of a panel: 16 KB, so that it stays in the first cache.
constexpr int64_t kSteps = (16 << 10) / (kOutputs * static_cast<int64_t>(sizeof(float)));

// Rows of numbers in panels of kOutputs columns, so that a panel is read from end to end.
class Panels {
 public:
  Panels(int64_t steps, int64_t outputs)
      : steps(steps), outputs(outputs), numbers_(steps * outputs) {}

  template <typename Row>
  void pack(const Row& row_of) {
    for (int64_t step = 0; step < steps; ++step) {
      const float* from = row_of(step);
      for (int64_t o = 0; o < outputs; o += kOutputs)
        std::copy_n(from + o, kOutputs, numbers_.data() + o * steps + step * kOutputs);
    }
  }
  const float* at(int64_t output, int64_t step) const {
    return numbers_.data() + output * steps + step * kOutputs;
  }

  const int64_t steps, outputs;

 private:
  Aligned<float> numbers_;
};

// The sums of so many rows for the outputs of two registers, all of which stay in registers.
template <int kCount>
void add_rows(const float* x, const int32_t* rows, const int32_t* steps, int64_t num_steps,
              const float* panel, float* results, const int32_t* places) {
  const float* own[kCount];
  Outputs sums[kCount];
  for (int i = 0; i < kCount; ++i) {
    own[i] = x + rows[i];
    sums[i] = Outputs::filled(0.0f);
  }
  for (int64_t step = 0; step < num_steps; ++step, panel += kOutputs) {
    const int64_t offset = steps[step];
    const auto first = load<Outputs::Register>(panel);
    const auto second = load<Outputs::Register>(panel + Outputs::kWidth);
    for (int i = 0; i < kCount; ++i) {
      const float number = own[i][offset];
      sums[i].parts[0] += number * first;
      sums[i].parts[1] += number * second;
    }
  }
  for (int i = 0; i < kCount; ++i) {
    for (int part = 0; part < 2; ++part) {
      float* to = results + places[i] + part * Outputs::kWidth;
      store(load<Outputs::Register>(to) + sums[i].parts[part], to);
    }
  }
}

template <int... kCounts>
constexpr std::array<decltype(&add_rows<1>), kRows> adders(
    std::integer_sequence<int, kCounts...>) {
  return {add_rows<kCounts + 1>...};
}
constexpr auto kAddRows = adders(std::make_integer_sequence<int, kRows>());

// Calls `work` with the first and the end of every part of a range, none longer than `most`. Parts
// differ by one at most: the time of a short one would be that of a long one.
template <typename Work>
void in_parts(int64_t count, int64_t most, const Work& work) {
  const int64_t parts = (count + most - 1) / most;
  for (int64_t part = 0; part < parts; ++part)
    work(count * part / parts, count * (part + 1) / parts);
}

// results[places[r] + o] += the sum over t of x[rows[r] + steps[t]] * b[t][o].
inline void add_product(const float* x, const Offsets& rows, const Offsets& steps, const Panels& b,
                        float* results, const Offsets& places) {
  for (int64_t o = 0; o < b.outputs; o += kOutputs) {
    in_parts(b.steps, kSteps, [&](int64_t step, int64_t last_step) {
      in_parts(rows.size(), kRows, [&](int64_t row, int64_t last_row) {
        kAddRows[last_row - row - 1](x, rows.data() + row, steps.data() + step, last_step - step,
                                     b.at(o, step), results + o, places.data() + row);
      });
    });
  }
}

}  // namespace hyperaction
