// One state of a hypergraph, laid out for searching: a table of numbers per hyperedge.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "vector.h"

namespace hyperaction {

struct Edge {
  int order;
  const int32_t* vertices;  // from the smallest on
  int offset, length;       // of its table
};

class Tables {
 public:
  const int n, num_outputs;
  const int32_t* sizes;
  int size;                 // sub-actions of the vertex that has most
  std::vector<Edge> edges;  // the hypergraph's, then one for every vertex that has none of its own
  std::vector<float> numbers;

  // The host's plan: outputs, vertices, hyperedges; sizes; then order, offset and vertices of each
  // hyperedge.
  explicit Tables(const int32_t* plan)
      : n(plan[1]), num_outputs(plan[0]), sizes(plan + 3), size(1), vertices_(plan[1]) {
    size = *std::max_element(sizes, sizes + n);
    std::vector<bool> alone(n);
    const int32_t* at = plan + 3 + n;
    for (int e = 0; e < plan[2]; ++e, at += 2 + at[0]) {
      edges.push_back({at[0], at + 2, at[1], 1});
      for (int i = 0; i < at[0]; ++i) edges.back().length *= sizes[at[2 + i]];
      if (at[0] == 1) alone[at[2]] = true;
    }
    int total = num_outputs;
    for (int v = 0; v < n; ++v) {
      vertices_[v] = v;
      if (alone[v]) continue;
      edges.push_back({1, &vertices_[v], total, sizes[v]});
      total += sizes[v];
    }
    numbers.resize(total);
  }
  Tables(const Tables&) = delete;  // Hyperedges point into it.

  // Takes a state's outputs. What is forbidden costs so much that one such entry outweighs
  // everything allowed: searches can then climb out of forbidden actions, which they could not
  // among infinities.
  void set(const float* outputs) {
    double range = 0.0, largest = 0.0;
    scale_ = 0.0;
    int given = 0;
    for (const Edge& e : edges) {
      if (e.offset >= num_outputs) break;
      ++given;
      float low = -kMinusInfinity, high = kMinusInfinity;
      for (int j = e.offset; j < e.offset + e.length; ++j) {
        high = std::max(high, outputs[j]);
        low = std::min(low, outputs[j] == kMinusInfinity ? -kMinusInfinity : outputs[j]);
      }
      if (!(low <= high)) low = high = 0.0f;
      range += static_cast<double>(high) - low;
      scale_ += std::max(-low, high);
      largest = std::max<double>(largest, std::max(-low, high));
    }
    // The last term is what rounding in a sum of all tables can hide.
    const float forbidden =
        static_cast<float>(-largest - range - 1e-5 * given * largest - 1e-30);
    std::fill(numbers.begin() + num_outputs, numbers.end(), 0.0f);
    for (int j = 0; j < num_outputs; ++j)  // NaN is forbidden too.
      numbers[j] = outputs[j] > forbidden ? outputs[j] : forbidden;
  }

  double value(const int32_t* action) const {
    double total = 0.0;
    for (const Edge& e : edges) {
      int index = 0;
      for (int i = 0; i < e.order; ++i) index = index * sizes[e.vertices[i]] + action[e.vertices[i]];
      total += numbers[e.offset + index];
    }
    return total;
  }

  // How far sums of all tables' numbers may be off by rounding.
  double slack() const { return 1e-6 * scale_; }

 private:
  std::vector<int32_t> vertices_;
  double scale_ = 0.0;  // what the tables' largest numbers add up to, regardless of signs
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
