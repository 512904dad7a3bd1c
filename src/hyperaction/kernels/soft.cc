// Soft values by the program of conditioning and elimination steps that maxima are found by: the
// temperature times the log of the sum of exp(value / temperature) over all joint actions, the
// probabilities of the tables' entries, and draws.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "soft_program.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

using Floats = ffi::Buffer<ffi::F32>;
using Numbers = ffi::Buffer<ffi::S32>;

constexpr float kColdest = 1e-30f;  // as in maximise/log_sum.py
constexpr float kSafe = 124.0f;     // Powers of two that stay in the range of floats.

// Sixteen states at a time, in the semirings that their numbers allow.
class States {
 public:
  States(const Floats& tables, const Floats& temperature, const Program& program,
         const Numbers& bounds)
      : program_(program),
        tables_(tables.typed_data()),
        temperature_(temperature.typed_data()),
        bounds_(bounds.typed_data()),
        num_tables_(static_cast<int>(bounds.element_count()) - 1),
        arena_(new Lanes[program.header->arena]),
        middles_(num_tables_) {
    for (int s = 0; s < program.header->num_steps; ++s) {
      log2_actions_ += std::log2(static_cast<float>(program.steps[s].size));
      conditions_ |= program.steps[s].conditions;
    }
  }

  // Reads the states from `first` on, and finds which lanes may use exponentials as they are.
  void read(int64_t first, int64_t used) {
    const int64_t width = program_.header->num_outputs;
    float* temperature = reinterpret_cast<float*>(&heat_.temperature);
    for (int64_t lane = 0; lane < kLanes; ++lane) {  // Lanes past the end repeat the last state.
      const int64_t state = first + std::min(lane, used - 1);
      states_[lane] = tables_ + state * width;
      temperature[lane] = temperature_[state];
    }
    for (int i = 0; i < kRegisters; ++i)
      heat_.inverse.parts[i] =
          kLog2E / larger_of(heat_.temperature.parts[i], Register{} + kColdest);
    load_states(states_, width, program_.load, arena_.get());
    measure();
    fresh_ = true;
  }

  // Whether any lane is, or is not, to be computed with exponentials as they are.
  bool any(bool linear) const {
    for (int lane = 0; lane < kLanes; ++lane)
      if ((linear_[lane] != 0) == linear) return true;
    return false;
  }

  // The arena with the tables of the lanes for one semiring, and zeros in the others.
  Lanes* prepare(bool linear) {
    Lanes* arena = arena_.get();
    if (!fresh_) load_states(states_, program_.header->num_outputs, program_.load, arena);
    fresh_ = false;
    for (int t = 0; t < num_tables_; ++t)
      for (int j = bounds_[t]; j < bounds_[t + 1]; ++j)
        for (int i = 0; i < kRegisters; ++i) {
          const Register x = arena[j].parts[i];
          const Register scaled =
              linear ? exp2_of((x - middles_[t].parts[i]) * heat_.inverse.parts[i]) : x;
          const auto counts = linear ? linear_.parts[i] : ~linear_.parts[i];
          arena[j].parts[i] = counts ? scaled : Register{};
        }
    return arena;
  }

  // The soft values of a group, from sums of exponentials or from their logarithms.
  Lanes value(const Linear::Total& total) const {
    Lanes values;
    for (int i = 0; i < kRegisters; ++i)
      values.parts[i] =
          offset_.parts[i] + heat_.temperature.parts[i] * log_of(total.sum.parts[i]);
    return values;
  }
  Lanes value(const Logarithmic::Total& total) const {
    Lanes values;
    for (int i = 0; i < kRegisters; ++i) {
      const Register sum = total.sum.parts[i], positive = sum > 0.0f ? sum : Register{} + 1.0f;
      values.parts[i] = total.top.parts[i] + heat_.temperature.parts[i] * log_of(positive);
    }
    return values;
  }

  // Lanes at temperature 0.
  LaneInts cold() const {
    LaneInts cold;
    for (int i = 0; i < kRegisters; ++i)
      cold.parts[i] = heat_.temperature.parts[i] < kColdest;
    return cold;
  }

  const Heat& heat() const { return heat_; }
  const LaneInts& linear() const { return linear_; }
  const Lanes* arena() const { return arena_.get(); }
  bool conditions() const { return conditions_; }
  int first_table() const { return bounds_[1]; }

 private:
  // The middle of every table, and whether the products of all are in the range of floats.
  void measure() {
    Lanes range = Lanes::filled(0.0f);
    offset_ = range;
    for (int t = 0; t < num_tables_; ++t) {
      for (int i = 0; i < kRegisters; ++i) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        Register most = Register{} + kMinusInfinity, least = Register{} + kInfinity;
        for (int j = bounds_[t]; j < bounds_[t + 1]; ++j) {
          const Register x = arena_[j].parts[i];
          most = larger_of(most, x);
          const Register allowed = x > kMinusInfinity ? x : Register{} + kInfinity;
          least = allowed < least ? allowed : least;
        }
        const auto empty = least > most;  // Nothing is allowed.
        middles_[t].parts[i] = empty ? Register{} : 0.5f * most + 0.5f * least;
        range.parts[i] += empty ? Register{} : most - least;
        offset_.parts[i] += middles_[t].parts[i];
      }
    }
    for (int i = 0; i < kRegisters; ++i) {
      const Register bits = 0.5f * range.parts[i] * heat_.inverse.parts[i] + log2_actions_;
      linear_.parts[i] = (bits < kSafe) & (heat_.temperature.parts[i] >= kColdest);
    }
  }

  const Program& program_;
  const float *tables_, *temperature_;
  const int32_t* bounds_;  // where each table starts in the arena, and where the last one ends
  int num_tables_;
  std::unique_ptr<Lanes[]> arena_;
  std::vector<Lanes> middles_;
  float log2_actions_ = 0.0f;
  bool conditions_ = false, fresh_ = false;
  const float* states_[kLanes];
  Heat heat_;
  Lanes offset_;
  LaneInts linear_;
};

HYPERACTION_INLINE Lanes select(const LaneInts& which, const Lanes& a, const Lanes& b) {
  Lanes chosen;
  for (int i = 0; i < kRegisters; ++i)
    chosen.parts[i] = which.parts[i] ? a.parts[i] : b.parts[i];
  return chosen;
}

template <typename Work>
void each_group(States& states, int64_t batch, Work work) {
  for (int64_t first = 0; first < batch; first += kLanes) {
    const int64_t used = std::min<int64_t>(kLanes, batch - first);
    states.read(first, used);
    work(first, used);
  }
}

Logarithmic logarithmic(const Heat& heat) {
  Logarithmic semiring;
  semiring.heat = heat;
  return semiring;
}

ffi::Error soft_value(Floats tables, Floats temperature, Numbers code, Numbers bounds,
                      ffi::ResultBuffer<ffi::F32> values) {
  const Program program(code.typed_data());
  States states(tables, temperature, program, bounds);
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Lanes found = Lanes::filled(0.0f);
    if (states.any(true)) {
      Linear semiring;
      SoftProgram<Linear> run(program, semiring, states.prepare(true));
      found = states.value(run.total());
    }
    if (states.any(false)) {
      Logarithmic semiring = logarithmic(states.heat());
      SoftProgram<Logarithmic> run(program, semiring, states.prepare(false));
      found = select(states.linear(), found, states.value(run.total()));
    }
    std::copy_n(reinterpret_cast<float*>(&found), used, values->typed_data() + first);
  });
  return ffi::Error::Success();
}

// Slopes of exponentials as probabilities, in place; the soft values and the entropies.
void finish(const States& states, int width, Lanes* slopes, Lanes* values, Lanes* entropies) {
  const Lanes* arena = states.arena();
  for (int i = 0; i < kRegisters; ++i) {
    Linear::Total total;
    for (int j = 0; j < width; ++j) slopes[j].parts[i] *= arena[j].parts[i];
    for (int j = 0; j < states.first_table(); ++j) total.sum.parts[i] += slopes[j].parts[i];
    const Register sum = total.sum.parts[i];
    const Register scale = 1.0f / (sum > 0.0f ? sum : Register{} + 1.0f);
    Register mean = Register{};
    for (int j = 0; j < width; ++j) {
      slopes[j].parts[i] *= scale;
      const Register log = log_of(arena[j].parts[i] > 0.0f ? arena[j].parts[i] : Register{} + 1.0f);
      mean += slopes[j].parts[i] * log;
    }
    entropies->parts[i] = log_of(sum) - mean;
    values->parts[i] = states.value(total).parts[i];
  }
}

ffi::Error soft_marginals(Floats tables, Floats temperature, Numbers code, Numbers bounds,
                          ffi::ResultBuffer<ffi::F32> values, ffi::ResultBuffer<ffi::F32> entropies,
                          ffi::ResultBuffer<ffi::F32> marginals) {
  const Program program(code.typed_data());
  const int width = program.header->num_outputs, size = program.header->arena;
  States states(tables, temperature, program, bounds);
  std::vector<Lanes> exact(size), slopes(size);
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Lanes value = Lanes::filled(0.0f), entropy = value;
    std::fill(slopes.begin(), slopes.end(), value);
    if (states.any(true)) {
      Linear semiring;
      SoftProgram<Linear> run(program, semiring, states.prepare(true));
      run.pull(slopes.data());
      finish(states, width, slopes.data(), &value, &entropy);
    }
    if (states.any(false)) {
      Logarithmic semiring = logarithmic(states.heat());
      SoftProgram<Logarithmic> run(program, semiring, states.prepare(false));
      const Logarithmic::Total total = run.total();
      semiring.top = total.top, semiring.sum_of_all = total.sum;
      std::fill(exact.begin(), exact.end(), Lanes::filled(0.0f));
      run.pull(exact.data());
      for (int j = 0; j < width; ++j) slopes[j] = select(states.linear(), slopes[j], exact[j]);
      value = select(states.linear(), value, states.value(total));
      entropy = select(states.linear(), entropy, semiring.entropy);
    }
    float* rows[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane)
      rows[lane] = lane < used ? marginals->typed_data() + (first + lane) * width : nullptr;
    store_states(slopes.data(), program.load, width, rows);
    std::copy_n(reinterpret_cast<float*>(&value), used, values->typed_data() + first);
    std::copy_n(reinterpret_cast<float*>(&entropy), used, entropies->typed_data() + first);
  });
  return ffi::Error::Success();
}

template <typename Semiring>
void draw(States& states, const Program& program, Semiring semiring, bool linear, Threefry random,
          std::vector<int32_t>& actions) {
  SoftProgram<Semiring> run(program, semiring, states.prepare(linear));
  std::fill(actions.begin(), actions.end(), 0);
  if (states.conditions())
    run.draw_conditions(random, states.cold(), actions.data());
  else
    run.total();
  run.trace_back(random, states.cold(), actions.data());
}

ffi::Error soft_sample(Floats tables, Floats temperature, ffi::Buffer<ffi::U32> seeds, Numbers code,
                       Numbers bounds, ffi::ResultBuffer<ffi::S32> actions) {
  const Program program(code.typed_data());
  const int64_t n = program.header->num_vertices;
  States states(tables, temperature, program, bounds);
  std::vector<int32_t> drawn(kLanes * n), exact(kLanes * n);
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Threefry random;
    for (int lane = 0; lane < used; ++lane) {
      const uint32_t* seed = seeds.typed_data() + 2 * (first + lane);
      random.seed(lane, seed[0], seed[1]);
    }
    if (states.any(true)) draw(states, program, Linear(), true, random, drawn);
    if (states.any(false)) {
      draw(states, program, logarithmic(states.heat()), false, random, exact);
      for (int lane = 0; lane < kLanes; ++lane)
        if (!states.linear()[lane])
          std::copy_n(exact.begin() + lane * n, n, drawn.begin() + lane * n);
    }
    std::copy_n(drawn.begin(), used * n, actions->typed_data() + first * n);
  });
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_soft_value, hyperaction::soft_value,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_soft_marginals, hyperaction::soft_marginals,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_soft_sample, hyperaction::soft_sample,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::U32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());
