// Tight bounds of sums that are taken table by table.
#pragma once

#include "relations.h"
#include "vector.h"

namespace hyperaction {

HYPERACTION_INLINE float& lane(float& number, int) { return number; }
template <int kBytes>
HYPERACTION_INLINE float& lane(Group<float, kBytes, 1>& group, int i) {
  return reinterpret_cast<float*>(&group)[i];
}

// Shifts value between the tables of hyperedges and of the hyperedges inside them, which changes no
// sum but lowers the sum of the tables' largest numbers: sequential reweighted message passing
// (Kolmogorov, 2015), at rank two tree-reweighted message passing (Kolmogorov, 2006). As many
// states at a time as a number has lanes.
template <typename Number>
class Messages {
 public:
  static constexpr int kLanes = sizeof(Number) / sizeof(float);

  Messages(const Tables& tables, const Relations& relations)
      : tables_(tables),
        relations_(relations),
        numbers_(tables.numbers.size()),
        messages_(relations.num_messages) {
    for (auto& scratch : scratch_) scratch.resize(relations.longest);
  }

  // Takes the numbers of one state, in a lane of its own, and the bound that is low enough.
  void set(int i, const float* numbers, double enough) {
    for (size_t j = 0; j < numbers_.size(); ++j) lane(numbers_[j], i) = numbers[j];
    enough_[i] = enough;
  }

  // So many sweeps, for each of the first states until its bound is low enough.
  void tighten(int sweeps, int states) {
    std::fill(messages_.begin(), messages_.end(), Number{});
    bool done[kLanes] = {};
    for (int sweep = 0;; ++sweep) {
      double bounds[kLanes] = {};
      add_bounds(bounds);
      int left = 0;
      for (int i = 0; i < states; ++i) {
        if (done[i]) continue;
        done[i] = sweep == sweeps || !(bounds[i] > enough_[i]);
        left += !done[i];
        if (done[i]) finish(i, bounds[i]);
      }
      if (left == 0) return;
      for (auto part = relations_.order.begin(); part != relations_.order.end(); ++part)
        visit(*part, &Relation::forward);
      for (auto part = relations_.order.rbegin(); part != relations_.order.rend(); ++part)
        visit(*part, &Relation::backward);
    }
  }

  // The sum of a state's largest numbers after all shifts.
  double bound(int i) const { return bounds_[i]; }

  // The numbers of a state after all shifts: from the sums of all messages, so that rounding errors
  // do not add up.
  void shift(int i, std::vector<float>& numbers) {
    std::vector<float> scratch[2];
    for (auto& one : scratch) one.resize(relations_.longest);
    for (const Relation& r : relations_.all) {
      const Edge& part = tables_.edges[r.part];
      float* message = &own_[i][r.message];
      for (int j = 0; j < part.length; ++j) {
        numbers[part.offset + j] += message[j];
        message[j] = -message[j];
      }
      spread(r, message, &numbers[tables_.edges[r.whole].offset], scratch);
    }
  }

 private:
  void add_bounds(double* bounds) {
    for (const Edge& e : tables_.edges) {
      Number most = numbers_[e.offset];
      for (int j = 1; j < e.length; ++j) most = larger(numbers_[e.offset + j], most);
      for (int i = 0; i < kLanes; ++i) bounds[i] += lane(most, i);
    }
  }

  void finish(int i, double bound) {
    bounds_[i] = bound;
    own_[i].resize(messages_.size());
    for (size_t j = 0; j < messages_.size(); ++j) own_[i][j] = lane(messages_[j], i);
  }

  // Moves what the wholes can add for each combination to a part, and shares of it back.
  void visit(int part, float Relation::*share) {
    const Edge& e = tables_.edges[part];
    const std::vector<int>& wholes = relations_.of_part[part];
    Number* own = &numbers_[e.offset];
    found_.resize(wholes.size() * e.length);
    Number* found = found_.data();
    for (const int r : wholes) {
      const Relation& relation = relations_.all[r];
      largest(relation, &numbers_[tables_.edges[relation.whole].offset], found, scratch_);
      for (int j = 0; j < e.length; ++j) own[j] = own[j] + found[j];
      found += e.length;
    }
    found = found_.data();
    float given = 0.0f;
    for (const int r : wholes) {
      const Relation& relation = relations_.all[r];
      Number* message = &messages_[relation.message];
      for (int j = 0; j < e.length; ++j) {
        found[j] = own[j] * (relation.*share) - found[j];
        message[j] = message[j] - found[j];
      }
      spread(relation, found, &numbers_[tables_.edges[relation.whole].offset], scratch_);
      found += e.length;
      given += relation.*share;
    }
    for (int j = 0; j < e.length; ++j) own[j] = own[j] * std::max(0.0f, 1.0f - given);
  }

  const Tables& tables_;
  const Relations& relations_;
  std::vector<Number> numbers_, messages_, found_, scratch_[2];
  std::vector<float> own_[kLanes];  // the messages of each state
  double enough_[kLanes] = {}, bounds_[kLanes] = {};
};

}  // namespace hyperaction
