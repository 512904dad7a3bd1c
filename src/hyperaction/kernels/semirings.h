// What soft values are computed in: floats, or floats with exponents of their own.
//
// The exponentials of a state's tables, each scaled to its middle, can be multiplied and added up
// as they are while no product leaves the range of floats. That costs no more than a maximum. Where
// a product might, every number has an exponent beside it, a whole number as a float.
//
// Both have
//   Entry      a number of sixteen states
//   entry      the exponential of a number, its base-2 logarithm given
//   times      two tables' entries together
//   sum        an entry of a message: over so many choices
//   pull       its derivative: adds to the slopes of both tables what the message's slope gives
//   Total      a sum over conditioned sub-actions
//   slope      the slope of one combination of conditioned sub-actions
//   weigh      the choices of a vertex as plain numbers, proportional to their exponentials
#pragma once

#include "lanes.h"
#include "vector_math.h"

namespace hyperaction {

using Register = Lanes::Register;

constexpr float kLog2E = 1.44269504f, kLn2 = 0.69314718f;

// What the two tables of an instruction have side by side for one entry; y may be absent.
template <typename Entry, bool kTwo>
struct Pair {
  const Entry *x, *y;
};

HYPERACTION_INLINE Register positive_or_one(Register x) {
  return x > 0.0f ? x : Register{} + 1.0f;
}

struct Linear {
  using Entry = Lanes;

  HYPERACTION_INLINE static void entry(Entry* dst, int i, Register log) {
    dst->parts[i] = exp2_of(log);
  }

  HYPERACTION_INLINE Entry times(const Entry& a, const Entry& b) const {
    Entry product;
    for (int i = 0; i < kRegisters; ++i) product.parts[i] = a.parts[i] * b.parts[i];
    return product;
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void sum(Entry* dst, Pair<Entry, kTwo> from, int choices) const {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      Register total = kTwo ? from.x[0].parts[i] * from.y[0].parts[i] : from.x[0].parts[i];
      for (int k = 1; k < m; ++k)
        total += kTwo ? from.x[k].parts[i] * from.y[k].parts[i] : from.x[k].parts[i];
      dst->parts[i] = total;
    }
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void pull(Lanes* slope, Pair<Entry, kTwo> from, Lanes* slope_x, Lanes* slope_y,
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

    // Adds another one, and gives its part of the sum.
    HYPERACTION_INLINE Lanes add(const Total& other) {
      sum = sum + other.sum;
      return other.sum;
    }
    HYPERACTION_INLINE Register log(int i) const { return log_of(sum.parts[i]); }
  };
  HYPERACTION_INLINE static Total total(const Entry& value) { return {value}; }

  HYPERACTION_INLINE Lanes slope(const Entry&) { return Lanes::filled(1.0f); }

  HYPERACTION_INLINE static void weigh(const Entry* values, int choices, Lanes* weights) {
    for (int k = 0; k < choices; ++k) weights[k] = values[k];
  }
};

struct Scaled {
  struct Entry {
    Lanes mantissa, exponent;  // Nothing is allowed where the exponent is minus infinity.
  };
  struct Total;

  // Whether products of tables are to be brought back to mantissas of 1 to 2, so that many of them
  // stay in the range of floats.
  bool normalises = true;
  const Total* all = nullptr;  // the sum over all actions; for slopes
  bool with_entropy = false;   // whether slopes add it up
  Lanes entropy = Lanes::filled(0.0f);

  HYPERACTION_INLINE static void entry(Entry* dst, int i, Register log) {
    const Register rounded = (log + kRound) - kRound;
    const auto allowed = log > kMinusInfinity;
    dst->mantissa.parts[i] = allowed ? exp2_of_fraction(log - rounded) : Register{} + 1.0f;
    dst->exponent.parts[i] = allowed ? rounded : Register{} + kMinusInfinity;
  }

  HYPERACTION_INLINE static void normalise(Entry* dst, int i, Register mantissa,
                                           Register exponent) {
    using Ints = AsInts<Register>::Type;
    const Ints own = ((Ints)mantissa >> 23) - 127;
    dst->mantissa.parts[i] = (Register)((Ints)mantissa - (own << 23));
    dst->exponent.parts[i] = exponent + __builtin_convertvector(own, Register);
  }

  template <bool kTwo>
  HYPERACTION_INLINE static Register mantissa(Pair<Entry, kTwo> from, int k, int i) {
    const Register x = from.x[k].mantissa.parts[i];
    return kTwo ? x * from.y[k].mantissa.parts[i] : x;
  }
  template <bool kTwo>
  HYPERACTION_INLINE static Register exponent(Pair<Entry, kTwo> from, int k, int i) {
    const Register x = from.x[k].exponent.parts[i];
    return kTwo ? x + from.y[k].exponent.parts[i] : x;
  }
  template <bool kTwo>
  HYPERACTION_INLINE static Register largest(Pair<Entry, kTwo> from, int m, int i) {
    Register most = exponent(from, 0, i);
    for (int k = 1; k < m; ++k) most = larger_of(most, exponent(from, k, i));
    return most;
  }

  HYPERACTION_INLINE Entry times(const Entry& a, const Entry& b) const {
    Entry product;
    sum<1, true>(&product, {&a, &b}, 1);
    return product;
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void sum(Entry* dst, Pair<Entry, kTwo> from, int choices) const {
    const int m = kChoices ? kChoices : choices;
    for (int i = 0; i < kRegisters; ++i) {
      if (kChoices == 1) {
        if (normalises) {
          normalise(dst, i, mantissa(from, 0, i), exponent(from, 0, i));
        } else {
          dst->mantissa.parts[i] = mantissa(from, 0, i);
          dst->exponent.parts[i] = exponent(from, 0, i);
        }
        continue;
      }
      // What is far below the largest counts as 2^-126 of it, which changes nothing.
      const Register most = largest(from, m, i);
      Register total = mantissa(from, 0, i) * exp2_of_whole(exponent(from, 0, i) - most);
      for (int k = 1; k < m; ++k)
        total += mantissa(from, k, i) * exp2_of_whole(exponent(from, k, i) - most);
      normalise(dst, i, total, most);
    }
  }

  // A mantissa times a power of two, and 0 where that is below 2^-120.
  HYPERACTION_INLINE static Register part(Register mantissa, Register exponent) {
    return exponent > -120.0f ? mantissa * exp2_of_whole(exponent) : Register{};
  }

  template <int kChoices, bool kTwo>
  HYPERACTION_INLINE void pull(Lanes* slope, Pair<Entry, kTwo> from, Lanes* slope_x, Lanes* slope_y,
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
      const Register most = largest(from, m, i);
      Register total = Register{}, mean = Register{};
      for (int k = 0; k < m; ++k) {
        const Register own = part(mantissa(from, k, i), exponent(from, k, i) - most);
        total += own;
        if (with_entropy) mean += own * log_of(positive_or_one(own));
      }
      total = positive_or_one(total);
      const Register share = g / total;
      if (with_entropy) entropy.parts[i] += g * log_of(total) - share * mean;
      for (int k = 0; k < m; ++k) {
        const Register own = share * part(mantissa(from, k, i), exponent(from, k, i) - most);
        slope_x[k].parts[i] += own;
        if (kTwo) slope_y[k].parts[i] += own;
      }
    }
  }

  struct Total {
    Lanes sum = Lanes::filled(0.0f), exponent = Lanes::filled(kMinusInfinity);

    HYPERACTION_INLINE Lanes add(const Total& other) {
      Lanes own;
      for (int i = 0; i < kRegisters; ++i) {
        const Register most = larger_of(exponent.parts[i], other.exponent.parts[i]);
        own.parts[i] = part(other.sum.parts[i], other.exponent.parts[i] - most);
        sum.parts[i] = part(sum.parts[i], exponent.parts[i] - most) + own.parts[i];
        exponent.parts[i] = most;
      }
      return own;
    }
    HYPERACTION_INLINE Register log(int i) const {
      return exponent.parts[i] * kLn2 + log_of(positive_or_one(sum.parts[i]));
    }
  };
  HYPERACTION_INLINE static Total total(const Entry& value) {
    return {value.mantissa, value.exponent};
  }

  HYPERACTION_INLINE Lanes slope(const Entry& value) {
    Lanes share;
    for (int i = 0; i < kRegisters; ++i) {
      const Register own =
          part(value.mantissa.parts[i], value.exponent.parts[i] - all->exponent.parts[i]);
      const Register sum = positive_or_one(all->sum.parts[i]);
      share.parts[i] = own / sum;
      if (with_entropy)
        entropy.parts[i] += share.parts[i] * (log_of(sum) - log_of(positive_or_one(own)));
    }
    return share;
  }

  HYPERACTION_INLINE static void weigh(const Entry* values, int choices, Lanes* weights) {
    for (int i = 0; i < kRegisters; ++i) {
      const Pair<Entry, false> from{values, values};
      const Register most = largest(from, choices, i);
      for (int k = 0; k < choices; ++k)
        weights[k].parts[i] = part(mantissa(from, k, i), exponent(from, k, i) - most);
    }
  }
};

}  // namespace hyperaction
