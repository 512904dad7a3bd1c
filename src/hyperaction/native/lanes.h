// Sixteen states side by side: one vector holds one number of each.
#pragma once

#include <cstdint>
#include <limits>

namespace hyperaction {

constexpr int kLanes = 16;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t LaneInts __attribute__((vector_size(64)));

// The library is built once and run on any machine of its kind: the hot functions are compiled for
// several instruction sets, and the best one is chosen when the library is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define HYPERACTION_FAST \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HYPERACTION_FAST
#endif
#define HYPERACTION_INLINE inline __attribute__((always_inline))

HYPERACTION_INLINE Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }

}  // namespace hyperaction
