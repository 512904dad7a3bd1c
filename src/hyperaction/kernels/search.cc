// Past the reach of elimination: tabu search for a good answer, branch and bound to prove it.

#include <new>
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
  int64_t nodes, seed;  // Below zero nodes there is no branch and bound.
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
    std::optional<Messages<Lanes>> several;
    std::optional<Messages<float>> one;
    for (int64_t i = 0; i < batch;) {
      const int count = static_cast<int>(std::min<int64_t>(kLanes, batch - i));
      const float* first = outputs + i * tables.num_outputs;
      if (!relations_) {
        tables.set(first);
        climb(actions + i * tables.n, limits_.steps);
        bounds[i++] = -kMinusInfinity;
      } else if (4 * count >= kLanes) {
        prove(several, first, count, actions + i * tables.n, bounds + i);
        i += count;
      } else if (limits_.nodes < 0) {  // Messages of few states take longer than they can save.
        tables.set(first);
        climb(actions + i * tables.n, limits_.steps / 10);
        climb(actions + i * tables.n, limits_.steps);
        bounds[i++] = -kMinusInfinity;
      } else {
        prove(one, first, 1, actions + i * tables.n, bounds + i);
        ++i;
      }
    }
  }

  Tables tables;

 private:
  using Lanes = Group<float, kRegisterBytes, 1>;

  void climb(int32_t* action, int steps) {
    tabu_.run(action, steps,
              Random{0x9E3779B97F4A7C15ull + 2 * static_cast<uint64_t>(limits_.seed)});
  }

  // A short search is enough where messages prove it best already.
  template <typename Number>
  void prove(std::optional<Messages<Number>>& messages, const float* outputs, int count,
             int32_t* actions, float* bounds) {
    if (!messages) messages.emplace(tables, *relations_);
    for (int i = 0; i < count; ++i) {
      int32_t* action = actions + i * tables.n;
      tables.set(outputs + i * static_cast<int64_t>(tables.num_outputs));
      climb(action, limits_.steps / 10);
      messages->set(i, tables.numbers.data(), tables.value(action) + tables.slack());
    }
    messages->tighten(limits_.sweeps, count);
    for (int i = 0; i < count; ++i) {
      int32_t* action = actions + i * tables.n;
      tables.set(outputs + i * static_cast<int64_t>(tables.num_outputs));
      double bound = tables.value(action) + tables.slack();
      if (messages->bound(i) > bound) {
        climb(action, limits_.steps);
        if (limits_.nodes < 0) {
          bound = std::max(messages->bound(i), tables.value(action)) + tables.slack();
        } else {
          shifted_ = tables.numbers;
          messages->shift(i, shifted_);
          bound = BranchAndBound(tables, shifted_).run(action, limits_.nodes);
        }
      }
      bounds[i] = static_cast<float>(bound);
    }
  }

  const Limits limits_;
  Tabu tabu_;
  std::optional<Relations> relations_;
  std::vector<float> shifted_;
};

// Starts repeat where there are fewer of them than states.
void search(const int32_t* structure, const Limits& limits, const float* outputs, int64_t size,
            const int32_t* starts, int64_t given, int32_t* actions, float* bounds) {
  Search work(structure, limits);
  const int64_t batch = size / work.tables.num_outputs;
  for (int64_t i = 0; i < batch * work.tables.n; ++i) actions[i] = starts[i % given];
  work.run(outputs, batch, actions, bounds);
}

ffi::Error search_buffers(ffi::Buffer<ffi::F32> outputs, ffi::Buffer<ffi::S32> starts,
                          ffi::Buffer<ffi::S32> structure, int64_t steps, int64_t sweeps,
                          int64_t nodes, int64_t seed, ffi::ResultBuffer<ffi::S32> actions,
                          ffi::ResultBuffer<ffi::F32> bounds) {
  const Limits limits{static_cast<int>(steps), static_cast<int>(sweeps), nodes, seed};
  search(structure.typed_data(), limits, outputs.typed_data(), outputs.element_count(),
         starts.typed_data(), starts.element_count(), actions->typed_data(), bounds->typed_data());
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

// For callers without JAX (host.py); whether it had the memory that it needs.
extern "C" bool hyperaction_host_search(const float* outputs, int64_t size, const int32_t* starts,
                                        int64_t given, const int32_t* structure, int64_t steps,
                                        int64_t sweeps, int64_t nodes, int32_t* actions,
                                        float* bounds) try {
  const hyperaction::Limits limits{static_cast<int>(steps), static_cast<int>(sweeps), nodes, 0};
  hyperaction::search(structure, limits, outputs, size, starts, given, actions, bounds);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_search, hyperaction::search_buffers,
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
