// Convolutions by AMX: the results, and the gradient of the images.
#pragma once

#include <cstring>

#include "layout.h"
#include "parallel.h"
#include "xla/ffi/api/ffi.h"

namespace hyperaction {
namespace {

// The results at 16 or 32 positions from this one on, for 32 outputs from this one on.
template <int tiles, int parts>
HYPERACTION_INLINE void convolve_positions(const Layout& s, const Part* x, const Part* weights,
                                           int64_t position, int64_t output, float* results) {
  constexpr int64_t kSize = sizeof(Part);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const Part* right = weights + output * kDepth;
  for (int64_t row = 0; row < s.rows; ++row) {
    const Part* left = x + s.under(row) + position * s.step();
    for (int64_t k = 0; k < s.run(); k += kDepth, right += s.outputs * kDepth) {
      multiply<tiles, parts, kParts>(
          {left + k, s.size() * kSize, kSide * s.step() * kSize, s.step() * kSize},
          {right, s.weights() * kSize, kTile * kSize, kDepth * kSize});
    }
  }
  float* to = results + position * s.outputs + output;
  float* below = to + kSide * s.outputs;
  const int64_t to_row = s.outputs * sizeof(float);
  _tile_stored(0, to, to_row);
  _tile_stored(1, to + kSide, to_row);
  if (tiles == 2) _tile_stored(2, below, to_row);
  if (tiles == 2) _tile_stored(3, below + kSide, to_row);
}

// The results at all positions: `[positions, outputs]`, those that straddle rows among them.
template <int parts>
void convolve_image(const Layout& s, const Part* x, const Part* weights, float* results) {
  const int64_t positions = up_to(s.out_height * s.per_row(), kSide);
  __asm__ volatile("" ::: "memory");  // Tiles are loaded from memory that is written by now.
  for (int64_t output = 0; output < s.outputs; output += kTwo) {
    int64_t position = 0;
    for (; position + kTwo <= positions; position += kTwo) {
      convolve_positions<2, parts>(s, x, weights, position, output, results);
    }
    if (position < positions)
      convolve_positions<1, parts>(s, x, weights, position, output, results);
  }
}

template <typename Number>
void forward(const Layout& s, xla::ffi::ThreadPool pool, int64_t count, const Number* x,
             const float* weight, float* y) {
  Aligned<Part> weights(kParts * s.weights());
  prepare_weights(
      s, [&](int64_t k) { return weight + k * s.outputs; }, weights.data());
  const int64_t size = s.height * s.width * s.inputs;
  const int64_t out_row = s.out_width * s.outputs;
  parallel_for(pool, count, [&](const auto& next) {
    Aligned<Part> parts(kPartsOf<Number> * s.size());
    Aligned<float> results(s.positions() * s.outputs);
    const TileRegisters tiles;
    for (int64_t n; (n = next()) < count;) {
      prepare(s, x + n * size, parts.data());
      convolve_image<kPartsOf<Number>>(s, parts.data(), weights.data(), results.data());
      float* to = y + n * s.out_height * out_row;
      for (int64_t i = 0; i < s.out_height; ++i) {
        const float* from = results.data() + i * s.per_row() * s.outputs;
        std::memcpy(to + i * out_row, from, out_row * sizeof(float));
      }
    }
  });
}

// The gradient of the images: for each remainder of rows and columns by the stride, the gradient of
// the results convolved with every stride-th of the weights, the last ones first.
void input_gradient(const Layout& s, xla::ffi::ThreadPool pool, int64_t count,
                           const float* gradient, const float* weight, float* result) {
  const int64_t rows = s.rows / s.stride, columns = s.columns / s.stride;
  const int64_t i0 = s.top / s.stride, j0 = s.left / s.stride;
  const Layout b = {s.out_height,
                    s.out_width,
                    s.outputs,
                    rows,
                    columns,
                    (s.height - 1 + s.top) / s.stride + 1 - i0,
                    (s.width - 1 + s.left) / s.stride + 1 - j0,
                    s.inputs,
                    1,
                    rows - 1 - i0,
                    columns - 1 - j0};
  const int64_t remainders = s.stride * s.stride;
  Aligned<Part> weights(remainders * kParts * b.weights());
  for (int64_t r = 0; r < remainders; ++r) {
    const auto weights_of = [&](int64_t k) {
      const int64_t row = (rows - 1 - k / b.run()) * s.stride + r / s.stride;
      const int64_t column = (columns - 1 - k % b.run() / b.inputs) * s.stride + r % s.stride;
      return weight + ((row * s.columns + column) * s.outputs + k % b.inputs) * s.inputs;
    };
    prepare_weights(b, weights_of, weights.data() + r * kParts * b.weights());
  }
  parallel_for(pool, count, [&](const auto& next) {
    Aligned<Part> parts(kParts * b.size());
    Aligned<float> results(b.positions() * b.outputs);
    const TileRegisters tiles;
    for (int64_t n; (n = next()) < count;) {
      prepare(b, gradient + n * s.out_height * s.out_width * s.outputs, parts.data());
      float* to = result + n * s.height * s.width * s.inputs;
      for (int64_t r = 0; r < remainders; ++r) {
        convolve_image<kParts>(b, parts.data(), weights.data() + r * kParts * b.weights(),
                               results.data());
        for (int64_t i = 0; i < b.out_height; ++i) {
          const int64_t y = (i + i0) * s.stride + r / s.stride - s.top;
          if (y < 0 || y >= s.height) continue;
          for (int64_t j = 0; j < b.out_width; ++j) {
            const int64_t x = (j + j0) * s.stride + r % s.stride - s.left;
            if (x < 0 || x >= s.width) continue;
            std::memcpy(to + (y * s.width + x) * s.inputs,
                        results.data() + (i * b.per_row() + j) * s.inputs,
                        s.inputs * sizeof(float));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace hyperaction
