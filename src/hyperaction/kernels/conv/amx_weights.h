// Convolutions by AMX: the gradient of the weights.
#pragma once

#include "layout.h"
#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace hyperaction {
namespace {

// The gradient of results as parts, with the positions consecutive; those that straddle rows are
// zeros already.
void transpose_gradient(const Layout& s, const float* gradient, Part* parts) {
  const int64_t positions = s.positions();
  for (int64_t i = 0; i < s.out_height; ++i) {
    for (int64_t j = 0; j < s.out_width; ++j) {
      const float* from = gradient + (i * s.out_width + j) * s.outputs;
      Part* to = parts + i * s.per_row() + j;
      for (int64_t o = 0; o < s.outputs; o += kSide) {
        __m512i found[kParts];
        split(_mm512_loadu_ps(from + o), found);
        for (int part = 0; part < kParts; ++part) {
          alignas(64) uint32_t numbers[kSide];
          _mm512_store_si512(numbers, found[part]);
          Part* column = to + (part * s.outputs + o) * positions;
          for (int lane = 0; lane < kSide; ++lane) column[lane * positions] = numbers[lane];
        }
      }
    }
  }
}

// Each number paired with the one at the same offset from the next position.
void pair(const Layout& s, const Part* x, uint32_t* pairs) {
  for (int64_t i = 0; i + s.step() + kSide <= s.size(); i += kSide) {
    const __m512i here = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(x + i)));
    const __m512i there =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(x + i + s.step())));
    _mm512_storeu_si512(pairs + i, _mm512_or_si512(here, _mm512_slli_epi32(there, 16)));
  }
}

// Adds to the sums of 32 outputs' weights for 32 numbers under a row of the kernel.
template <int parts>
HYPERACTION_INLINE void add_gradient(const Layout& s, const Part* gradient, const uint32_t* x,
                                     float* total, int64_t line) {
  constexpr int64_t kSize = sizeof(Part), kPair = sizeof(uint32_t);
  float* below = total + kSide * line;
  const int64_t to_row = line * sizeof(float);
  _tile_loadd(0, total, to_row);
  _tile_loadd(1, total + kSide, to_row);
  _tile_loadd(2, below, to_row);
  _tile_loadd(3, below + kSide, to_row);
  const int64_t positions = s.positions();
  for (int64_t position = 0; position < positions; position += kDepth) {
    multiply<2, kParts, parts>(
        {gradient + position, s.outputs * positions * kSize, kSide * positions * kSize,
         positions * kSize},
        {x + position * s.step(), s.size() * kPair, kSide * kPair, 2 * s.step() * kPair});
  }
  _tile_stored(0, total, to_row);
  _tile_stored(1, total + kSide, to_row);
  _tile_stored(2, below, to_row);
  _tile_stored(3, below + kSide, to_row);
}

// Adds one image's share to the gradient of the weights, `[outputs, rows, columns, inputs]`.
template <typename Number>
struct WeightGradient {
  static constexpr int kNumbers = kPartsOf<Number>;
  const Layout& s;
  Aligned<Part> numbers = Aligned<Part>(kNumbers * s.size());
  Aligned<uint32_t> pairs = Aligned<uint32_t>(kNumbers * s.size());
  Aligned<Part> transposed = Aligned<Part>(kParts * s.outputs * s.positions());

  void add(const Number* x, const float* gradient, float* total) {
    prepare(s, x, numbers.data());
    for (int part = 0; part < kNumbers; ++part) {
      pair(s, numbers.data() + part * s.size(), pairs.data() + part * s.size());
    }
    transpose_gradient(s, gradient, transposed.data());
    __asm__ volatile("" ::: "memory");  // Tiles are loaded from memory that is written by now.
    const int64_t line = s.rows * s.run();
    for (int64_t o = 0; o < s.outputs; o += kTwo) {
      for (int64_t row = 0; row < s.rows; ++row) {
        for (int64_t k = 0; k < s.run(); k += kTwo) {
          add_gradient<kNumbers>(s, transposed.data() + o * s.positions(),
                                 pairs.data() + s.under(row) + k,
                                 total + o * line + row * s.run() + k, line);
        }
      }
    }
  }
};

constexpr int64_t kGroup = 8;  // Images whose gradients are added up by one thread.

template <typename Number>
void weight_gradient(const Layout& s, xla::ffi::ThreadPool pool, int64_t count, const Number* x,
                     const float* gradient, float* total) {
  const int64_t image = s.height * s.width * s.inputs;
  const int64_t result = s.out_height * s.out_width * s.outputs;
  const int64_t size = s.outputs * s.rows * s.run();
  const int64_t groups = (count + kGroup - 1) / kGroup;
  Aligned<float> sums(groups * size);  // Added in one order, however many threads there are.
  parallel_for(pool, groups, [&](const auto& next) {
    WeightGradient<Number> own{s};
    const TileRegisters tiles;
    for (int64_t group; (group = next()) < groups;) {
      for (int64_t n = group * kGroup; n < std::min(count, (group + 1) * kGroup); ++n) {
        own.add(x + n * image, gradient + n * result, sums.data() + group * size);
      }
    }
  });
  std::fill_n(total, size, 0.0f);
  for (int64_t group = 0; group < groups; ++group) {
    const float* own = sums.data() + group * size;
    for (int64_t i = 0; i < size; ++i) total[i] += own[i];
  }
}

}  // namespace
}  // namespace hyperaction
