// A program of conditioning and elimination steps, as ../maximise/program.py encodes it.
//
// All tables live in one arena. The only instruction is `dst[i] = max over k of A[..] + B[..]`; a
// step of the program is a run of instructions, and a conditioning step repeats all that follows it
// for every sub-action of its vertex.
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

struct Instruction {
  int32_t dst, count, choices;  // count entries, each the best of so many choices
  int32_t a, a_index,
      a_shift;         // offset in the arena; offset of its indices or -1; shift per choice
  int32_t b, b_index;  // as for a; b is -1 where there is only one table
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
};

}  // namespace hyperaction
