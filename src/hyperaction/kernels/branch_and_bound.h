// Branch and bound in a hypergraph of rank two at most.
#pragma once

#include <cmath>

#include "pairwise.h"

namespace hyperaction {

// Shifts value between tables, changing no sum, so that bounds taken table by table get tight:
// sequential tree-reweighted message passing (Kolmogorov, 2006) along the order of the vertices.
inline void tighten(Pairwise& p, int sweeps) {
  const int n = p.n, size = p.size;
  std::vector<float> to_v(static_cast<size_t>(n) * n * size);  // message w -> v at v's sub-actions
  auto message = [&](int w, int v) {
    return to_v.data() + (static_cast<size_t>(w) * n + v) * size;
  };
  std::vector<float> belief(size);
  for (int sweep = 0; sweep < 2 * sweeps; ++sweep) {
    const bool forward = sweep % 2 == 0;
    for (int step = 0; step < n; ++step) {
      const int v = forward ? step : n - 1 - step;
      for (int a = 0; a < p.sizes[v]; ++a) {
        belief[a] = p.unary[p.place(v, a)];
        for (int w = 0; w < n; ++w)
          if (w != v) belief[a] += message(w, v)[a];
      }
      const float share = 1.0f / std::max(1, std::max(v, n - 1 - v));
      for (int w = forward ? v + 1 : 0; w < (forward ? n : v); ++w) {
        float* out = message(v, w);
        const float* back = message(w, v);
        float top = kMinusInfinity;
        for (int b = 0; b < p.sizes[w]; ++b) {
          float most = kMinusInfinity;
          for (int a = 0; a < p.sizes[v]; ++a)
            most = std::max(most, share * belief[a] - back[a] + p.pair(v, a, w, b));
          out[b] = most;
          top = std::max(top, most);
        }
        for (int b = 0; b < p.sizes[w]; ++b) out[b] -= top;
      }
    }
  }
  for (int v = 0; v < n; ++v) {
    for (int a = 0; a < p.sizes[v]; ++a) {
      for (int w = 0; w < n; ++w) {
        if (w == v) continue;
        p.unary[p.place(v, a)] += message(w, v)[a];
        float* row = p.pair_row(v, a);
        for (int b = 0; b < p.sizes[w]; ++b)
          row[p.place(w, b)] -= message(w, v)[a] + message(v, w)[b];
      }
    }
  }
}

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
