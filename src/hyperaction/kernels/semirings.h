// What soft values are computed in: exponentials as they are, or their logarithms.
//
// The exponentials of a state's tables, each scaled to its middle, can be multiplied and added up as
// they are while no product leaves the range of floats. That costs no more than a maximum. Where a
// product might, logarithms do, at an exponential for every sum of two entries.
//
// Both have
//   times      the entry of two tables together
//   sum        an entry of a message: over so many choices
//   pull       its derivative: adds to the slopes of both tables what the message's slope gives
//   Total      a sum over conditioned sub-actions
#pragma once

#include "lanes.h"
#include "vector_math.h"

namespace hyperaction {

using Register = Lanes::Register;

constexpr float kLog2E = 1.44269504f, kLn2 = 0.69314718f;
constexpr float kLowest = -3.0e38f;

// The temperature of each lane, and log2(e) over it.
struct Heat {
  Lanes temperature, inverse;
};

// What the two tables of an instruction have side by side for one entry; y may be absent.
template <bool kTwo>
struct Pair {
  const Lanes *x, *y;
};

struct Linear {
  HYPERACTION_INLINE static Register times(Register a, Register b) { return a * b; }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void sum(Lanes* dst, Pair<kTwo> from, int choices) const {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      Register total = kTwo ? from.x[0].parts[i] * from.y[0].parts[i] : from.x[0].parts[i];
      for (int k = 1; k < m; ++k)
        total += kTwo ? from.x[k].parts[i] * from.y[k].parts[i] : from.x[k].parts[i];
      dst->parts[i] = total;
    }
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void pull(Lanes* slope, Pair<kTwo> from, Lanes* slope_x, Lanes* slope_y,
                               int choices) {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      const Register g = slope->parts[i];
      for (int k = 0; k < m; ++k) {
        slope_x[k].parts[i] += kTwo ? g * from.y[k].parts[i] : g;
        if (kTwo) slope_y[k].parts[i] += g * from.x[k].parts[i];
      }
      slope->parts[i] = Register{};
    }
  }

  struct Total {
    Lanes sum = Lanes::filled(0.0f);

    // Adds another one; the share of each lane's sum that is now its, times the sum.
    HYPERACTION_INLINE Lanes add(const Total& other, const Linear&) {
      sum = sum + other.sum;
      return other.sum;
    }
  };
  HYPERACTION_INLINE Total total(const Lanes& value) const { return {value}; }

  // The slope of a combination of conditioned sub-actions.
  HYPERACTION_INLINE Lanes slope(const Lanes&) const { return Lanes::filled(1.0f); }

  // Exponentials of the choices of a vertex, in place.
  HYPERACTION_INLINE void weigh(Lanes*, int) const {}
};

struct Logarithmic {
  Heat heat;
  Lanes top, sum_of_all;                 // of the sum over all actions; for slopes
  Lanes entropy = Lanes::filled(0.0f);  // added up by slopes

  HYPERACTION_INLINE static Register times(Register a, Register b) { return a + b; }

  template <bool kTwo>
  HYPERACTION_INLINE static Register entry(Pair<kTwo> from, int k, int i) {
    return kTwo ? from.x[k].parts[i] + from.y[k].parts[i] : from.x[k].parts[i];
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void sum(Lanes* dst, Pair<kTwo> from, int choices) const {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      Register most = entry(from, 0, i);
      for (int k = 1; k < m; ++k) most = larger_of(most, entry(from, k, i));
      if (kChoices == 1) {
        dst->parts[i] = most;
        continue;
      }
      const Register base = larger_of(most, Register{} + kLowest), inverse = heat.inverse.parts[i];
      Register total = exp2_of((entry(from, 0, i) - base) * inverse);
      for (int k = 1; k < m; ++k) total += exp2_of((entry(from, k, i) - base) * inverse);
      total = total > 0.0f ? total : Register{} + 1.0f;
      dst->parts[i] = most + heat.temperature.parts[i] * log_of(total);
    }
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void pull(Lanes* slope, Pair<kTwo> from, Lanes* slope_x, Lanes* slope_y,
                               int choices) {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      const Register g = slope->parts[i];
      slope->parts[i] = Register{};
      if (kChoices == 1) {
        slope_x[0].parts[i] += g;
        if (kTwo) slope_y[0].parts[i] += g;
        continue;
      }
      Register most = entry(from, 0, i);
      for (int k = 1; k < m; ++k) most = larger_of(most, entry(from, k, i));
      const Register base = larger_of(most, Register{} + kLowest), inverse = heat.inverse.parts[i];
      Register total = Register{}, mean = Register{};
      for (int k = 0; k < m; ++k) {
        const Register below = (entry(from, k, i) - base) * inverse, part = exp2_of(below);
        total += part;
        mean += part * larger_of(below, Register{} - 200.0f);
      }
      total = total > 0.0f ? total : Register{} + 1.0f;
      const Register share = g / total;
      entropy.parts[i] += g * log_of(total) - share * mean * kLn2;
      for (int k = 0; k < m; ++k) {
        const Register part = share * exp2_of((entry(from, k, i) - base) * inverse);
        slope_x[k].parts[i] += part;
        if (kTwo) slope_y[k].parts[i] += part;
      }
    }
  }

  struct Total {
    Lanes top = Lanes::filled(kMinusInfinity), sum = Lanes::filled(0.0f);

    HYPERACTION_INLINE Lanes add(const Total& other, const Logarithmic& in) {
      Lanes own;
      for (int i = 0; i < kRegisters; ++i) {
        const Register most = larger_of(top.parts[i], other.top.parts[i]);
        const Register base = larger_of(most, Register{} + kLowest);
        const Register inverse = in.heat.inverse.parts[i];
        own.parts[i] = other.sum.parts[i] * exp2_of((other.top.parts[i] - base) * inverse);
        sum.parts[i] = sum.parts[i] * exp2_of((top.parts[i] - base) * inverse) + own.parts[i];
        top.parts[i] = most;
      }
      return own;
    }
  };
  HYPERACTION_INLINE Total total(const Lanes& value) const {
    return {value, Lanes::filled(1.0f)};
  }

  HYPERACTION_INLINE Lanes slope(const Lanes& value) {
    Lanes share;
    for (int i = 0; i < kRegisters; ++i) {
      const Register base = larger_of(top.parts[i], Register{} + kLowest);
      const Register below = (value.parts[i] - base) * heat.inverse.parts[i];
      const Register all = sum_of_all.parts[i];
      const Register positive = all > 0.0f ? all : Register{} + 1.0f;
      const Register part = exp2_of(below) / positive;
      const Register bounded = larger_of(below, Register{} - 200.0f);
      entropy.parts[i] += part * (log_of(positive) - bounded * kLn2);
      share.parts[i] = part;
    }
    return share;
  }

  HYPERACTION_INLINE void weigh(Lanes* values, int choices) const {
    for (int i = 0; i < kRegisters; ++i) {
      Register most = values[0].parts[i];
      for (int k = 1; k < choices; ++k) most = larger_of(most, values[k].parts[i]);
      const Register base = larger_of(most, Register{} + kLowest);
      for (int k = 0; k < choices; ++k)
        values[k].parts[i] = exp2_of((values[k].parts[i] - base) * heat.inverse.parts[i]);
    }
  }
};

}  // namespace hyperaction
