// Random numbers: Threefry-2x32 with twenty rounds (Salmon et al., 2011), as JAX has it.
#pragma once

#include "lanes.h"

namespace hyperaction {

// One stream of numbers per lane.
class Threefry {
 public:
  // The key's words of a lane.
  void seed(int lane, uint32_t first, uint32_t second) {
    reinterpret_cast<uint32_t*>(&key_[0])[lane] = first;
    reinterpret_cast<uint32_t*>(&key_[1])[lane] = second;
  }

  // The next number of each lane, between 0 and 1, neither included.
  HYPERACTION_INLINE Lanes next() {
    Lanes uniform;
    for (int i = 0; i < kRegisters; ++i) {
      typedef Words::Register Word;
      const Word k[3] = {key_[0].parts[i], key_[1].parts[i],
                         key_[0].parts[i] ^ key_[1].parts[i] ^ 0x1BD11BDAu};
      Word x = k[0] + counter_, y = k[1];
      for (int group = 0; group < 5; ++group) {
        static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
        for (int turn : kRotations[group % 2]) {
          x += y;
          y = (y << turn) | (y >> (32 - turn));
          y ^= x;
        }
        x += k[(group + 1) % 3];
        y += k[(group + 2) % 3] + (group + 1u);
      }
      typedef LaneInts::Register Int;
      const Lanes::Register whole = __builtin_convertvector((Int)(x >> 9), Lanes::Register);
      uniform.parts[i] = (whole + 0.5f) * 0x1p-23f;
    }
    ++counter_;
    return uniform;
  }

 private:
  using Words = Group<uint32_t, kRegisterBytes, kRegisters>;
  Words key_[2] = {};
  uint32_t counter_ = 0;
};

}  // namespace hyperaction
