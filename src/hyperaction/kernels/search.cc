// Rank two past the reach of elimination: tabu search for a good answer, branch and bound to prove
// it.

#include "branch_and_bound.h"
#include "pairwise.h"
#include "tabu.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

// The best action found for every state, and an upper bound of all actions' sums.
ffi::Error search(ffi::Buffer<ffi::F32> outputs, ffi::Buffer<ffi::S32> structure, int64_t steps,
                  int64_t nodes, int64_t seed, ffi::ResultBuffer<ffi::S32> actions,
                  ffi::ResultBuffer<ffi::F32> bounds) {
  const Structure s(structure.typed_data());
  const int64_t n = s.num_vertices, batch = outputs.element_count() / s.num_outputs;
  Pairwise p(s);
  Tabu tabu(p);
  for (int64_t i = 0; i < batch; ++i) {
    const float* row = outputs.typed_data() + i * s.num_outputs;
    int32_t* action = actions->typed_data() + i * n;
    p.set(s, row);
    hopeful(p, action);
    tabu.run(action, static_cast<int>(steps),
             Random{0x9E3779B97F4A7C15ull + 2 * static_cast<uint64_t>(seed)});
    float& bound = bounds->typed_data()[i];
    bound = -kMinusInfinity;
    if (nodes > 0) {
      Messages(p).tighten(20);
      BranchAndBound search(p);
      bound = static_cast<float>(search.run(action, nodes));
    }
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_search, hyperaction::search,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Attr<int64_t>("steps")
                                  .Attr<int64_t>("nodes")
                                  .Attr<int64_t>("seed")
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
