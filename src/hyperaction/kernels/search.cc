// Past the reach of elimination: tabu search for a good answer, branch and bound to prove it.

#include <optional>

#include "branch_and_bound.h"
#include "messages.h"
#include "tables.h"
#include "tabu.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

struct Limits {
  int steps, sweeps;
  int64_t nodes, seed;
};

// Searches a batch, so many states side by side where lanes can do it.
class Search {
 public:
  Search(const int32_t* structure, const Limits& limits)
      : tables(structure), limits_(limits), tabu_(tables) {
    if (limits.sweeps > 0) relations_.emplace(tables);
  }

  // The best actions found from the starts that they hold, and upper bounds of all actions' sums,
  // which are infinite without sweeps of messages.
  void run(const float* outputs, int64_t batch, int32_t* actions, float* bounds) {
    constexpr int kLanes = Messages<Lanes>::kLanes;
    for (int64_t i = 0; i < batch; ++i) {
      tables.set(outputs + i * tables.num_outputs);
      tabu_.run(actions + i * tables.n, limits_.steps,
                Random{0x9E3779B97F4A7C15ull + 2 * static_cast<uint64_t>(limits_.seed)});
      bounds[i] = -kMinusInfinity;
    }
    if (!relations_) return;
    std::optional<Messages<Lanes>> several;
    std::optional<Messages<float>> one;
    for (int64_t i = 0; i < batch;) {
      const int count = static_cast<int>(std::min<int64_t>(kLanes, batch - i));
      if (4 * count >= kLanes) {
        prove(several, outputs, i, count, actions, bounds);
        i += count;
      } else {
        prove(one, outputs, i, 1, actions, bounds);
        ++i;
      }
    }
  }

  Tables tables;

 private:
  using Lanes = Group<float, kRegisterBytes, 1>;

  template <typename Number>
  void prove(std::optional<Messages<Number>>& messages, const float* outputs, int64_t first,
             int count, int32_t* actions, float* bounds) {
    if (!messages) messages.emplace(tables, *relations_);
    for (int i = 0; i < Messages<Number>::kLanes; ++i) {  // Lanes past the end repeat the last.
      const int64_t state = first + std::min(i, count - 1);
      tables.set(outputs + state * tables.num_outputs);
      messages->set(i, tables.numbers.data(),
                    tables.value(actions + state * tables.n) + tables.slack());
    }
    messages->tighten(limits_.sweeps);
    for (int i = 0; i < count; ++i) {
      tables.set(outputs + (first + i) * tables.num_outputs);
      shifted_ = tables.numbers;
      messages->shift(i, shifted_);
      BranchAndBound search(tables, shifted_);
      bounds[first + i] =
          static_cast<float>(search.run(actions + (first + i) * tables.n, limits_.nodes));
    }
  }

  const Limits limits_;
  Tabu tabu_;
  std::optional<Relations> relations_;
  std::vector<float> shifted_;
};

ffi::Error search(ffi::Buffer<ffi::F32> outputs, ffi::Buffer<ffi::S32> starts,
                  ffi::Buffer<ffi::S32> structure, int64_t steps, int64_t sweeps, int64_t nodes,
                  int64_t seed, ffi::ResultBuffer<ffi::S32> actions,
                  ffi::ResultBuffer<ffi::F32> bounds) {
  Search work(structure.typed_data(),
              {static_cast<int>(steps), static_cast<int>(sweeps), nodes, seed});
  const int64_t batch = outputs.element_count() / work.tables.num_outputs;
  const int64_t numbers = batch * work.tables.n, given = starts.element_count();
  // Where a batch is mapped over and its starts are not, they repeat.
  for (int64_t i = 0; i < numbers; ++i) actions->typed_data()[i] = starts.typed_data()[i % given];
  work.run(outputs.typed_data(), batch, actions->typed_data(), bounds->typed_data());
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_search, hyperaction::search,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Attr<int64_t>("steps")
                                  .Attr<int64_t>("sweeps")
                                  .Attr<int64_t>("nodes")
                                  .Attr<int64_t>("seed")
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
