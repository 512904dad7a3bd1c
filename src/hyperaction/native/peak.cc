// What a core can do at most: adds on vectors that never leave their registers.

#include "lanes.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

constexpr int kChains = 12;  // enough that no add waits for the one before it

HYPERACTION_FAST void add_up(float* result, int64_t rounds) {
  Lanes sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = Lanes{} + static_cast<float>(c);
  const Lanes step = Lanes{} + 1e-3f;
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] += step;
  }
  Lanes total = {};
  for (int c = 0; c < kChains; ++c) total += sums[c];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = total[lane];
}

ffi::Error peak(int64_t rounds, ffi::ResultBuffer<ffi::F32> result) {
  add_up(result->typed_data(), rounds);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    hyperaction_peak, hyperaction::peak,
    ffi::Ffi::Bind().Attr<int64_t>("rounds").Ret<ffi::Buffer<ffi::F32>>());
