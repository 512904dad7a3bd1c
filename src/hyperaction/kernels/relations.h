// Which hyperedges lie inside which, and moving numbers between their tables.
#pragma once

#include <map>

#include "tables.h"

namespace hyperaction {

HYPERACTION_INLINE float larger(float a, float b) { return a > b ? a : b; }

// An axis of a table, and how many combinations there are of the axes before and after it.
struct Axis {
  int before, size, after;
};

// A hyperedge inside another one, with none between them.
struct Relation {
  int whole, part;
  std::vector<Axis> axes;  // those that the part lacks, in the order that they are maximised out
  size_t message;          // the first of its numbers among all messages
  float forward, backward;  // the share of the part that the whole takes
};

class Relations {
 public:
  std::vector<Relation> all;
  std::vector<std::vector<int>> of_part;  // those of each hyperedge as a part
  std::vector<int> order;                 // the parts, as sweeps visit them
  size_t num_messages = 0;
  int longest = 0;  // table

  explicit Relations(const Tables& tables) : of_part(tables.edges.size()), tables_(tables) {
    std::map<std::vector<int32_t>, int> named;
    for (size_t e = 0; e < tables.edges.size(); ++e) {
      named[vertices(tables.edges[e], -1)] = e;
      longest = std::max(longest, tables.edges[e].length);
    }
    for (size_t e = 0; e < tables.edges.size(); ++e) relate(e, named);
    for (const auto& entry : named)
      if (!of_part[entry.second].empty()) order.push_back(entry.second);
    weigh();
  }

 private:
  static std::vector<int32_t> vertices(const Edge& e, int64_t chosen) {
    std::vector<int32_t> set;
    for (int i = 0; i < e.order; ++i)
      if (chosen >> i & 1) set.push_back(e.vertices[i]);
    return set;
  }

  void relate(int whole, const std::map<std::vector<int32_t>, int>& named) {
    const Edge& e = tables_.edges[whole];
    std::vector<int64_t> parts;
    const int64_t every = (int64_t{1} << e.order) - 1;
    for (int missing = 1; missing < e.order; ++missing)
      for (int64_t chosen = every - 1; chosen > 0; --chosen) {
        if (e.order - __builtin_popcountll(chosen) != missing) continue;
        const auto inside = [chosen](int64_t part) { return (chosen & part) == chosen; };
        if (std::any_of(parts.begin(), parts.end(), inside)) continue;
        const auto part = named.find(vertices(e, chosen));
        if (part == named.end()) continue;
        parts.push_back(chosen);
        of_part[part->second].push_back(all.size());
        all.push_back({whole, part->second, axes(e, chosen), num_messages, 0.0f, 0.0f});
        num_messages += tables_.edges[part->second].length;
      }
  }

  std::vector<Axis> axes(const Edge& e, int64_t chosen) const {
    std::vector<Axis> lacking;
    int before = e.length, after = 1;
    for (int i = e.order - 1; i >= 0; --i) {
      const int size = tables_.sizes[e.vertices[i]];
      before /= size;
      if (chosen >> i & 1)
        after *= size;
      else
        lacking.push_back({before, size, after});
    }
    return lacking;
  }

  // A part gives what it holds to the wholes whose other parts come later in the sweep.
  void weigh() {
    std::vector<int> rank(of_part.size()), first(of_part.size(), 1 << 30), last(of_part.size(), -1);
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    for (const Relation& r : all) {
      first[r.whole] = std::min(first[r.whole], rank[r.part]);
      last[r.whole] = std::max(last[r.whole], rank[r.part]);
    }
    for (const int part : order) {
      int later = 0, earlier = 0;
      for (const int r : of_part[part]) {
        later += rank[part] < last[all[r].whole];
        earlier += rank[part] > first[all[r].whole];
      }
      const int keeps = tables_.edges[part].order > 1;  // for the parts of its own
      const float share = 1.0f / std::max(1, std::max(later, earlier) + keeps);
      for (const int r : of_part[part]) {
        all[r].forward = rank[part] < last[all[r].whole] ? share : 0.0f;
        all[r].backward = rank[part] > first[all[r].whole] ? share : 0.0f;
      }
    }
  }

  const Tables& tables_;
};

template <typename Number>
void maximise_axis(const Axis& axis, const Number* from, Number* __restrict to) {
  const int size = axis.size, after = axis.after;
  for (int p = 0; p < axis.before; ++p, from += size * after)
    for (int q = 0; q < after; ++q) {
      Number most = from[q];
      for (int a = 1; a < size; ++a) most = larger(from[a * after + q], most);
      *to++ = most;
    }
}

template <typename Number>
void add_to_axis(const Axis& axis, const Number* from, Number* __restrict to) {
  for (int p = 0; p < axis.before; ++p, from += axis.after)
    for (int a = 0; a < axis.size; ++a, to += axis.after)
      for (int q = 0; q < axis.after; ++q) to[q] = to[q] + from[q];
}

// The largest number of a whole's table for each combination of a part.
template <typename Number>
void largest(const Relation& r, const Number* whole, Number* result,
             std::vector<Number> (&scratch)[2]) {
  for (size_t i = 0; i < r.axes.size(); ++i) {
    Number* to = i + 1 < r.axes.size() ? scratch[i % 2].data() : result;
    maximise_axis(r.axes[i], whole, to);
    whole = to;
  }
}

// Adds numbers of a part to a whole's table.
template <typename Number>
void spread(const Relation& r, const Number* part, Number* whole,
            std::vector<Number> (&scratch)[2]) {
  for (size_t i = r.axes.size() - 1; i > 0; --i) {
    const Axis& axis = r.axes[i];
    Number* to = scratch[i % 2].data();
    std::fill_n(to, axis.before * axis.size * axis.after, Number{});
    add_to_axis(axis, part, to);
    part = to;
  }
  add_to_axis(r.axes[0], part, whole);
}

}  // namespace hyperaction
