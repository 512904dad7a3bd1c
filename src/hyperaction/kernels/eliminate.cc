// Exact maximisation by a program of conditioning and elimination steps.
//
// Sixteen states are solved at a time, each in a vector lane of its own.

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "lanes.h"
#include "program.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

template <int kChoices>
HYPERACTION_INLINE void best_of_sums(Lanes* dst, const Lanes* a, const int32_t* ia, const Lanes* b,
                                     const int32_t* ib, int count, int choices) {
  const int m = kChoices ? kChoices : choices;
  for (int i = 0; i < count; ++i) {
    // The choices of one entry stand side by side in both tables: the vertex is their last axis.
    const Lanes* x = a + (ia ? ia[i] : i * m);
    const Lanes* y = b + (ib ? ib[i] : i * m);
    Lanes best = x[0] + y[0];
    for (int k = 1; k < m; ++k) best = larger(best, x[k] + y[k]);
    dst[i] = best;
  }
}

HYPERACTION_INLINE void execute(const Instruction& in, Lanes* arena, const int32_t* index,
                                int choice) {
  Lanes* dst = arena + in.dst;
  const Lanes* a = arena + in.a + choice * in.a_shift;
  const int32_t* ia = in.a_index < 0 ? nullptr : index + in.a_index;
  if (in.b < 0) {
    for (int i = 0; i < in.count; ++i) {
      const Lanes* x = a + (ia ? ia[i] : i * in.choices);
      Lanes best = x[0];
      for (int k = 1; k < in.choices; ++k) best = larger(best, x[k]);
      dst[i] = best;
    }
    return;
  }
  const Lanes* b = arena + in.b;
  const int32_t* ib = in.b_index < 0 ? nullptr : index + in.b_index;
  switch (in.choices) {
    case 1:
      if (!ia && !ib) {
        for (int i = 0; i < in.count; ++i) dst[i] = a[i] + b[i];
      } else {
        best_of_sums<1>(dst, a, ia, b, ib, in.count, 1);
      }
      break;
    // The usual numbers of sub-actions, known to the compiler, run several times as fast.
    case 2:
      best_of_sums<2>(dst, a, ia, b, ib, in.count, 2);
      break;
    case 3:
      best_of_sums<3>(dst, a, ia, b, ib, in.count, 3);
      break;
    case 4:
      best_of_sums<4>(dst, a, ia, b, ib, in.count, 4);
      break;
    case 5:
      best_of_sums<5>(dst, a, ia, b, ib, in.count, 5);
      break;
    case 6:
      best_of_sums<6>(dst, a, ia, b, ib, in.count, 6);
      break;
    case 7:
      best_of_sums<7>(dst, a, ia, b, ib, in.count, 7);
      break;
    case 8:
      best_of_sums<8>(dst, a, ia, b, ib, in.count, 8);
      break;
    case 9:
      best_of_sums<9>(dst, a, ia, b, ib, in.count, 9);
      break;
    default:
      best_of_sums<0>(dst, a, ia, b, ib, in.count, in.choices);
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
        execute(program.instructions[i], arena, program.index, 0);
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
          execute(program.instructions[i], arena, program.index, taken);
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
        execute(in, arena, program.index, 0);
        continue;
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        const int shift = actions[lane * n + step.vertex] * in.a_shift;
        for (int e = 0; e < in.count; ++e) {
          const float b = in.b < 0 ? 0.0f : numbers[(in.b + e) * kLanes + lane];
          numbers[(in.dst + e) * kLanes + lane] = numbers[(in.a + shift + e) * kLanes + lane] + b;
        }
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
    const int32_t* ia = in.a_index < 0 ? nullptr : program.index + in.a_index;
    const int32_t* ib = in.b_index < 0 ? nullptr : program.index + in.b_index;
    for (int lane = 0; lane < kLanes; ++lane) {
      int entry = 0;
      for (int p = step.scope; p < step.scope_end; p += 2)
        entry = entry * program.scopes[p + 1] + actions[lane * n + program.scopes[p]];
      const int a = in.a + (ia ? ia[entry] : entry * in.choices);
      const int b = in.b < 0 ? -1 : in.b + (ib ? ib[entry] : entry * in.choices);
      int best = 0;
      float best_value = kMinusInfinity;
      for (int k = 0; k < in.choices; ++k) {
        const float value =
            numbers[(a + k) * kLanes + lane] + (b < 0 ? 0.0f : numbers[(b + k) * kLanes + lane]);
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
