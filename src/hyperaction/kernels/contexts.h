// What hyperedges add to the sub-actions of a vertex while its neighbours stay.
//
// A context is a set of vertices: a hyperedge without one of its vertices, maybe the empty set. For
// every combination of its vertices' sub-actions it has a row of numbers, one per sub-action and
// vertex: what the hyperedges of the context and that vertex add there. A field is such a row too:
// the sum of all contexts' rows for one joint action is what every sub-action of every vertex is
// worth while the others stay. Rows are sub-action by sub-action, so that one vector holds one
// sub-action of several vertices; they end with the padding to whole vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vector.h"

namespace hyperaction {

class Contexts {
 public:
  using Floats = Group<float, kRegisterBytes, 1>::Register;
  using Ints = Group<int32_t, kRegisterBytes, 1>::Register;
  static constexpr int kColumns = kRegisterBytes / sizeof(float);  // of one register
  static constexpr int kPadding = 16;  // numbers, on every processor

  struct Context {
    int order, parent, last;  // vertices; the context without the last of them; the last
    int rows, first, width;   // combinations; the vertices that a row is about
    size_t data;
  };

  const int n, size, row;  // vertices, sub-actions, the length of a field

  Contexts(int num_vertices, int num_sub_actions)
      : n(num_vertices),
        size(num_sub_actions),
        row((n * size + kPadding - 1) / kPadding * kPadding),
        contexts_{{0, -1, -1, 1, 0, n, 0}} {}

  const std::vector<Context>& all() const { return contexts_; }
  const Context& operator[](int context) const { return contexts_[context]; }

  // The context of one more vertex.
  int with(int context, int vertex, int sub_actions) {
    const uint64_t key = static_cast<uint64_t>(context) * n + vertex;
    const auto [place, added] = children_.emplace(key, static_cast<int>(contexts_.size()));
    if (added) {
      const Context& c = contexts_[context];
      contexts_.push_back({c.order + 1, context, vertex, c.rows * sub_actions, n, 0, 0});
    }
    return place->second;
  }

  // Rows of this context are about this vertex too.
  void reach(int context, int vertex) {
    Context& c = contexts_[context];
    const int end = std::max(c.first + c.width, vertex + 1);
    c.first = std::min(c.first, vertex);
    c.width = (c.width ? end : vertex + 1) - c.first;
  }

  // Makes room for the rows, all zeros.
  void allocate() {
    size_t total = 0;
    for (Context& c : contexts_) {
      if (2 * c.width > n) c.first = 0, c.width = n;  // Long rows are added as a whole.
      c.data = total;
      total += (c.rows * length(c) + kPadding - 1) / kPadding * kPadding;
    }
    numbers_.assign(total / kPadding, Line{});
  }

  size_t length(const Context& c) const {
    return c.width == n ? row : static_cast<size_t>(size) * c.width;
  }
  float* numbers(const Context& c) { return numbers_.data()->numbers + c.data; }
  const float* numbers(const Context& c, int index) const {
    return numbers_.data()->numbers + c.data + index * length(c);
  }
  // Where a row holds a vertex's first sub-action; others follow at distances of the width.
  static int place(const Context& c, int vertex) { return vertex - c.first; }

  // total = field + a row.
  void add(const Context& c, int index, const float* field, float* total) const {
    const float* numbers = this->numbers(c, index);
    if (c.width == n) {
      for (int i = 0; i < row; i += kColumns)
        store(load<Floats>(field + i) + load<Floats>(numbers + i), total + i);
      return;
    }
    if (field != total) std::copy_n(field, row, total);
    for (int a = 0; a < size; ++a)
      for (int j = 0; j < c.width; ++j) total[a * n + c.first + j] += numbers[a * c.width + j];
  }

  // field += one row - another.
  void exchange(const Context& c, int from, int to, float* field) const {
    const float *old = numbers(c, from), *now = numbers(c, to);
    if (c.width == n) {
      for (int i = 0; i < row; i += kColumns)
        store(load<Floats>(field + i) + (load<Floats>(now + i) - load<Floats>(old + i)), field + i);
      return;
    }
    for (int a = 0; a < size; ++a)
      for (int j = 0; j < c.width; ++j)
        field[a * n + c.first + j] += now[a * c.width + j] - old[a * c.width + j];
  }

  // Numbers that a field needs room for: vectors of the last sub-action reach past its end.
  size_t room() const { return row + kPadding; }
  // Numbers that the best of every vertex need room for.
  size_t columns() const { return n + kPadding; }

  // What the best sub-action of every vertex is worth in a field.
  void best_values(const float* field, float* best) const {
    for (int v = 0; v < n; v += kColumns) {
      Floats most = load<Floats>(field + v);
      for (int a = 1; a < size; ++a) {
        const Floats value = load<Floats>(field + a * n + v);
        most = value > most ? value : most;
      }
      store(most, best + v);
    }
  }

  // The best sub-action of every vertex in a field, and what it is worth.
  void best_sub_actions(const float* field, float* best, int32_t* which) const {
    for (int v = 0; v < n; v += kColumns) {
      Floats most = load<Floats>(field + v);
      Ints at = {};
      for (int a = 1; a < size; ++a) {
        const Floats value = load<Floats>(field + a * n + v);
        const Ints better = value > most;
        most = better ? value : most;
        at = better ? Ints{} + a : at;
      }
      store(most, best + v);
      store(at, which + v);
    }
  }

 private:
  struct alignas(4 * kPadding) Line {
    float numbers[kPadding];
  };

  std::vector<Context> contexts_;  // the empty one first
  std::unordered_map<uint64_t, int> children_;
  std::vector<Line> numbers_;
};

}  // namespace hyperaction
