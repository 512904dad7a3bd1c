// Exact maximisation by a program of conditioning and elimination steps.
//
// Sixteen states are solved at a time, each in a vector lane of its own.

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "lanes.h"
#include "program.h"
#include "vector_math.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

// The sum of a choice's entries in the operands that stay.
template <int kNumber, int kMoving>
HYPERACTION_INLINE Lanes rest_of(const Lanes* const* from, int k) {
  Lanes rest = from[kNumber - 1][k];
  for (int o = kNumber - 2; o >= kMoving; --o) rest = rest + from[o][k];
  return rest;
}

// One instruction. The choices of one entry stand side by side in all tables: the vertex is their
// last axis. Those of operands that stay are kept in registers, added up, for a whole run.
template <int kChoices, int kNumber, int kMoving>
HYPERACTION_INLINE void best_of_sums(const Program& program, const Instruction& in, Lanes* arena,
                                     int shift) {
  using Register = Lanes::Register;
  constexpr bool kHolds = kMoving < kNumber;
  const int m = kChoices ? kChoices : in.choices;
  Lanes* dst = arena + in.dst;
  const int runs = in.count / in.run;
  for (int run = 0; run < runs; ++run, dst += in.run) {
    const Lanes* from[kNumber];
    for (int o = 0; o < kNumber; ++o) from[o] = arena + program.run_of(in, o, run);
    from[0] += shift;
    // What the operands that stay add, for a known number of choices.
    Lanes held[kHolds && kChoices ? kChoices : 1];
    if (kHolds && kChoices)
      for (int k = 0; k < kChoices; ++k) held[k] = rest_of<kNumber, kMoving>(from, k);
    for (int e = 0; e < in.run; ++e) {
      for (int i = 0; i < kRegisters; ++i) {
        const auto sum = [&](int k) {
          Register all = from[0][e * m + k].parts[i];
          for (int o = 1; o < kMoving; ++o) all += from[o][e * m + k].parts[i];
          if (kHolds && kChoices) return all + held[k].parts[i];
          if (kHolds) return all + rest_of<kNumber, kMoving>(from, k).parts[i];
          return all;
        };
        Register best = sum(0);
        for (int k = 1; k < m; ++k) best = larger_of(best, sum(k));
        dst[e].parts[i] = best;
      }
    }
  }
}

template <int kChoices>
HYPERACTION_INLINE void with_choices(const Program& program, const Instruction& in, Lanes* arena,
                                     int shift) {
  switch (in.num_operands() * 4 + in.moving) {
    case 1 * 4 + 1:
      return best_of_sums<kChoices, 1, 1>(program, in, arena, shift);
    case 2 * 4 + 1:
      return best_of_sums<kChoices, 2, 1>(program, in, arena, shift);
    case 2 * 4 + 2:
      return best_of_sums<kChoices, 2, 2>(program, in, arena, shift);
    case 3 * 4 + 1:
      return best_of_sums<kChoices, 3, 1>(program, in, arena, shift);
    case 3 * 4 + 2:
      return best_of_sums<kChoices, 3, 2>(program, in, arena, shift);
    default:
      return best_of_sums<kChoices, 3, 3>(program, in, arena, shift);
  }
}

HYPERACTION_INLINE void execute(const Program& program, const Instruction& in, Lanes* arena,
                                int choice) {
  const int shift = choice * in.shift;
  switch (in.choices) {
    // The usual numbers of sub-actions, known to the compiler, run several times as fast.
    case 1:
      return with_choices<1>(program, in, arena, shift);
    case 2:
      return with_choices<2>(program, in, arena, shift);
    case 3:
      return with_choices<3>(program, in, arena, shift);
    case 4:
      return with_choices<4>(program, in, arena, shift);
    case 5:
      return with_choices<5>(program, in, arena, shift);
    case 6:
      return with_choices<6>(program, in, arena, shift);
    case 7:
      return with_choices<7>(program, in, arena, shift);
    case 8:
      return with_choices<8>(program, in, arena, shift);
    case 9:
      return with_choices<9>(program, in, arena, shift);
    default:
      return with_choices<0>(program, in, arena, shift);
  }
}

struct Best {
  Lanes value;
  LaneInts code;  // the conditioned sub-actions, as one number

  HYPERACTION_INLINE void update(const Lanes& other, int32_t its_code) {
    for (int i = 0; i < kRegisters; ++i) {
      const LaneInts::Register better = other.parts[i] > value.parts[i];
      value.parts[i] = better ? other.parts[i] : value.parts[i];
      code.parts[i] = better ? LaneInts::Register{} + its_code : code.parts[i];
    }
  }
};

// Runs the steps for every combination of the sub-actions that are conditioned.
Best search(const Program& program, Lanes* arena, size_t num_conditions) {
  const Header& header = *program.header;
  std::vector<int> where(num_conditions + 1), choice(num_conditions + 1);
  Best best;
  best.value = Lanes::filled(kMinusInfinity);
  best.code = LaneInts::filled(0);
  int depth = 0, code = 0, step = 0;
  for (;;) {
    // Eliminate up to the next condition or the end.
    for (; step < header.num_steps && !program.steps[step].conditions; ++step) {
      for (int i = program.steps[step].first; i < program.steps[step].last; ++i)
        execute(program, program.instructions[i], arena, 0);
    }
    if (step < header.num_steps) {
      where[depth] = step;
      choice[depth] = -1;
      ++depth;
    } else {
      best.update(arena[header.total], code);
    }
    // The next choice of the innermost condition that has one left.
    while (depth > 0) {
      const Step& condition = program.steps[where[depth - 1]];
      int& taken = choice[depth - 1];
      if (++taken < condition.size) {
        code = taken ? code + 1 : code * condition.size;
        for (int i = condition.first; i < condition.last; ++i)
          execute(program, program.instructions[i], arena, taken);
        step = where[depth - 1] + 1;
        break;
      }
      code /= condition.size;
      --depth;
    }
    if (depth == 0) break;
  }
  return best;
}

// Runs the program once more, every lane with its own best choices, so that the arena holds the
// messages that its best action is read from.
void replay(const Program& program, Lanes* arena, const int32_t* actions) {
  float* numbers = reinterpret_cast<float*>(arena);
  const int n = program.header->num_vertices;
  for (int s = 0; s < program.header->num_steps; ++s) {
    const Step& step = program.steps[s];
    for (int i = step.first; i < step.last; ++i) {
      const Instruction& in = program.instructions[i];
      if (!step.conditions) {
        execute(program, in, arena, 0);
        continue;
      }
      // The tables have the same axes, so that entries count up in all of them.
      const int a = in.operands[0].start, b = in.operands[1].start;
      for (int lane = 0; lane < kLanes; ++lane) {
        const float* from = numbers + (a + actions[lane * n + step.vertex] * in.shift) * kLanes + lane;
        const float* other = numbers + b * kLanes + lane;
        float* to = numbers + in.dst * kLanes + lane;
        for (int e = 0; e < in.count * kLanes; e += kLanes)
          to[e] = b < 0 ? from[e] : from[e] + other[e];
      }
    }
  }
}

// Reads the eliminated vertices' best sub-actions off the messages, the last one first.
void trace_back(const Program& program, const Lanes* arena, int32_t* actions) {
  const float* numbers = reinterpret_cast<const float*>(arena);
  const int n = program.header->num_vertices;
  for (int s = program.header->num_steps - 1; s >= 0; --s) {
    const Step& step = program.steps[s];
    if (step.conditions || step.vertex < 0) continue;
    const Instruction& in = program.instructions[step.last - 1];
    const int number = in.num_operands();
    for (int lane = 0; lane < kLanes; ++lane) {
      int entry = 0;
      for (int p = step.scope; p < step.scope_end; p += 2)
        entry = entry * program.scopes[p + 1] + actions[lane * n + program.scopes[p]];
      int from[kOperands];
      for (int o = 0; o < number; ++o) from[o] = program.entry_of(in, o, entry);
      int best = 0;
      float best_value = kMinusInfinity;
      for (int k = 0; k < in.choices; ++k) {
        // Added up in the order in which the message was.
        float value = 0.0f, rest = 0.0f;
        for (int o = 0; o < in.moving; ++o) value += numbers[(from[o] + k) * kLanes + lane];
        for (int o = number - 1; o >= in.moving; --o) rest += numbers[(from[o] + k) * kLanes + lane];
        value += rest;
        if (value > best_value) {
          best_value = value;
          best = k;
        }
      }
      actions[lane * n + step.vertex] = best;
    }
  }
}

void eliminate(const Program& program, const float* outputs, int64_t batch, int32_t* actions) {
  const Header& header = *program.header;
  const int64_t n = header.num_vertices, width = header.num_outputs;
  std::vector<int> conditions;
  for (int s = 0; s < header.num_steps; ++s)
    if (program.steps[s].conditions) conditions.push_back(s);
  const std::unique_ptr<Lanes[]> memory(new Lanes[header.arena]);
  Lanes* arena = memory.get();
  std::vector<int32_t> found(kLanes * n);
  for (int64_t first = 0; first < batch; first += kLanes) {
    const int64_t used = std::min<int64_t>(kLanes, batch - first);
    const float* states[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane)  // Lanes past the end repeat the last state.
      states[lane] = outputs + (first + std::min(lane, used - 1)) * width;
    load_states(states, width, program.load, arena);
    std::fill(found.begin(), found.end(), 0);
    const Best best = search(program, arena, conditions.size());
    if (!conditions.empty()) {
      for (int lane = 0; lane < kLanes; ++lane) {
        int rest = best.code[lane];
        for (auto s = conditions.rbegin(); s != conditions.rend(); ++s) {
          found[lane * n + program.steps[*s].vertex] = rest % program.steps[*s].size;
          rest /= program.steps[*s].size;
        }
      }
      replay(program, arena, found.data());
    }
    trace_back(program, arena, found.data());
    std::copy_n(found.begin(), used * n, actions + first * n);
  }
}

ffi::Error eliminate_buffers(ffi::Buffer<ffi::F32> outputs, ffi::Buffer<ffi::S32> code,
                             ffi::ResultBuffer<ffi::S32> actions) {
  const Program program(code.typed_data());
  const int64_t batch = outputs.element_count() / program.header->num_outputs;
  eliminate(program, outputs.typed_data(), batch, actions->typed_data());
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

// For callers without JAX (host.py); whether it had the memory that it needs.
extern "C" bool hyperaction_host_eliminate(const float* outputs, int64_t batch,
                                           const int32_t* program, int32_t* actions) try {
  hyperaction::eliminate(hyperaction::Program(program), outputs, batch, actions);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_eliminate, hyperaction::eliminate_buffers,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());
