// Rank two past the reach of elimination: tabu search for a good answer, branch and bound to prove it.

#include <cmath>
#include <cstring>

#include "pairwise.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

HYPERACTION_INLINE void add_row(float* field, const float* row, int length) {
  for (int i = 0; i < length; ++i) field[i] += row[i];
}

HYPERACTION_FAST void fields_of(const Pairwise& p, const int32_t* action, float* field) {
  std::memcpy(field, p.unary.data(), p.row * sizeof(float));
  for (int v = 0; v < p.n; ++v) add_row(field, p.pair_row(v, action[v]), p.row);
}

// Tabu search: always the best single change that was not made lately, up or down.
class Tabu {
 public:
  explicit Tabu(const Pairwise& p)
      : p_(p), field_(p.row), current_(p.columns), best_(p.columns), which_(p.columns),
        until_(p.columns) {}

  // Improves `action`, the answer so far; `steps` single changes.
  HYPERACTION_FAST void run(int32_t* action, int steps, Random random) {
    const int n = p_.n;
    std::vector<int32_t> now(action, action + n);
    double best_value = p_.value(action), value = best_value;
    std::fill(until_.begin(), until_.end(), 0);
    fields_of(p_, now.data(), field_.data());
    const int stale = 30 * n;  // steps without a better answer before a new start
    int since = 0;
    for (int step = 1; step <= steps; ++step) {
      if (++since > stale) {
        since = 0;
        restart(now.data(), action, random);
        fields_of(p_, now.data(), field_.data());
        value = p_.value(now.data());
        std::fill(until_.begin(), until_.end(), 0);
      } else if (step % 256 == 0) {
        fields_of(p_, now.data(), field_.data());  // Rounding errors do not add up.
        value = p_.value(now.data());
      }
      for (int v = 0; v < n; ++v) {
        current_[v] = field_[p_.place(v, now[v])];
        field_[p_.place(v, now[v])] = kMinusInfinity;  // Staying is not a change.
      }
      best_changes();
      for (int v = 0; v < n; ++v) field_[p_.place(v, now[v])] = current_[v];
      int change = -1;
      float gain = kMinusInfinity;
      for (int v = 0; v < n; ++v) {
        const float own = best_[v] - current_[v];
        const bool record = value + own > best_value + 1e-6 * std::fabs(best_value);
        const bool allowed = until_[v] < step || record;
        if (allowed && own > gain) {
          gain = own;
          change = v;
        }
      }
      if (change < 0) continue;
      const int to = which_[change];
      const float* from_row = p_.pair_row(change, now[change]);
      const float* to_row = p_.pair_row(change, to);
      for (int i = 0; i < p_.row; ++i) field_[i] += to_row[i] - from_row[i];
      now[change] = to;
      value += gain;
      until_[change] = step + 1 + n / 8 + static_cast<int>(random.below(n / 4 + 2));
      if (value > best_value) {
        const double exact = p_.value(now.data());
        value = exact;
        if (exact > best_value) {
          best_value = exact;
          std::copy_n(now.begin(), n, action);
          since = 0;
        }
      }
    }
  }

 private:
  // Half of the new starts are the best answer with a few vertices changed, half are anywhere.
  void restart(int32_t* now, const int32_t* best, Random& random) {
    const bool anywhere = random.below(2);
    for (int v = 0; v < p_.n; ++v)
      now[v] = anywhere || random.below(3) == 0
                   ? static_cast<int32_t>(random.below(p_.sizes[v])) : best[v];
  }

  // The best other sub-action of every vertex, and what it is worth.
  HYPERACTION_INLINE void best_changes() {
    const int columns = p_.columns;
    float* best = best_.data();
    int32_t* which = which_.data();
    const float* field = field_.data();
    for (int v = 0; v < columns; ++v) {
      best[v] = field[v];
      which[v] = 0;
    }
    for (int a = 1; a < p_.size; ++a) {
      const float* values = field + a * columns;
      for (int v = 0; v < columns; ++v) {
        const bool better = values[v] > best[v];
        best[v] = better ? values[v] : best[v];
        which[v] = better ? a : which[v];
      }
    }
  }

  const Pairwise& p_;
  std::vector<float> field_, current_, best_;
  std::vector<int32_t> which_, until_;
};

// A first answer: every vertex takes what is best if all its neighbours please it.
void hopeful(const Pairwise& p, int32_t* action) {
  std::fill_n(action, p.n, 0);  // What stands if nothing compares, as among NaN.
  for (int v = 0; v < p.n; ++v) {
    float best = kMinusInfinity;
    for (int a = 0; a < p.sizes[v]; ++a) {
      float hope = p.unary[p.place(v, a)];
      for (int w = 0; w < p.n; ++w) {
        if (w == v) continue;
        float most = kMinusInfinity;
        for (int b = 0; b < p.sizes[w]; ++b) most = std::max(most, p.pair(v, a, w, b));
        hope += most;
      }
      if (hope > best) {
        best = hope;
        action[v] = a;
      }
    }
  }
}

// Shifts value between tables, changing no sum, so that bounds taken table by table get tight:
// sequential tree-reweighted message passing (Kolmogorov, 2006) along the order of the vertices.
HYPERACTION_FAST void tighten(Pairwise& p, int sweeps) {
  const int n = p.n, size = p.size;
  std::vector<float> to_v(static_cast<size_t>(n) * n * size);  // message w -> v at v's sub-actions
  auto message = [&](int w, int v) { return to_v.data() + (static_cast<size_t>(w) * n + v) * size; };
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

  HYPERACTION_FAST void descend(int depth, double above) {
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
      double bound = above + own(depth, a);
      const float* row = p_.pair_row(v, a);
      for (int i = 0; i < p_.row; ++i) next[i] = field[i] + row[i];
      bound += bound_of(next, depth + 1);
      if (bound > best_value_ + slack_) children[count++] = {bound, a};
    }
    std::sort(children, children + count,
              [](const Child& x, const Child& y) { return x.bound > y.bound; });
    for (int c = 0; c < count; ++c) {
      if (children[c].bound <= best_value_ + slack_) return;
      if (nodes_ <= 0) {
        open_ = std::max(open_, children[c].bound);
        return;
      }
      --nodes_;
      const int a = children[c].sub_action;
      const float* row = p_.pair_row(v, a);
      for (int i = 0; i < p_.row; ++i) next[i] = field[i] + row[i];
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

  HYPERACTION_INLINE double bound_of(const float* field, int depth) const {
    double total = 0.0;
    for (int i = depth; i < p_.n; ++i) {
      const int v = order_[i];
      float most = field[v];
      for (int a = 1; a < p_.size; ++a) most = std::max(most, field[a * p_.columns + v]);
      total += most;
    }
    return total;
  }

  const Pairwise& p_;
  std::vector<int> order_;
  std::vector<float> fields_;
  std::vector<Child> children_;  // a row of sub-actions per depth
  std::vector<int32_t> chosen_;
  int32_t* action_ = nullptr;
  double best_value_ = 0.0, open_ = 0.0, slack_ = 0.0;
  int64_t nodes_ = 0;
};

// The best action found for every state, and an upper bound of all actions' sums.
ffi::Error search(ffi::Buffer<ffi::F32> outputs, ffi::Buffer<ffi::S32> structure, int64_t steps,
                  int64_t nodes, int64_t seed, ffi::ResultBuffer<ffi::S32> actions,
                  ffi::ResultBuffer<ffi::F32> bounds) {
  const Structure s(structure.typed_data());
  const int64_t n = s.num_vertices, batch = outputs.element_count() / s.num_outputs;
  Pairwise p(s);
  Tabu tabu(p);
  for (int64_t i = 0; i < batch; ++i) {
    const float* row = outputs.typed_data() + i * s.num_outputs;
    int32_t* action = actions->typed_data() + i * n;
    p.load(s, row);
    hopeful(p, action);
    tabu.run(action, static_cast<int>(steps), Random{0x9E3779B97F4A7C15ull + 2 * static_cast<uint64_t>(seed)});
    float& bound = bounds->typed_data()[i];
    bound = -kMinusInfinity;
    if (nodes > 0) {
      tighten(p, 20);
      BranchAndBound search(p);
      bound = static_cast<float>(search.run(action, nodes));
    }
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_search, hyperaction::search,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Attr<int64_t>("steps")
                                  .Attr<int64_t>("nodes")
                                  .Attr<int64_t>("seed")
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
