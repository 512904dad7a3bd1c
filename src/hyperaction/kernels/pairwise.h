// One state of a hypergraph of rank two at most, laid out for searching.
//
// For every vertex and sub-action there is a row of numbers, one per sub-action and vertex: what
// the pair's table adds there. A field is such a row too: what every sub-action of every vertex is
// worth while the others stay. Rows are sub-action by sub-action, so that one vector holds one
// sub-action of several vertices. Entries that stand for nothing hold minus infinity in the unary
// row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "vector.h"

namespace hyperaction {

// What the host plans once for a hypergraph: sizes, then edges as triples (u, v or -1, offset).
struct Structure {
  int num_outputs, num_vertices, num_edges;
  const int32_t* sizes;
  const int32_t* edges;

  explicit Structure(const int32_t* data)
      : num_outputs(data[0]),
        num_vertices(data[1]),
        num_edges(data[2]),
        sizes(data + 3),
        edges(data + 3 + data[1]) {}
};

class Pairwise {
 public:
  using Floats = Group<float, kRegisterBytes, 1>::Register;
  using Ints = Group<int32_t, kRegisterBytes, 1>::Register;
  static constexpr int kColumns = kRegisterBytes / sizeof(float);  // of one register

  const int n, columns, size, row;  // vertices; the same in whole vectors; sub-actions; row length
  const int32_t* sizes;
  std::vector<float> unary;  // [row]
  std::vector<float> pairs;  // [n][size][row]

  explicit Pairwise(const Structure& s)
      : n(s.num_vertices),
        columns((n + kColumns - 1) / kColumns * kColumns),
        size(*std::max_element(s.sizes, s.sizes + n)),
        row(size * columns),
        sizes(s.sizes),
        unary(row),
        pairs(static_cast<size_t>(n) * size * row) {}

  int place(int vertex, int sub_action) const { return sub_action * columns + vertex; }
  const float* pair_row(int vertex, int sub_action) const {
    return pairs.data() + (static_cast<size_t>(vertex) * size + sub_action) * row;
  }
  float* pair_row(int vertex, int sub_action) {
    return pairs.data() + (static_cast<size_t>(vertex) * size + sub_action) * row;
  }
  float pair(int u, int a, int v, int b) const { return pair_row(u, a)[place(v, b)]; }

  void set(const Structure& s, const float* outputs) {
    const float forbidden = cost_of_forbidden(s, outputs);
    std::fill(unary.begin(), unary.end(), kMinusInfinity);
    std::fill(pairs.begin(), pairs.end(), 0.0f);
    for (int v = 0; v < n; ++v)
      for (int a = 0; a < sizes[v]; ++a) unary[place(v, a)] = 0.0f;
    for (int e = 0; e < s.num_edges; ++e) {
      const int u = s.edges[3 * e], v = s.edges[3 * e + 1];
      const float* table = outputs + s.edges[3 * e + 2];
      for (int a = 0; a < sizes[u]; ++a) {
        if (v < 0) {
          unary[place(u, a)] += std::max(*table++, forbidden);
          continue;
        }
        for (int b = 0; b < sizes[v]; ++b) {
          const float value = std::max(*table++, forbidden);
          pair_row(u, a)[place(v, b)] = value;
          pair_row(v, b)[place(u, a)] = value;
        }
      }
    }
  }

  // The best sub-action of every vertex in a field, and what it is worth.
  void best_sub_actions(const float* field, float* best, int32_t* which) const {
    for (int v = 0; v < columns; v += kColumns) {
      Floats most = load<Floats>(field + v);
      Ints at = {};
      for (int a = 1; a < size; ++a) {
        const Floats value = load<Floats>(field + a * columns + v);
        const Ints better = value > most;
        most = better ? value : most;
        at = better ? Ints{} + a : at;
      }
      store(most, best + v);
      store(at, which + v);
    }
  }

  // What the best sub-action of every vertex is worth in the sum of two fields.
  void best_of_sum(const float* x, const float* y, float* best) const {
    for (int v = 0; v < columns; v += kColumns) {
      Floats most = sum_at(x, y, v);
      for (int a = 1; a < size; ++a) {
        const Floats value = sum_at(x, y, a * columns + v);
        most = value > most ? value : most;
      }
      store(most, best + v);
    }
  }

  // What stands for minus infinity: so low that one forbidden entry outweighs everything allowed.
  // Searches can then climb out of forbidden actions, which they could not among infinities.
  static float cost_of_forbidden(const Structure& s, const float* outputs) {
    double range = 0.0, largest = 0.0;
    for (int e = 0; e < s.num_edges; ++e) {
      const int end = e + 1 < s.num_edges ? s.edges[3 * e + 5] : s.num_outputs;
      double low = 0.0, high = 0.0;
      bool any = false;
      for (int j = s.edges[3 * e + 2]; j < end; ++j) {
        if (outputs[j] == kMinusInfinity) continue;
        low = any ? std::min<double>(low, outputs[j]) : outputs[j];
        high = any ? std::max<double>(high, outputs[j]) : outputs[j];
        any = true;
      }
      range += high - low;
      largest = std::max(largest, std::max(-low, high));
    }
    // The last term is what rounding in a sum of all tables can hide.
    return static_cast<float>(-largest - range - 1e-5 * s.num_edges * largest - 1e-30);
  }

  // About how large the vertices' best values are, which rounding errors are relative to.
  double magnitude() const {
    double total = 0.0;
    for (int v = 0; v < n; ++v) {
      float most = kMinusInfinity;
      for (int a = 0; a < sizes[v]; ++a) most = std::max(most, unary[place(v, a)]);
      total += std::fabs(most);
    }
    return total;
  }

  double value(const int32_t* action) const {
    double total = 0.0;
    for (int v = 0; v < n; ++v) {
      total += unary[place(v, action[v])];
      const float* from = pair_row(v, action[v]);
      for (int w = v + 1; w < n; ++w) total += from[place(w, action[w])];
    }
    return total;
  }

 private:
  static HYPERACTION_INLINE Floats sum_at(const float* x, const float* y, int i) {
    return load<Floats>(x + i) + load<Floats>(y + i);
  }
};

// A small, fast and repeatable source of randomness (xorshift).
struct Random {
  uint64_t state;
  uint32_t below(uint32_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>((state >> 32) * bound >> 32);
  }
};

}  // namespace hyperaction
