// Rows of numbers made columns, in registers.
#pragma once

#include <utility>

#include "vector.h"

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

namespace hyperaction {

// Numbers of two registers, chosen by constants: those of b come after those of a.
template <int... kFrom, typename Register>
HYPERACTION_INLINE Register pick(Register a, Register b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, kFrom...);
#else
  typedef int32_t Indices __attribute__((vector_size(sizeof(Register))));
  return __builtin_shuffle(a, b, Indices{kFrom...});
#endif
}

template <int kDistance, typename Register, int... k>
HYPERACTION_INLINE void exchange_pair(Register& a, Register& b, std::integer_sequence<int, k...>) {
  constexpr int kWidth = sizeof...(k);
  const Register low = pick<(k & kDistance ? k - kDistance + kWidth : k)...>(a, b);
  b = pick<(k & kDistance ? k + kWidth : k + kDistance)...>(a, b);
  a = low;
}

// Transposes as many registers as one has numbers, in rounds of exchanging halves, quarters, ...
template <int kWidth, int kDistance = kWidth / 2, typename Register>
HYPERACTION_INLINE void transpose(Register (&rows)[kWidth]) {
  for (int i = 0; i < kWidth; ++i) {
    if (!(i & kDistance))
      exchange_pair<kDistance>(rows[i], rows[i + kDistance],
                               std::make_integer_sequence<int, kWidth>());
  }
  if constexpr (kDistance > 1) transpose<kWidth, kDistance / 2>(rows);
}

}  // namespace hyperaction
