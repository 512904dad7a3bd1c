// Tabu search in hypergraphs of any order.
#pragma once

#include <cmath>
#include <cstring>

#include "contexts.h"
#include "tables.h"

namespace hyperaction {

// A joint action that changes vertex by vertex, and what every change would gain.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Tables& tables)
      : tables_(tables), contexts_(tables.n, tables.size), holding_(tables.n) {
    for (const Edge& e : tables.edges) {
      for (int t = 0; t < e.order; ++t) {
        int context = 0;
        for (int i = 0; i < e.order; ++i)
          if (i != t) context = contexts_.with(context, e.vertices[i], tables.sizes[e.vertices[i]]);
        contexts_.reach(context, e.vertices[t]);
        of_edge_.push_back(context);
      }
    }
    contexts_.allocate();
    float* unary = contexts_.numbers(contexts_[0]);
    std::fill_n(unary, contexts_.row, kMinusInfinity);  // What stands for no sub-action.
    for (int c = 0; c < static_cast<int>(contexts_.all().size()); ++c) {
      if (contexts_[c].width == 0) continue;
      int stride = 1;
      for (int at = c; contexts_[at].order > 0; at = contexts_[at].parent) {
        holding_[contexts_[at].last].push_back({c, stride});
        stride *= tables.sizes[contexts_[at].last];
      }
    }
    field_.resize(contexts_.room());
    index_.resize(contexts_.all().size());
  }

  // Takes the tables' numbers.
  void set() {
    auto context = of_edge_.begin();
    for (const Edge& e : tables_.edges) {
      int before = 1, after = e.length;
      for (int t = 0; t < e.order; ++t) {
        const int vertex = e.vertices[t], size = tables_.sizes[vertex];
        after /= size;
        copy(tables_.numbers.data() + e.offset, before, size, after, contexts_[*context++], vertex);
        before *= size;
      }
    }
  }

  // Starts from an action.
  void start(const int32_t* action) {
    std::memcpy(field_.data(), contexts_.numbers(contexts_[0]), contexts_.row * sizeof(float));
    std::fill(index_.begin(), index_.end(), 0);
    for (int v = 0; v < tables_.n; ++v)
      for (const Held& held : holding_[v]) index_[held.context] += held.stride * action[v];
    for (size_t c = 1; c < index_.size(); ++c)
      if (contexts_[c].width)
        contexts_.add(contexts_[c], index_[c], field_.data(), field_.data());
  }

  // Changes the sub-action of a vertex by so much.
  void change(int vertex, int by) {
    for (const Held& held : holding_[vertex]) {
      const int from = index_[held.context];
      index_[held.context] = from + by * held.stride;
      contexts_.exchange(contexts_[held.context], from, index_[held.context], field_.data());
    }
  }

  // What a sub-action of a vertex is worth while the others stay.
  float& worth(int vertex, int sub_action) { return field_[sub_action * tables_.n + vertex]; }
  void best_sub_actions(float* best, int32_t* which) const {
    contexts_.best_sub_actions(field_.data(), best, which);
  }
  size_t columns() const { return contexts_.columns(); }

 private:
  struct Held {
    int context, stride;  // how far one sub-action of the vertex moves the context's row
  };

  void copy(const float* table, int before, int size, int after, const Contexts::Context& context,
            int vertex) {
    const size_t length = contexts_.length(context);
    float* row = contexts_.numbers(context) + Contexts::place(context, vertex);
    for (int p = 0; p < before; ++p)
      for (int a = 0; a < size; ++a) {
        float* to = row + p * after * length + a * context.width;
        for (int q = 0; q < after; ++q) to[q * length] = *table++;
      }
  }

  const Tables& tables_;
  Contexts contexts_;
  std::vector<int> of_edge_;  // the context of each vertex of each hyperedge
  std::vector<std::vector<Held>> holding_;
  std::vector<float> field_;
  std::vector<int> index_;  // the row of each context
};

// Tabu search: always the best single change that was not made lately, up or down.
class Tabu {
 public:
  explicit Tabu(const Tables& tables)
      : tables_(tables),
        around_(tables),
        current_(around_.columns()),
        best_(around_.columns()),
        which_(around_.columns()),
        until_(tables.n) {}

  // Improves `action`, the answer so far; `steps` single changes.
  void run(int32_t* action, int steps, Random random) {
    const int n = tables_.n;
    around_.set();
    std::vector<int32_t> now(action, action + n);
    double best_value = tables_.value(action), value = best_value;
    std::fill(until_.begin(), until_.end(), 0);
    around_.start(now.data());
    const int stale = 30 * n;  // steps without a better answer before a new start
    int since = 0;
    for (int step = 1; step <= steps; ++step) {
      if (++since > stale) {
        since = 0;
        restart(now.data(), action, random);
        around_.start(now.data());
        value = tables_.value(now.data());
        std::fill(until_.begin(), until_.end(), 0);
      } else if (step % 256 == 0) {
        around_.start(now.data());  // Rounding errors do not add up.
        value = tables_.value(now.data());
      }
      const auto [change, gain] = choose(now.data(), step, best_value - value + 1e-6 * std::fabs(best_value));
      if (change < 0) continue;
      around_.change(change, which_[change] - now[change]);
      now[change] = which_[change];
      value += gain;
      until_[change] = step + 1 + n / 8 + static_cast<int>(random.below(n / 4 + 2));
      if (value > best_value) {
        value = tables_.value(now.data());
        if (value > best_value) {
          best_value = value;
          std::copy_n(now.begin(), n, action);
          since = 0;
        }
      }
    }
  }

 private:
  // The vertex whose change gains most, and how much. Gains above the record are always allowed.
  std::pair<int, float> choose(const int32_t* now, int step, double record) {
    const int n = tables_.n;
    for (int v = 0; v < n; ++v) {
      current_[v] = around_.worth(v, now[v]);
      around_.worth(v, now[v]) = kMinusInfinity;  // Staying is not a change.
    }
    around_.best_sub_actions(best_.data(), which_.data());
    std::pair<int, float> most{-1, kMinusInfinity};
    for (int v = 0; v < n; ++v) {
      around_.worth(v, now[v]) = current_[v];
      const float gain = best_[v] - current_[v];
      if (gain > most.second && (until_[v] < step || gain > record)) most = {v, gain};
    }
    return most;
  }

  // Half of the new starts are the best answer with a few vertices changed, half are anywhere.
  void restart(int32_t* now, const int32_t* best, Random& random) {
    const bool anywhere = random.below(2);
    for (int v = 0; v < tables_.n; ++v)
      now[v] = anywhere || random.below(3) == 0
                   ? static_cast<int32_t>(random.below(tables_.sizes[v]))
                   : best[v];
  }

  const Tables& tables_;
  Neighbourhood around_;
  std::vector<float> current_, best_;
  std::vector<int32_t> which_, until_;
};

}  // namespace hyperaction
