// Soft values by the program of conditioning and elimination steps that maxima are found by: the
// temperature times the log of the sum of exp(value / temperature) over all joint actions, the
// probabilities of the tables' entries, and draws.

#include <algorithm>
#include <cmath>
#include <type_traits>
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
constexpr float kExact = 0x1p22f;   // Whole numbers that floats add exactly, with room for a few.
constexpr int kFewTables = 102;     // Products of so many mantissas stay in the range of floats.

// Sixteen states at a time, in the semirings that their numbers allow.
class States {
 public:
  States(const Floats& tables, const Floats& temperature, const Program& program,
         const Numbers& bounds)
      : few_tables(bounds.element_count() + program.header->num_steps <= kFewTables),
        first_table(bounds.typed_data()[1]),
        program_(program),
        tables_(tables.typed_data()),
        temperatures_(temperature.typed_data()),
        bounds_(bounds.typed_data()),
        num_tables_(static_cast<int>(bounds.element_count()) - 1),
        numbers_(program.header->num_outputs),
        middles_(num_tables_) {
    for (int s = 0; s < program.header->num_steps; ++s)
      log2_actions_ += std::log2(static_cast<float>(program.steps[s].size));
  }

  // Reads the states from `first` on, and finds which lanes may use floats as they are.
  void read(int64_t first, int64_t used) {
    const int64_t width = program_.header->num_outputs;
    const float* states[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {  // Lanes past the end repeat the last state.
      const int64_t state = first + std::min(lane, used - 1);
      states[lane] = tables_ + state * width;
      reinterpret_cast<float*>(&temperature_)[lane] = temperatures_[state];
    }
    load_states(states, width, program_.load, numbers_.data());
    measure();
  }

  // Whether any lane is, or is not, to be computed with floats as they are.
  bool any(bool linear) const {
    for (int lane = 0; lane < kLanes; ++lane)
      if ((linear_[lane] != 0) == linear) return true;
    return false;
  }

  // Puts exponentials into the arena, nothing in lanes that are for the other semiring.
  template <typename Semiring>
  void write(std::vector<typename Semiring::Entry>& arena) const {
    constexpr bool kLinear = std::is_same<Semiring, Linear>::value;
    arena.resize(program_.header->arena);
    for (int t = 0; t < num_tables_; ++t)
      for (int j = bounds_[t]; j < bounds_[t + 1]; ++j)
        for (int i = 0; i < kRegisters; ++i) {
          const Register log = (numbers_[j].parts[i] - middles_[t].parts[i]) * inverse_.parts[i];
          const auto counts = kLinear ? linear_.parts[i] : ~linear_.parts[i];
          Semiring::entry(&arena[j], i, counts ? log : Register{} + kMinusInfinity);
        }
  }

  // The soft values, from the sum over all actions.
  template <typename Total>
  Lanes value(const Total& total) const {
    Lanes values;
    for (int i = 0; i < kRegisters; ++i)
      values.parts[i] = offset_.parts[i] + temperature_.parts[i] * total.log(i);
    return values;
  }

  // Numbers of lanes that use floats as they are, and of the others.
  Lanes merge(const Lanes& linear, const Lanes& scaled) const {
    Lanes merged;
    for (int i = 0; i < kRegisters; ++i)
      merged.parts[i] = linear_.parts[i] ? linear.parts[i] : scaled.parts[i];
    return merged;
  }
  bool is_linear(int lane) const { return linear_[lane] != 0; }

  const bool few_tables;
  const int first_table;  // the end of the first table in the arena

 private:
  // The middle of every table, and whether the products of all are in the range of floats.
  void measure() {
    for (int i = 0; i < kRegisters; ++i) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      Register range = Register{}, offset = Register{};
      for (int t = 0; t < num_tables_; ++t) {
        Register most = Register{} + kMinusInfinity, least = Register{} + kInfinity;
        for (int j = bounds_[t]; j < bounds_[t + 1]; ++j) {
          const Register x = numbers_[j].parts[i];
          most = larger_of(most, x);
          const Register allowed = x > kMinusInfinity ? x : Register{} + kInfinity;
          least = allowed < least ? allowed : least;
        }
        const auto empty = least > most;  // Nothing is allowed.
        middles_[t].parts[i] = empty ? Register{} : 0.5f * most + 0.5f * least;
        range += empty ? Register{} : most - least;
        offset += middles_[t].parts[i];
      }
      // Below some temperature, another one changes no more than floats can hold.
      const Register own = kLog2E / larger_of(temperature_.parts[i], Register{} + kColdest);
      const Register hottest = kExact / larger_of(range, Register{} + 1e-35f);
      const auto too_cold = own > hottest;
      inverse_.parts[i] = too_cold ? hottest : own;
      temperature_.parts[i] = too_cold ? kLog2E / hottest : temperature_.parts[i];
      offset_.parts[i] = offset;
      linear_.parts[i] = 0.5f * range * inverse_.parts[i] + log2_actions_ < kSafe;
    }
  }

  const Program& program_;
  const float *tables_, *temperatures_;
  const int32_t* bounds_;  // where each table starts in the arena, and where the last one ends
  const int num_tables_;
  std::vector<Lanes> numbers_, middles_;
  float log2_actions_ = 0.0f;
  Lanes temperature_, inverse_, offset_;  // log2(e) over the temperature
  LaneInts linear_;
};

template <typename Work>
void each_group(States& states, int64_t batch, Work work) {
  for (int64_t first = 0; first < batch; first += kLanes) {
    const int64_t used = std::min<int64_t>(kLanes, batch - first);
    states.read(first, used);
    work(first, used);
  }
}

Scaled scaled(const States& states) {
  Scaled semiring;
  semiring.normalises = !states.few_tables;
  return semiring;
}

ffi::Error soft_value(Floats tables, Floats temperature, Numbers code, Numbers bounds,
                      ffi::ResultBuffer<ffi::F32> values) {
  const Program program(code.typed_data());
  States states(tables, temperature, program, bounds);
  std::vector<Lanes> arena;
  std::vector<Scaled::Entry> scaled_arena;
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Lanes found = Lanes::filled(0.0f);
    if (states.any(true)) {
      states.write<Linear>(arena);
      Linear semiring;
      found = states.value(SoftProgram<Linear>(program, semiring, arena.data()).total());
    }
    if (states.any(false)) {
      states.write<Scaled>(scaled_arena);
      Scaled semiring = scaled(states);
      SoftProgram<Scaled> run(program, semiring, scaled_arena.data());
      found = states.merge(found, states.value(run.total()));
    }
    std::copy_n(reinterpret_cast<float*>(&found), used, values->typed_data() + first);
  });
  return ffi::Error::Success();
}

// Slopes of floats as probabilities, in place; the soft values and, if asked for, the entropies.
void finish(const States& states, const std::vector<Lanes>& arena, int width, bool with_entropy,
            Lanes* slopes, Lanes* values, Lanes* entropies) {
  Linear::Total total;
  for (int i = 0; i < kRegisters; ++i) {
    for (int j = 0; j < width; ++j) slopes[j].parts[i] *= arena[j].parts[i];
    Register sum = Register{}, mean = Register{};
    for (int j = 0; j < states.first_table; ++j) sum += slopes[j].parts[i];
    const Register scale = 1.0f / positive_or_one(sum);
    for (int j = 0; j < width; ++j) {
      slopes[j].parts[i] *= scale;
      if (with_entropy) mean += slopes[j].parts[i] * log_of(positive_or_one(arena[j].parts[i]));
    }
    total.sum.parts[i] = sum;
    entropies->parts[i] = log_of(sum) - mean;
  }
  *values = states.value(total);
}

ffi::Error soft_marginals(Floats tables, Floats temperature, Numbers code, Numbers bounds,
                          bool with_entropy, ffi::ResultBuffer<ffi::F32> values,
                          ffi::ResultBuffer<ffi::F32> entropies,
                          ffi::ResultBuffer<ffi::F32> marginals) {
  const Program program(code.typed_data());
  const int width = program.header->num_outputs, size = program.header->arena;
  States states(tables, temperature, program, bounds);
  std::vector<Lanes> arena, slopes(size), scaled_slopes(size);
  std::vector<Scaled::Entry> scaled_arena;
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Lanes value = Lanes::filled(0.0f), entropy = value;
    std::fill(slopes.begin(), slopes.end(), value);
    if (states.any(true)) {
      states.write<Linear>(arena);
      Linear semiring;
      SoftProgram<Linear>(program, semiring, arena.data()).pull(slopes.data());
      finish(states, arena, width, with_entropy, slopes.data(), &value, &entropy);
    }
    if (states.any(false)) {
      states.write<Scaled>(scaled_arena);
      Scaled semiring = scaled(states);
      SoftProgram<Scaled> run(program, semiring, scaled_arena.data());
      const Scaled::Total total = run.total();
      semiring.all = &total;
      semiring.with_entropy = with_entropy;
      std::fill(scaled_slopes.begin(), scaled_slopes.end(), Lanes::filled(0.0f));
      run.pull(scaled_slopes.data());
      for (int j = 0; j < width; ++j) slopes[j] = states.merge(slopes[j], scaled_slopes[j]);
      value = states.merge(value, states.value(total));
      entropy = states.merge(entropy, semiring.entropy);
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
void draw(const States& states, const Program& program, Semiring semiring, Threefry random,
          std::vector<typename Semiring::Entry>& arena, int32_t* actions) {
  states.write<Semiring>(arena);
  SoftProgram<Semiring> run(program, semiring, arena.data());
  run.draw_conditions(random, actions);
  run.trace_back(random, actions);
}

ffi::Error soft_sample(Floats tables, Floats temperature, ffi::Buffer<ffi::U32> seeds, Numbers code,
                       Numbers bounds, ffi::ResultBuffer<ffi::S32> actions) {
  const Program program(code.typed_data());
  const int64_t n = program.header->num_vertices;
  States states(tables, temperature, program, bounds);
  std::vector<Lanes> arena;
  std::vector<Scaled::Entry> scaled_arena;
  std::vector<int32_t> drawn(kLanes * n), scaled_drawn(kLanes * n);
  each_group(states, temperature.element_count(), [&](int64_t first, int64_t used) {
    Threefry random;
    for (int lane = 0; lane < used; ++lane) {
      const uint32_t* seed = seeds.typed_data() + 2 * (first + lane);
      random.seed(lane, seed[0], seed[1]);
    }
    if (states.any(true)) draw(states, program, Linear(), random, arena, drawn.data());
    if (states.any(false))
      draw(states, program, scaled(states), random, scaled_arena, scaled_drawn.data());
    for (int lane = 0; lane < used; ++lane)
      std::copy_n((states.is_linear(lane) ? drawn : scaled_drawn).begin() + lane * n, n,
                  actions->typed_data() + (first + lane) * n);
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
                                  .Attr<bool>("entropy")
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
