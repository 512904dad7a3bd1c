// Tabu search in a hypergraph of rank two at most.
#pragma once

#include <cmath>
#include <cstring>

#include "pairwise.h"

namespace hyperaction {

inline void add_row(float* __restrict field, const float* __restrict row, int length) {
  for (int i = 0; i < length; ++i) field[i] += row[i];
}

inline void move(float* __restrict field, const float* __restrict from, const float* __restrict to,
                 int length) {
  for (int i = 0; i < length; ++i) field[i] += to[i] - from[i];
}

inline void fields_of(const Pairwise& p, const int32_t* action, float* field) {
  std::memcpy(field, p.unary.data(), p.row * sizeof(float));
  for (int v = 0; v < p.n; ++v) add_row(field, p.pair_row(v, action[v]), p.row);
}

// Tabu search: always the best single change that was not made lately, up or down.
class Tabu {
 public:
  explicit Tabu(const Pairwise& p)
      : p_(p),
        field_(p.row),
        current_(p.columns),
        best_(p.columns),
        which_(p.columns),
        until_(p.columns) {}

  // Improves `action`, the answer so far; `steps` single changes.
  void run(int32_t* action, int steps, Random random) {
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
      p_.best_sub_actions(field_.data(), best_.data(), which_.data());
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
      move(field_.data(), from_row, to_row, p_.row);
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
      now[v] = anywhere || random.below(3) == 0 ? static_cast<int32_t>(random.below(p_.sizes[v]))
                                                : best[v];
  }

  const Pairwise& p_;
  std::vector<float> field_, current_, best_;
  std::vector<int32_t> which_, until_;
};

// A first answer: every vertex takes what is best if all its neighbours please it.
inline void hopeful(const Pairwise& p, int32_t* action) {
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

}  // namespace hyperaction
