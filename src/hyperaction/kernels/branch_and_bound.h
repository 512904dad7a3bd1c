// Branch and bound in a hypergraph of rank two at most.
#pragma once

#include <cmath>

#include "pairwise.h"

namespace hyperaction {

// Shifts value between tables, changing no sum, so that bounds taken table by table get tight:
// sequential tree-reweighted message passing (Kolmogorov, 2006) along the order of the vertices.
class Messages {
 public:
  explicit Messages(Pairwise& p)
      : p_(p),
        to_(static_cast<size_t>(p.n) * p.row),
        out_(p.row),
        absent_(p.row, kMinusInfinity),
        belief_(p.size) {
    for (int v = 0; v < p.n; ++v)
      for (int a = 0; a < p.sizes[v]; ++a) absent_[p.place(v, a)] = 0.0f;
  }

  void tighten(int sweeps) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (int v = 0; v < p_.n; ++v) send(v, v + 1, p_.n);
      for (int v = p_.n - 1; v >= 0; --v) send(v, 0, v);
    }
    for (int v = 0; v < p_.n; ++v)
      for (int a = 0; a < p_.sizes[v]; ++a) shift(v, a);
  }

 private:
  using Floats = Pairwise::Floats;

  // What all vertices say about a vertex's sub-actions, laid out as its field.
  float* to(int vertex) { return to_.data() + static_cast<size_t>(vertex) * p_.row; }

  // New messages from a vertex to those in a range, several of them in one vector.
  void send(int v, int first, int end) {
    const float share = 1.0f / std::max(1, std::max(v, p_.n - 1 - v));
    for (int a = 0; a < p_.sizes[v]; ++a) {
      const float* own = to(v) + a * p_.columns;
      float belief = p_.unary[p_.place(v, a)];
      for (int w = 0; w < p_.n; ++w)
        if (w != v) belief += own[w];
      belief_[a] = share * belief;
    }
    for (int w = first / Pairwise::kColumns * Pairwise::kColumns; w < end; w += Pairwise::kColumns)
      send_to_columns(v, w);
    for (int w = first; w < end; ++w)
      for (int b = 0; b < p_.sizes[w]; ++b) to(w)[p_.place(v, b)] = out_[p_.place(w, b)];
  }

  void send_to_columns(int v, int w) {
    Floats top = Floats{} + kMinusInfinity;
    for (int b = 0; b < p_.size; ++b) {
      Floats most = Floats{} + kMinusInfinity;
      for (int a = 0; a < p_.sizes[v]; ++a) {
        const Floats value = belief_[a] - load<Floats>(to(v) + a * p_.columns + w) +
                             load<Floats>(p_.pair_row(v, a) + b * p_.columns + w);
        most = value > most ? value : most;
      }
      store(most, out_.data() + b * p_.columns + w);
      const Floats there = most + load<Floats>(absent_.data() + b * p_.columns + w);
      top = there > top ? there : top;
    }
    for (int b = 0; b < p_.size; ++b) {
      float* out = out_.data() + b * p_.columns + w;
      store(load<Floats>(out) - top, out);
    }
  }

  // Moves what is said about a sub-action from its pairs to itself.
  void shift(int v, int a) {
    const float* own = to(v) + a * p_.columns;
    float* row = p_.pair_row(v, a);
    for (int w = 0; w < p_.n; ++w) {
      if (w == v) continue;
      p_.unary[p_.place(v, a)] += own[w];
      for (int b = 0; b < p_.sizes[w]; ++b)
        row[p_.place(w, b)] -= own[w] + to(w)[p_.place(v, b)];
    }
  }

  Pairwise& p_;
  std::vector<float> to_, out_, absent_, belief_;
};

// Depth-first branch and bound on vertices in a fixed order. A vertex is bounded by its best
// sub-action's field plus the best that each pair with a later vertex can add.
class BranchAndBound {
 public:
  explicit BranchAndBound(const Pairwise& p)
      : p_(p),
        order_(p.n),
        fields_((p.n + 1) * static_cast<size_t>(p.row)),
        maxima_(p.columns),
        children_(static_cast<size_t>(p.n) * p.size),
        chosen_(p.n) {}

  // Improves `action` until it is proven best or the nodes are used up. Returns an upper bound.
  double run(int32_t* action, int64_t nodes) {
    best_value_ = p_.value(action);
    action_ = action;
    nodes_ = nodes;
    open_ = best_value_;
    arrange();
    slack_ = 1e-6 * (std::fabs(best_value_) + p_.magnitude());
    descend(0, 0.0);
    // What was cut off may have been better by as much as the slack.
    return std::max(open_, best_value_ + slack_);
  }

 private:
  struct Child {
    double bound;
    int sub_action;
  };

  // Vertices whose pairs matter most come first; then what later pairs can add is added to fields.
  void arrange() {
    const int n = p_.n;
    std::vector<double> weight(n);
    for (int v = 0; v < n; ++v) {
      order_[v] = v;
      for (int w = 0; w < n; ++w) {
        if (w == v) continue;
        float low = -kMinusInfinity, high = kMinusInfinity;
        for (int a = 0; a < p_.sizes[v]; ++a)
          for (int b = 0; b < p_.sizes[w]; ++b) {
            low = std::min(low, p_.pair(v, a, w, b));
            high = std::max(high, p_.pair(v, a, w, b));
          }
        weight[v] += high - low;
      }
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return weight[a] > weight[b]; });
    std::copy(p_.unary.begin(), p_.unary.end(), fields_.begin());
    for (int i = 0; i < n; ++i) {
      const int v = order_[i];
      for (int a = 0; a < p_.sizes[v]; ++a)
        for (int j = i + 1; j < n; ++j) {
          float most = kMinusInfinity;
          for (int b = 0; b < p_.sizes[order_[j]]; ++b)
            most = std::max(most, p_.pair(v, a, order_[j], b));
          fields_[p_.place(v, a)] += most;
        }
    }
  }

  void descend(int depth, double above) {
    const int n = p_.n;
    const float* field = fields_.data() + static_cast<size_t>(depth) * p_.row;
    if (depth == n) {
      if (above > best_value_) {
        best_value_ = above;
        for (int i = 0; i < n; ++i) action_[order_[i]] = chosen_[i];
      }
      return;
    }
    const int v = order_[depth];
    float* next = fields_.data() + static_cast<size_t>(depth + 1) * p_.row;
    Child* children = children_.data() + static_cast<size_t>(depth) * p_.size;
    int count = 0;
    for (int a = 0; a < p_.sizes[v]; ++a) {
      const double bound = above + own(depth, a) + bound_of(field, p_.pair_row(v, a), depth + 1);
      if (bound > best_value_ + slack_) children[count++] = {bound, a};
    }
    std::sort(children, children + count, [](const Child& x, const Child& y) {
      return x.bound != y.bound ? x.bound > y.bound : x.sub_action < y.sub_action;
    });
    for (int c = 0; c < count; ++c) {
      if (children[c].bound <= best_value_ + slack_) return;
      if (nodes_ <= 0) {
        open_ = std::max(open_, children[c].bound);
        return;
      }
      --nodes_;
      const int a = children[c].sub_action;
      sum(field, p_.pair_row(v, a), p_.row, next);
      chosen_[depth] = a;
      descend(depth + 1, above + own(depth, a));
    }
  }

  // What choosing a sub-action surely adds: its unary and its pairs with the vertices above.
  double own(int depth, int a) const {
    const int v = order_[depth];
    double total = p_.unary[p_.place(v, a)];
    for (int i = 0; i < depth; ++i) total += p_.pair(order_[i], chosen_[i], v, a);
    return total;
  }

  // The most that the vertices from this depth on can add, in the sum of two fields.
  double bound_of(const float* field, const float* row, int depth) {
    p_.best_of_sum(field, row, maxima_.data());
    double total = 0.0;
    for (int i = depth; i < p_.n; ++i) total += maxima_[order_[i]];
    return total;
  }

  static void sum(const float* __restrict a, const float* __restrict b, int length,
                  float* __restrict total) {
    for (int i = 0; i < length; ++i) total[i] = a[i] + b[i];
  }

  const Pairwise& p_;
  std::vector<int> order_;
  std::vector<float> fields_, maxima_;
  std::vector<Child> children_;  // a row of sub-actions per depth
  std::vector<int32_t> chosen_;
  int32_t* action_ = nullptr;
  double best_value_ = 0.0, open_ = 0.0, slack_ = 0.0;
  int64_t nodes_ = 0;
};

}  // namespace hyperaction
