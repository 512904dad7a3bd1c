// A program of conditioning and elimination steps, as ../maximise/program.py encodes it.
//
// All tables live in one arena. The only instruction is `dst[i] = max over k of the sum of one to
// three tables' entries`; a step of the program is a run of instructions, and a conditioning step
// repeats all that follows it for every sub-action of its vertex.
#pragma once

#include <cstdint>

namespace hyperaction {

struct Header {
  int32_t num_outputs, num_vertices, arena, num_steps, num_instructions, num_scope, num_index,
      total;
};

struct Step {
  int32_t vertex, size, conditions, first, last;  // instructions [first, last)
  int32_t scope, scope_end;                       // the message's vertices, in the scope pool
};

constexpr int kOperands = 3;

// `count` entries, each the best of so many choices. They come in runs: in each, the place in the
// operands that move goes on with the entries, and that in the others stays.
struct Instruction {
  struct Operand {
    int32_t start, index;  // in the arena, -1 for none; of the runs' starts, -1 where they count up
  };

  int32_t dst, count, choices, run;
  int32_t moving;  // so many operands move, the first ones
  int32_t shift;   // how far a conditioned sub-action moves the first operand
  Operand operands[kOperands];

  int num_operands() const {
    int number = 1;
    while (number < kOperands && operands[number].start >= 0) ++number;
    return number;
  }
};

struct Program {
  const Header* header;
  const int32_t* load;  // where each output goes in the arena
  const Step* steps;
  const Instruction* instructions;
  const int32_t* scopes;  // pairs of vertex and size
  const int32_t* index;

  explicit Program(const int32_t* data) {
    header = reinterpret_cast<const Header*>(data);
    load = data + sizeof(Header) / 4;
    steps = reinterpret_cast<const Step*>(load + header->num_outputs);
    instructions = reinterpret_cast<const Instruction*>(steps + header->num_steps);
    scopes = reinterpret_cast<const int32_t*>(instructions + header->num_instructions);
    index = scopes + header->num_scope;
  }

  // Where an operand's choices for a run begin in the arena, and for an entry.
  int run_of(const Instruction& in, int operand, int run) const {
    const Instruction::Operand& from = in.operands[operand];
    return from.start + (from.index < 0 ? run * in.run * in.choices : index[from.index + run]);
  }
  int entry_of(const Instruction& in, int operand, int entry) const {
    return run_of(in, operand, entry / in.run) +
           (operand < in.moving ? entry % in.run * in.choices : 0);
  }
};

}  // namespace hyperaction
