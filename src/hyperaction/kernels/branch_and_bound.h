// Branch and bound in hypergraphs of any order.
#pragma once

#include <cmath>
#include <numeric>

#include "contexts.h"
#include "tables.h"

namespace hyperaction {

// Depth-first branch and bound on vertices in a fixed order. A hyperedge is bounded by its largest
// number that the vertices chosen so far leave, for every sub-action of its next vertex.
class BranchAndBound {
 public:
  // The numbers are the tables' own, or others that add up to the same.
  BranchAndBound(const Tables& tables, const std::vector<float>& numbers)
      : tables_(tables),
        order_(arranged(tables, numbers)),
        contexts_(tables.n, tables.size),
        of_last_(tables.n),
        children_(static_cast<size_t>(tables.n) * tables.size),
        chosen_(tables.n) {
    lay_out(numbers);
    fields_.resize((tables.n * static_cast<size_t>(tables.size) + 1) * contexts_.room());
    maxima_.resize(contexts_.columns());
  }

  // Improves `action` until it is proven best or the nodes are used up. Returns an upper bound.
  double run(int32_t* action, int64_t nodes) {
    best_value_ = tables_.value(action);
    action_ = action;
    nodes_ = nodes;
    open_ = best_value_;
    slack_ = tables_.slack();
    contexts_.add(contexts_[0], 0, fields_.data(), fields_.data());
    descend(0, 0.0, fields_.data());
    // What was cut off may have been better by as much as the slack.
    return std::max(open_, best_value_ + slack_);
  }

 private:
  struct Child {
    double bound, settled;
    int sub_action;
  };

  // Vertices whose hyperedges matter most come first.
  static std::vector<int> arranged(const Tables& tables, const std::vector<float>& numbers) {
    std::vector<double> weight(tables.n);
    for (const Edge& e : tables.edges) {
      if (e.order == 1) continue;
      const auto ends = std::minmax_element(&numbers[e.offset], &numbers[e.offset] + e.length);
      for (int i = 0; i < e.order; ++i) weight[e.vertices[i]] += *ends.second - *ends.first;
    }
    std::vector<int> order(tables.n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return weight[a] > weight[b]; });
    return order;
  }

  // Contexts name vertices by their place in the order.
  void lay_out(const std::vector<float>& numbers) {
    const int n = tables_.n;
    std::vector<int> place(n);
    for (int i = 0; i < n; ++i) place[order_[i]] = i;
    std::vector<std::vector<int>> places;
    for (const Edge& e : tables_.edges) {
      places.emplace_back();
      for (int i = 0; i < e.order; ++i) places.back().push_back(place[e.vertices[i]]);
      std::sort(places.back().begin(), places.back().end());
      const std::vector<int> known = prefixes(places.back());
      for (int i = 0; i < e.order; ++i) contexts_.reach(known[i], places.back()[i]);
    }
    contexts_.allocate();
    size_t rows = 0;
    for (const auto& context : contexts_.all()) {
      if (context.order) of_last_[context.last].push_back(first_row_.size());
      first_row_.push_back(rows);
      rows += context.rows;
    }
    unsettled_.assign(rows, 0.0f);
    index_.assign(first_row_.size(), 0);
    float* unary = contexts_.numbers(contexts_[0]);
    std::fill_n(unary, contexts_.row, kMinusInfinity);  // What stands for no sub-action.
    for (int i = 0; i < n; ++i)
      for (int a = 0; a < tables_.sizes[order_[i]]; ++a) unary[a * n + i] = 0.0f;
    for (size_t e = 0; e < places.size(); ++e) add_edge(tables_.edges[e], places[e], numbers);
  }

  // The contexts of none, one, two and more of the first vertices, up to all but one.
  std::vector<int> prefixes(const std::vector<int>& places) {
    std::vector<int> found{0};
    for (size_t i = 0; i + 1 < places.size(); ++i)
      found.push_back(contexts_.with(found[i], places[i], tables_.sizes[order_[places[i]]]));
    return found;
  }

  // Adds what a hyperedge can add for every combination of its first vertices, however few.
  void add_edge(const Edge& e, const std::vector<int>& places, const std::vector<float>& numbers) {
    std::vector<float> most(e.length);
    in_order(e, places, numbers.data() + e.offset, most.data());
    const std::vector<int> context = prefixes(places);
    for (int i = e.order - 1; i >= 0; --i) {
      const int size = tables_.sizes[order_[places[i]]];
      const auto& known = contexts_[context[i]];
      const size_t length = contexts_.length(known);
      float* row = contexts_.numbers(known) + Contexts::place(known, places[i]);
      float* unsettled = &unsettled_[first_row_[context[i]]];
      for (int p = 0; p < known.rows; ++p, row += length) {
        float best = kMinusInfinity;
        for (int a = 0; a < size; ++a) {
          const float value = most[p * size + a];
          row[a * known.width] += value;
          best = value > best ? value : best;
        }
        unsettled[p] += best;
        most[p] = best;
      }
    }
  }

  // A hyperedge's table with its axes in the order of branching.
  void in_order(const Edge& e, const std::vector<int>& places, const float* from, float* to) const {
    std::vector<int> strides(e.order), sizes(e.order), at(e.order);
    for (int i = 0; i < e.order; ++i) {
      const int vertex = order_[places[i]];
      sizes[i] = tables_.sizes[vertex];
      strides[i] = 1;
      for (int j = e.order - 1; e.vertices[j] != vertex; --j)
        strides[i] *= tables_.sizes[e.vertices[j]];
    }
    int index = 0;
    for (int k = 0; k < e.length; ++k) {
      to[k] = from[index];
      for (int i = e.order - 1; i >= 0; --i) {
        index += strides[i];
        if (++at[i] < sizes[i]) break;
        index -= strides[i] * sizes[i];
        at[i] = 0;
      }
    }
  }

  // The field holds what every later vertex can add; the settled value is that of the hyperedges
  // whose vertices are all chosen.
  void descend(int depth, double settled, const float* field) {
    const int n = tables_.n;
    if (depth == n) {
      finish();
      return;
    }
    const int size = tables_.sizes[order_[depth]];
    float* next = fields_.data() + (static_cast<size_t>(depth) * tables_.size + 1) * contexts_.room();
    Child* children = children_.data() + static_cast<size_t>(depth) * tables_.size;
    int count = 0;
    for (int a = 0; a < size; ++a) {
      const Child child = bounded(depth, a, settled, field, next + a * contexts_.room());
      if (child.bound > best_value_ + slack_) children[count++] = child;
    }
    std::sort(children, children + count, [](const Child& x, const Child& y) {
      return x.bound != y.bound ? x.bound > y.bound : x.sub_action < y.sub_action;
    });
    for (int c = 0; c < count; ++c) {
      const Child child = children[c];
      if (child.bound <= best_value_ + slack_) return;
      if (nodes_ <= 0) {
        open_ = std::max(open_, child.bound);
        return;
      }
      --nodes_;
      chosen_[depth] = child.sub_action;
      for (const int known : of_last_[depth]) index_[known] = row_of(known, child.sub_action, size);
      descend(depth + 1, child.settled, next + child.sub_action * contexts_.room());
    }
  }

  int row_of(int context, int sub_action, int size) const {
    return index_[contexts_[context].parent] * size + sub_action;
  }

  Child bounded(int depth, int a, double settled, const float* field, float* next) {
    const int n = tables_.n, size = tables_.sizes[order_[depth]];
    settled += field[a * n + depth];
    for (const int known : of_last_[depth]) {
      const int row = row_of(known, a, size);
      settled -= unsettled_[first_row_[known] + row];
      contexts_.add(contexts_[known], row, field, next);
      field = next;
    }
    contexts_.best_values(field, maxima_.data());
    double bound = settled;
    for (int i = depth + 1; i < n; ++i) bound += maxima_[i];
    if (field != next) std::copy_n(field, contexts_.row, next);
    return {bound, settled, a};
  }

  void finish() {
    std::vector<int32_t> action(tables_.n);
    for (int i = 0; i < tables_.n; ++i) action[order_[i]] = chosen_[i];
    const double value = tables_.value(action.data());
    if (value <= best_value_) return;
    best_value_ = value;
    std::copy(action.begin(), action.end(), action_);
  }

  const Tables& tables_;
  const std::vector<int> order_;
  Contexts contexts_;
  std::vector<std::vector<int>> of_last_;  // contexts by their last vertex
  std::vector<size_t> first_row_;          // of each context, among the rows of all
  std::vector<float> unsettled_;  // what a row's hyperedges were worth before their next vertex
  std::vector<int> index_;        // the row of each context whose vertices are chosen
  std::vector<float> fields_, maxima_;
  std::vector<Child> children_;  // a row of sub-actions per depth
  std::vector<int32_t> chosen_;
  int32_t* action_ = nullptr;
  double best_value_ = 0.0, open_ = 0.0, slack_ = 0.0;
  int64_t nodes_ = 0;
};

}  // namespace hyperaction
