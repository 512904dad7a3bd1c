// Exponentials and logarithms of whole registers of floats, in additions and multiplications alone,
// so that every instruction set gives the same bits.
#pragma once

#include "vector.h"

namespace hyperaction {

// An integer register as wide as a register of floats.
template <typename Register>
struct AsInts {
  typedef int32_t Type __attribute__((vector_size(sizeof(Register))));
};

template <typename Register>
HYPERACTION_INLINE Register larger_of(Register a, Register b) {
  return a > b ? a : b;
}

constexpr float kRound = 12582912.0f;  // Numbers about it are whole: their last bits count up.

// Two to the power of a number between -1/2 and 1/2. Off by 2e-7 of it at most.
template <typename Register>
HYPERACTION_INLINE Register exp2_of_fraction(Register f) {
  Register power = f * 1.326472719e-3f + 9.671512642e-3f;
  power = power * f + 5.550733743e-2f;
  power = power * f + 2.402224209e-1f;
  power = power * f + 6.931469776e-1f;
  return power * f + 1.0f;
}

// Two to the power of x, for x up to 127; 0 below -125.
template <typename Register>
HYPERACTION_INLINE Register exp2_of(Register x) {
  using Ints = typename AsInts<Register>::Type;
  const Register rounded = larger_of(x, Register{} - 126.0f) + kRound;
  const Register power = exp2_of_fraction(x - (rounded - kRound));
  const Register scaled = (Register)((Ints)power + ((Ints)rounded << 23));
  return x > -125.0f ? scaled : Register{};
}

// Two to the power of a whole number up to 127; 2^-126 for all below, and for NaN.
template <typename Register>
HYPERACTION_INLINE Register exp2_of_whole(Register x) {
  using Ints = typename AsInts<Register>::Type;
  const Register bounded = larger_of(x, Register{} - 126.0f);
  return (Register)((Ints)(bounded + (kRound + 127.0f)) << 23);
}

// The natural logarithm of a number that is no less than 2^-126; minus infinity of 0.
template <typename Register>
HYPERACTION_INLINE Register log_of(Register x) {
  using Ints = typename AsInts<Register>::Type;
  constexpr int32_t kRootOfHalf = 0x3f3504f3;
  const Ints bits = (Ints)x;
  const Ints exponent = (bits - kRootOfHalf) >> 23;
  const Register z = (Register)(bits - (exponent << 23)) - 1.0f;
  const Register e = __builtin_convertvector(exponent, Register);
  Register tail = z * 7.0376836292e-2f - 1.1514610310e-1f;
  tail = tail * z + 1.1676998740e-1f;
  tail = tail * z - 1.2420140846e-1f;
  tail = tail * z + 1.4249322787e-1f;
  tail = tail * z - 1.6668057665e-1f;
  tail = tail * z + 2.0000714765e-1f;
  tail = tail * z - 2.4999993993e-1f;
  tail = tail * z + 3.3333331174e-1f;
  const Register square = z * z;
  tail = tail * z * square + e * -2.12194440e-4f - square * 0.5f;
  const Register log = z + tail + e * 0.693359375f;
  return x > 0.0f ? log : Register{} + kMinusInfinity;
}

}  // namespace hyperaction
