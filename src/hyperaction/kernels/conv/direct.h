// Convolutions in vector registers, in single precision.
#pragma once

#include <algorithm>

#include "parallel.h"
#include "product.h"

namespace hyperaction {

struct Layout : Shape {};

// Images with zeros around them: of floats with the channels last, or of bytes with the channels
// first, as floats.
template <typename Number>
class Padded {
 public:
  Padded(int64_t height, int64_t width, int64_t channels, int64_t top, int64_t left,
         int64_t min_height, int64_t min_width)
      : height_(height),
        width_(width),
        channels_(channels),
        top_(top),
        left_(left),
        rows_(std::max(top + height, min_height)),
        columns_(std::max(left + width, min_width)),
        numbers_(as_it_is() ? 0 : rows_ * columns_ * channels_) {}

  int32_t offset(int64_t row, int64_t column, int64_t channel) const {
    const int64_t place = row * columns_ + column;
    return kChannelsFirst ? channel * rows_ * columns_ + place : place * channels_ + channel;
  }

  // The numbers of an image, valid until the next call.
  const float* operator()(const Number* image) {
    if constexpr (!kChannelsFirst) {
      if (as_it_is()) return image;
    }
    const int64_t planes = kChannelsFirst ? channels_ : 1;
    const int64_t length = width_ * channels_ / planes;
    for (int64_t plane = 0; plane < planes; ++plane) {
      for (int64_t row = 0; row < height_; ++row) {
        float* to = numbers_.data() + offset(top_ + row, left_, plane);
        const Number* from = image + (plane * height_ + row) * length;
        std::copy_n(from, length, to);
      }
    }
    return numbers_.data();
  }

 private:
  static constexpr bool kChannelsFirst = sizeof(Number) == 1;
  bool as_it_is() const { return !kChannelsFirst && rows_ == height_ && columns_ == width_; }

  const int64_t height_, width_, channels_, top_, left_, rows_, columns_;
  Aligned<float> numbers_;
};

template <typename Number>
Padded<Number> padded_image(const Shape& s) {
  return {s.height,
          s.width,
          s.inputs,
          s.top,
          s.left,
          (s.out_height - 1) * s.stride + s.rows,
          (s.out_width - 1) * s.stride + s.columns};
}

template <typename Number>
Offsets windows_of(const Shape& s, const Padded<Number>& image) {
  Offsets windows;
  for (int64_t i = 0; i < s.out_height; ++i)
    for (int64_t j = 0; j < s.out_width; ++j)
      windows.push_back(image.offset(i * s.stride, j * s.stride, 0));
  return windows;
}

// In the order of weights `[rows, columns, inputs]`.
template <typename Number>
Offsets taps_of(const Shape& s, const Padded<Number>& image) {
  Offsets taps;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t column = 0; column < s.columns; ++column)
      for (int64_t input = 0; input < s.inputs; ++input)
        taps.push_back(image.offset(row, column, input));
  return taps;
}

// Where the rows of a matrix begin.
inline Offsets row_starts(int64_t rows, int64_t columns) {
  Offsets starts(rows);
  for (int64_t row = 0; row < rows; ++row) starts[row] = row * columns;
  return starts;
}

// From weights `[rows, columns, inputs, outputs]`.
template <typename Number>
void forward(const Shape& s, xla::ffi::ThreadPool pool, int64_t count, const Number* x,
             const float* weight, float* y) {
  Panels panels(s.rows * s.columns * s.inputs, s.outputs);
  panels.pack([&](int64_t tap) { return weight + tap * s.outputs; });
  const int64_t results = s.out_height * s.out_width;
  const Offsets places = row_starts(results, s.outputs);
  parallel_for(pool, count, [&](const auto& next) {
    auto image = padded_image<Number>(s);
    const Offsets windows = windows_of(s, image), taps = taps_of(s, image);
    for (int64_t n; (n = next()) < count;) {
      float* own = y + n * results * s.outputs;
      std::fill_n(own, results * s.outputs, 0.0f);
      add_product(image(x + n * s.height * s.width * s.inputs), windows, taps, panels, own, places);
    }
  });
}

// The pixels of an image that are every stride-th from one on see the same weights, and are a
// convolution of the gradient of the results with stride one.
struct Phase {
  Offsets pixels, windows, taps;
  Panels panels;
};

// From weights `[rows, columns, outputs, inputs]`.
inline Phase phase_of(const Shape& s, const Padded<float>& gradient, const float* weight,
                      int64_t first_row, int64_t first_column) {
  Offsets pixels, windows, taps;
  std::vector<const float*> weights;
  const int64_t above = (s.rows - 1) / s.stride, before = (s.columns - 1) / s.stride;
  for (int64_t i = 0; i < s.height; ++i) {
    for (int64_t j = 0; j < s.width; ++j) {
      const int64_t row = i + s.top, column = j + s.left;
      if (row % s.stride != first_row || column % s.stride != first_column) continue;
      pixels.push_back((i * s.width + j) * s.inputs);
      windows.push_back(gradient.offset(above + row / s.stride, before + column / s.stride, 0));
    }
  }
  for (int64_t row = first_row; row < s.rows; row += s.stride) {
    for (int64_t column = first_column; column < s.columns; column += s.stride) {
      for (int64_t output = 0; output < s.outputs; ++output) {
        taps.push_back(gradient.offset(-(row / s.stride), -(column / s.stride), output));
        weights.push_back(weight + ((row * s.columns + column) * s.outputs + output) * s.inputs);
      }
    }
  }
  Phase phase{pixels, windows, taps, Panels(taps.size(), s.inputs)};
  phase.panels.pack([&](int64_t tap) { return weights[tap]; });
  return phase;
}

inline void input_gradient(const Shape& s, xla::ffi::ThreadPool pool, int64_t count,
                           const float* gradient, const float* weight, float* result) {
  const auto padded_gradient = [&] {
    const int64_t above = (s.rows - 1) / s.stride, before = (s.columns - 1) / s.stride;
    return Padded<float>(s.out_height, s.out_width, s.outputs, above, before,
                         above + (s.height + s.top - 1) / s.stride + 1,
                         before + (s.width + s.left - 1) / s.stride + 1);
  };
  std::vector<Phase> phases;
  for (int64_t row = 0; row < s.stride; ++row)
    for (int64_t column = 0; column < s.stride; ++column)
      phases.push_back(phase_of(s, padded_gradient(), weight, row, column));
  parallel_for(pool, count, [&](const auto& next) {
    auto padded = padded_gradient();
    for (int64_t n; (n = next()) < count;) {
      const float* from = padded(gradient + n * s.out_height * s.out_width * s.outputs);
      float* own = result + n * s.height * s.width * s.inputs;
      std::fill_n(own, s.height * s.width * s.inputs, 0.0f);
      for (const Phase& phase : phases)
        add_product(from, phase.windows, phase.taps, phase.panels, own, phase.pixels);
    }
  });
}

// In strips of a cache line, for columns are far apart.
inline void transpose(const float* from, int64_t rows, int64_t columns, float* to) {
  constexpr int64_t kStrip = 16;
  for (int64_t first = 0; first < rows; first += kStrip) {
    const int64_t last = std::min(rows, first + kStrip);
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = first; row < last; ++row)
        to[column * rows + row] = from[row * columns + column];
  }
}

constexpr int64_t kGroup = 8;  // Images whose gradients are added up by one thread.

// To weights `[outputs, rows, columns, inputs]`.
template <typename Number>
void weight_gradient(const Shape& s, xla::ffi::ThreadPool pool, int64_t count, const Number* x,
                     const float* gradient, float* total) {
  const int64_t weights = s.rows * s.columns * s.inputs, results = s.out_height * s.out_width;
  const int64_t groups = (count + kGroup - 1) / kGroup, size = weights * s.outputs;
  const Offsets places = row_starts(weights, s.outputs);
  Aligned<float> sums(std::max<int64_t>(1, groups) * size);  // Added in one order, however many threads there are.
  parallel_for(pool, groups, [&](const auto& next) {
    auto image = padded_image<Number>(s);
    const Offsets windows = windows_of(s, image), taps = taps_of(s, image);
    Panels panels(results, s.outputs);
    for (int64_t group; (group = next()) < groups;) {
      for (int64_t n = group * kGroup; n < std::min(count, (group + 1) * kGroup); ++n) {
        panels.pack([&](int64_t p) { return gradient + (n * results + p) * s.outputs; });
        add_product(image(x + n * s.height * s.width * s.inputs), taps, windows, panels,
                    sums.data() + group * size, places);
      }
    }
  });
  float* sum = sums.data();
  for (int64_t group = 1; group < groups; ++group)
    for (int64_t i = 0; i < size; ++i) sum[i] += sum[group * size + i];
  transpose(sum, weights, s.outputs, total);
}

}  // namespace hyperaction
