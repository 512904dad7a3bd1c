// Vectors as wide as a register of the processor that this file is compiled for.
#pragma once

#include <cstdint>
#include <limits>

#define HYPERACTION_INLINE inline __attribute__((always_inline))

// Before a loop whose rounds do not depend on each other, whatever its pointers point to.
#if defined(__clang__)
#define HYPERACTION_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HYPERACTION_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace hyperaction {

// The extension is built once per instruction set. A compiler splits a vector type that is wider
// than the target's registers into single numbers, so the width follows the target.
#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;  // SSE2, NEON
#endif

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A register from or to memory that need not be aligned. Whole groups of registers are not copied
// so, for compilers then keep them in memory.
template <typename Register, typename Number>
HYPERACTION_INLINE Register load(const Number* from) {
  Register numbers;
  __builtin_memcpy(&numbers, from, sizeof(numbers));
  return numbers;
}
template <typename Register, typename Number>
HYPERACTION_INLINE void store(Register numbers, Number* to) {
  __builtin_memcpy(to, &numbers, sizeof(numbers));
}

// So many registers of numbers, side by side.
template <typename Number, int kBytes, int kRegisters>
struct Group {
  typedef Number Register __attribute__((vector_size(kBytes)));
  static constexpr int kWidth = kBytes / static_cast<int>(sizeof(Number));
  static constexpr int kSize = kWidth * kRegisters;

  Register parts[kRegisters];

  HYPERACTION_INLINE static Group filled(Number number) {
    Group group;
    for (Register& part : group.parts) part = Register{} + number;
    return group;
  }
  Number operator[](int lane) const { return parts[lane / kWidth][lane % kWidth]; }
};

template <typename Number, int kBytes, int kRegisters>
HYPERACTION_INLINE Group<Number, kBytes, kRegisters> operator+(
    const Group<Number, kBytes, kRegisters>& a, const Group<Number, kBytes, kRegisters>& b) {
  Group<Number, kBytes, kRegisters> sum;
  for (int i = 0; i < kRegisters; ++i) sum.parts[i] = a.parts[i] + b.parts[i];
  return sum;
}

template <typename Number, int kBytes, int kRegisters>
HYPERACTION_INLINE Group<Number, kBytes, kRegisters> operator-(
    const Group<Number, kBytes, kRegisters>& a, const Group<Number, kBytes, kRegisters>& b) {
  Group<Number, kBytes, kRegisters> difference;
  for (int i = 0; i < kRegisters; ++i) difference.parts[i] = a.parts[i] - b.parts[i];
  return difference;
}

template <typename Number, int kBytes, int kRegisters>
HYPERACTION_INLINE Group<Number, kBytes, kRegisters> operator*(
    const Group<Number, kBytes, kRegisters>& a, Number factor) {
  Group<Number, kBytes, kRegisters> product;
  for (int i = 0; i < kRegisters; ++i) product.parts[i] = a.parts[i] * factor;
  return product;
}

// The larger number of each lane, and b where they do not compare.
template <typename Number, int kBytes, int kRegisters>
HYPERACTION_INLINE Group<Number, kBytes, kRegisters> larger(
    const Group<Number, kBytes, kRegisters>& a, const Group<Number, kBytes, kRegisters>& b) {
  Group<Number, kBytes, kRegisters> most;
  for (int i = 0; i < kRegisters; ++i)
    most.parts[i] = a.parts[i] > b.parts[i] ? a.parts[i] : b.parts[i];
  return most;
}

}  // namespace hyperaction
