// Runs a program of conditioning and elimination steps in a semiring: its total over all joint
// actions, the slopes of its tables' entries, or draws.
#pragma once

#include <type_traits>
#include <vector>

#include "program.h"
#include "semirings.h"
#include "threefry.h"

namespace hyperaction {

template <typename Semiring>
class SoftProgram {
 public:
  using Entry = typename Semiring::Entry;
  using Total = typename Semiring::Total;

  SoftProgram(const Program& program, Semiring& semiring, Entry* arena)
      : program_(program), semiring_(semiring), arena_(arena) {}

  // The sum over all joint actions.
  Total total(int step = 0) {
    step = eliminate(step);
    if (step == program_.header->num_steps) return semiring_.total(arena_[program_.header->total]);
    const Step& condition = program_.steps[step];
    Total sum;
    for (int taken = 0; taken < condition.size; ++taken) {
      run(condition, taken);
      sum.add(total(step + 1));
    }
    return sum;
  }

  // Adds every entry's slope to `slopes`, as large as the arena, zero at first.
  void pull(Lanes* slopes, int step = 0) {
    const int first = step;
    step = eliminate(step);
    if (step == program_.header->num_steps) {
      const int total = program_.header->total;
      slopes[total] = semiring_.slope(arena_[total]);
    } else {
      const Step& condition = program_.steps[step];
      for (int taken = 0; taken < condition.size; ++taken) {
        run(condition, taken);
        pull(slopes, step + 1);
        for (int i = condition.last - 1; i >= condition.first; --i) pull_one(i, taken, slopes);
      }
    }
    for (--step; step >= first; --step)
      for (int i = program_.steps[step].last - 1; i >= program_.steps[step].first; --i)
        pull_one(i, 0, slopes);
  }

  // Draws the conditioned vertices' sub-actions; the others' follow from `trace_back`.
  void draw_conditions(Threefry& random, int32_t* actions) {
    const LaneInts code = draw(random, 0).code;
    const int n = program_.header->num_vertices;
    int radix = 1;
    for (int s = program_.header->num_steps - 1; s >= 0; --s) {
      const Step& step = program_.steps[s];
      if (!step.conditions) continue;
      for (int lane = 0; lane < kLanes; ++lane)
        actions[lane * n + step.vertex] = code[lane] / radix % step.size;
      radix *= step.size;
    }
    if (radix > 1) replay(actions);
  }

  // Draws the eliminated vertices' sub-actions off the messages, the last one first.
  void trace_back(Threefry& random, int32_t* actions) {
    std::vector<Entry> values;
    std::vector<Lanes> weights;
    const int n = program_.header->num_vertices;
    for (int s = program_.header->num_steps - 1; s >= 0; --s) {
      const Step& step = program_.steps[s];
      if (step.conditions || step.vertex < 0) continue;
      values.resize(step.size);
      weights.resize(step.size);
      gather(step, actions, values.data());
      semiring_.weigh(values.data(), step.size, weights.data());
      const LaneInts chosen = choose(weights.data(), step.size, random.next());
      for (int lane = 0; lane < kLanes; ++lane) actions[lane * n + step.vertex] = chosen[lane];
    }
  }

 private:
  struct Drawn {
    Total total;
    LaneInts code;  // the conditioned sub-actions, as one number
  };

  // Eliminates up to the next condition or the end.
  int eliminate(int step) {
    for (; step < program_.header->num_steps && !program_.steps[step].conditions; ++step)
      run(program_.steps[step], 0);
    return step;
  }

  void run(const Step& step, int taken) {
    for (int i = step.first; i < step.last; ++i) {
      const Instruction& in = program_.instructions[i];
      with_choices(in, [&](auto choices, auto two) {
        constexpr int kChoices = decltype(choices)::value;
        constexpr bool kTwo = decltype(two)::value;
        const int m = kChoices ? kChoices : in.choices;
        each_entry(in, taken, m, [&](int dst, int a, int b) {
          const Pair<Entry, kTwo> from{arena_ + a, arena_ + b};
          semiring_.template sum<kChoices, kTwo>(arena_ + dst, from, m);
        });
      });
    }
  }

  void pull_one(int i, int taken, Lanes* slopes) {
    const Instruction& in = program_.instructions[i];
    with_choices(in, [&](auto choices, auto two) {
      constexpr int kChoices = decltype(choices)::value;
      constexpr bool kTwo = decltype(two)::value;
      const int m = kChoices ? kChoices : in.choices;
      each_entry(in, taken, m, [&](int dst, int a, int b) {
        const Pair<Entry, kTwo> from{arena_ + a, arena_ + b};
        semiring_.template pull<kChoices, kTwo>(slopes + dst, from, slopes + a, slopes + b, m);
      });
    });
  }

  // Where each entry of an instruction goes and comes from; b counts where there are two tables.
  template <typename Work>
  HYPERACTION_INLINE void each_entry(const Instruction& in, int taken, int m, Work work) {
    int dst = in.dst;
    const bool two = in.operands[1].start >= 0;
    const int b_step = in.moving > 1 ? m : 0, runs = in.count / in.run;
    for (int run = 0; run < runs; ++run) {
      int a = program_.run_of(in, 0, run) + taken * in.shift;
      int b = two ? program_.run_of(in, 1, run) : 0;
      for (int e = 0; e < in.run; ++e, a += m, b += b_step) work(dst++, a, b);
    }
  }

  // The usual numbers of sub-actions, known to the compiler, run several times as fast.
  template <typename Work>
  HYPERACTION_INLINE void with_choices(const Instruction& in, Work work) {
    if (in.operands[1].start < 0) return with_number(in.choices, work, std::false_type());
    with_number(in.choices, work, std::true_type());
  }
  template <typename Work, typename Two>
  HYPERACTION_INLINE void with_number(int choices, Work work, Two two) {
    switch (choices) {
      case 1:
        return work(std::integral_constant<int, 1>(), two);
      case 2:
        return work(std::integral_constant<int, 2>(), two);
      case 3:
        return work(std::integral_constant<int, 3>(), two);
      case 4:
        return work(std::integral_constant<int, 4>(), two);
      case 5:
        return work(std::integral_constant<int, 5>(), two);
      case 7:
        return work(std::integral_constant<int, 7>(), two);
      case 9:
        return work(std::integral_constant<int, 9>(), two);
      default:
        return work(std::integral_constant<int, 0>(), two);
    }
  }

  // Combinations come one after the other: each replaces the one held with the probability of its
  // share of the sum so far.
  Drawn draw(Threefry& random, int step) {
    step = eliminate(step);
    if (step == program_.header->num_steps)
      return {semiring_.total(arena_[program_.header->total]), LaneInts::filled(0)};
    const Step& condition = program_.steps[step];
    int radix = 1;
    for (int s = step + 1; s < program_.header->num_steps; ++s)
      if (program_.steps[s].conditions) radix *= program_.steps[s].size;
    Drawn held{{}, LaneInts::filled(0)};
    for (int taken = 0; taken < condition.size; ++taken) {
      run(condition, taken);
      const Drawn next = draw(random, step + 1);
      const Lanes share = held.total.add(next.total), uniform = random.next();
      for (int i = 0; i < kRegisters; ++i) {
        const auto takes = uniform.parts[i] * held.total.sum.parts[i] <= share.parts[i];
        held.code.parts[i] = takes ? next.code.parts[i] + taken * radix : held.code.parts[i];
      }
    }
    return held;
  }

  // Runs the program once more, every lane with its own conditioned sub-actions.
  void replay(const int32_t* actions) {
    const int n = program_.header->num_vertices;
    for (int s = 0; s < program_.header->num_steps; ++s) {
      const Step& step = program_.steps[s];
      if (!step.conditions) {
        run(step, 0);
        continue;
      }
      for (int i = step.first; i < step.last; ++i) {
        const Instruction& in = program_.instructions[i];
        // The tables have the same axes, so that entries count up in all of them.
        const int b = in.operands[1].start;
        int a[kLanes];
        for (int lane = 0; lane < kLanes; ++lane)
          a[lane] = in.operands[0].start + actions[lane * n + step.vertex] * in.shift;
        for (int e = 0; e < in.count; ++e) {
          const Entry own = collect(a);
          arena_[in.dst + e] = b < 0 ? own : semiring_.times(own, arena_[b + e]);
          for (int lane = 0; lane < kLanes; ++lane) ++a[lane];
        }
      }
    }
  }

  // The entries of a vertex's tables, given the sub-actions that every lane has so far.
  void gather(const Step& step, const int32_t* actions, Entry* values) {
    const int n = program_.header->num_vertices;
    const Instruction& in = program_.instructions[step.last - 1];
    const bool two = in.operands[1].start >= 0;
    int a[kLanes], b[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      int entry = 0;
      for (int p = step.scope; p < step.scope_end; p += 2)
        entry = entry * program_.scopes[p + 1] + actions[lane * n + program_.scopes[p]];
      a[lane] = program_.entry_of(in, 0, entry);
      b[lane] = two ? program_.entry_of(in, 1, entry) : 0;
    }
    for (int k = 0; k < in.choices; ++k) {
      values[k] = two ? semiring_.times(collect(a), collect(b)) : collect(a);
      for (int lane = 0; lane < kLanes; ++lane) ++a[lane], ++b[lane];
    }
  }

  // An entry of its own for every lane.
  Entry collect(const int* where) const {
    Entry found;
    const float* numbers = reinterpret_cast<const float*>(arena_);
    constexpr int kFloats = sizeof(Entry) / sizeof(float);
    for (int plane = 0; plane < kFloats; plane += kLanes)
      for (int lane = 0; lane < kLanes; ++lane)
        reinterpret_cast<float*>(&found)[plane + lane] =
            numbers[static_cast<int64_t>(where[lane]) * kFloats + plane + lane];
    return found;
  }

  // One choice per lane, with probability proportional to its weight.
  static LaneInts choose(const Lanes* weights, int choices, const Lanes& uniform) {
    LaneInts chosen = LaneInts::filled(0);
    for (int i = 0; i < kRegisters; ++i) {
      Register sum = Register{};
      for (int k = 0; k < choices; ++k) sum += weights[k].parts[i];
      const Register reach = uniform.parts[i] * sum;
      Register before = Register{};
      for (int k = 0; k < choices; ++k) {
        const Register weight = weights[k].parts[i];
        const auto here = (weight > 0.0f) & (before <= reach);
        chosen.parts[i] = here ? LaneInts::Register{} + k : chosen.parts[i];
        before += weight;
      }
    }
    return chosen;
  }

  const Program& program_;
  Semiring& semiring_;
  Entry* arena_;
};

}  // namespace hyperaction
