// Convolutions by tiles: forth, and back to what was convolved and to the weights.

#include <cstring>

#include "sliding.h"
#include "together.h"
#include "xla/ffi/api/ffi.h"

#ifdef HYPERACTION_TILES
HYPERACTION_TILES_BEGIN

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

// The results at 16 or 32 places from this one on, for 32 outputs from this one on.
template <int tiles, int parts>
inline __attribute__((always_inline)) void slide_over(const Slide& s, const Part* x,
                                                      const Part* weights, int64_t place,
                                                      int64_t output, float* results) {
  constexpr int64_t kSize = sizeof(Part);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const Part* right = weights + output * kDepth;
  for (int64_t row = 0; row < s.rows; ++row) {
    const Part* left = x + s.under(row) + place * s.step();
    for (int64_t k = 0; k < s.run(); k += kDepth, right += s.outputs * kDepth) {
      multiply<tiles, parts, kParts>(
          {left + k, s.size() * kSize, kSide * s.step() * kSize, s.step() * kSize},
          {right, s.weights() * kSize, kTile * kSize, kDepth * kSize});
    }
  }
  float* to = results + place * s.outputs + output;
  float* below = to + kSide * s.outputs;
  const int64_t to_row = s.outputs * sizeof(float);
  _tile_stored(0, to, to_row);
  _tile_stored(1, to + kSide, to_row);
  if (tiles == 2) _tile_stored(2, below, to_row);
  if (tiles == 2) _tile_stored(3, below + kSide, to_row);
}

// The results at all places: `[places, outputs]`, those that straddle rows among them.
template <int parts>
void slide(const Slide& s, const Part* x, const Part* weights, float* results) {
  const int64_t places = up_to(s.out_height * s.per_row(), kSide);
  __asm__ volatile("" ::: "memory");  // What tiles load is written by now.
  for (int64_t output = 0; output < s.outputs; output += kTwo) {
    int64_t place = 0;
    for (; place + kTwo <= places; place += kTwo) {
      slide_over<2, parts>(s, x, weights, place, output, results);
    }
    if (place < places) slide_over<1, parts>(s, x, weights, place, output, results);
  }
}

template <typename Number>
constexpr int kPartsOf = sizeof(Number) == 1 ? 1 : kParts;

template <typename Number>
void forth(const Slide& s, ffi::ThreadPool pool, int64_t count, const Number* x,
           const float* weight, float* y) {
  Aligned<Part> weights(kParts * s.weights());
  prepare_weights(s, [&](int64_t k) { return weight + k * s.outputs; }, weights.data());
  const int64_t size = s.height * s.width * s.inputs;
  const int64_t out_row = s.out_width * s.outputs;
  together(pool, count, [&](const auto& next) {
    Aligned<Part> parts(kPartsOf<Number> * s.size());
    Aligned<float> results(s.places() * s.outputs);
    const TilesInUse tiles;
    for (int64_t n; (n = next()) < count;) {
      prepare(s, x + n * size, parts.data());
      slide<kPartsOf<Number>>(s, parts.data(), weights.data(), results.data());
      float* to = y + n * s.out_height * out_row;
      for (int64_t i = 0; i < s.out_height; ++i) {
        const float* from = results.data() + i * s.per_row() * s.outputs;
        std::memcpy(to + i * out_row, from, out_row * sizeof(float));
      }
    }
  });
}

// The gradient of what was convolved: for each remainder of rows and columns by the stride, the
// gradient of the results convolved with every stride-th of the weights, the last ones first.
void back(const Slide& s, ffi::ThreadPool pool, int64_t count, const float* gradient,
          const float* weight, float* change) {
  const int64_t rows = s.rows / s.stride, columns = s.columns / s.stride;
  const int64_t i0 = s.top / s.stride, j0 = s.left / s.stride;
  const Slide b = {s.out_height, s.out_width, s.outputs,  rows,
                   columns,      (s.height - 1 + s.top) / s.stride + 1 - i0,
                   (s.width - 1 + s.left) / s.stride + 1 - j0, s.inputs, 1,
                   rows - 1 - i0, columns - 1 - j0};
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
  together(pool, count, [&](const auto& next) {
    Aligned<Part> parts(kParts * b.size());
    Aligned<float> results(b.places() * b.outputs);
    const TilesInUse tiles;
    for (int64_t n; (n = next()) < count;) {
      prepare(b, gradient + n * s.out_height * s.out_width * s.outputs, parts.data());
      float* to = change + n * s.height * s.width * s.inputs;
      for (int64_t r = 0; r < remainders; ++r) {
        slide<kParts>(b, parts.data(), weights.data() + r * kParts * b.weights(), results.data());
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

// The gradient of results as parts, with the places side by side; those that straddle rows are
// zeros already.
void turn(const Slide& s, const float* gradient, Part* parts) {
  const int64_t places = s.places();
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
          Part* column = to + (part * s.outputs + o) * places;
          for (int lane = 0; lane < kSide; ++lane) column[lane * places] = numbers[lane];
        }
      }
    }
  }
}

// Each number beside the one that the next place has where this one has it.
void pair(const Slide& s, const Part* x, uint32_t* pairs) {
  for (int64_t i = 0; i + s.step() + kSide <= s.size(); i += kSide) {
    const __m512i here = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(x + i)));
    const __m512i there =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(x + i + s.step())));
    _mm512_storeu_si512(pairs + i, _mm512_or_si512(here, _mm512_slli_epi32(there, 16)));
  }
}

// Adds to the changes of 32 outputs' weights for 32 numbers under a row of the kernel.
template <int parts>
inline __attribute__((always_inline)) void add_change(const Slide& s, const Part* gradient,
                                                      const uint32_t* x, float* change,
                                                      int64_t line) {
  constexpr int64_t kSize = sizeof(Part), kPair = sizeof(uint32_t);
  float* below = change + kSide * line;
  const int64_t to_row = line * sizeof(float);
  _tile_loadd(0, change, to_row);
  _tile_loadd(1, change + kSide, to_row);
  _tile_loadd(2, below, to_row);
  _tile_loadd(3, below + kSide, to_row);
  const int64_t places = s.places();
  for (int64_t place = 0; place < places; place += kDepth) {
    multiply<2, kParts, parts>(
        {gradient + place, s.outputs * places * kSize, kSide * places * kSize, places * kSize},
        {x + place * s.step(), s.size() * kPair, kSide * kPair, 2 * s.step() * kPair});
  }
  _tile_stored(0, change, to_row);
  _tile_stored(1, change + kSide, to_row);
  _tile_stored(2, below, to_row);
  _tile_stored(3, below + kSide, to_row);
}

// Adds one image's share to the change of the weights, `[outputs, rows, columns, inputs]`.
template <typename Number>
struct Changes {
  static constexpr int kNumbers = kPartsOf<Number>;
  const Slide& s;
  Aligned<Part> numbers = Aligned<Part>(kNumbers * s.size());
  Aligned<uint32_t> pairs = Aligned<uint32_t>(kNumbers * s.size());
  Aligned<Part> turned = Aligned<Part>(kParts * s.outputs * s.places());

  void add(const Number* x, const float* gradient, float* change) {
    prepare(s, x, numbers.data());
    for (int part = 0; part < kNumbers; ++part) {
      pair(s, numbers.data() + part * s.size(), pairs.data() + part * s.size());
    }
    turn(s, gradient, turned.data());
    __asm__ volatile("" ::: "memory");  // What tiles load is written by now.
    const int64_t line = s.rows * s.run();
    for (int64_t o = 0; o < s.outputs; o += kTwo) {
      for (int64_t row = 0; row < s.rows; ++row) {
        for (int64_t k = 0; k < s.run(); k += kTwo) {
          add_change<kNumbers>(s, turned.data() + o * s.places(),
                               pairs.data() + s.under(row) + k,
                               change + o * line + row * s.run() + k, line);
        }
      }
    }
  }
};

constexpr int64_t kGroup = 8;  // Images whose changes are added up by one thread.

template <typename Number>
void back_to_weights(const Slide& s, ffi::ThreadPool pool, int64_t count, const Number* x,
                     const float* gradient, float* change) {
  const int64_t image = s.height * s.width * s.inputs;
  const int64_t result = s.out_height * s.out_width * s.outputs;
  const int64_t size = s.outputs * s.rows * s.run();
  const int64_t groups = (count + kGroup - 1) / kGroup;
  Aligned<float> changes(groups * size);  // Added in one order, however many threads there are.
  together(pool, groups, [&](const auto& next) {
    Changes<Number> own{s};
    const TilesInUse tiles;
    for (int64_t group; (group = next()) < groups;) {
      for (int64_t n = group * kGroup; n < std::min(count, (group + 1) * kGroup); ++n) {
        own.add(x + n * image, gradient + n * result, changes.data() + group * size);
      }
    }
  });
  std::fill_n(change, size, 0.0f);
  for (int64_t group = 0; group < groups; ++group) {
    const float* own = changes.data() + group * size;
    for (int64_t i = 0; i < size; ++i) change[i] += own[i];
  }
}

// How a kernel of this shape slides over images of floats with the channels last, or of bytes with
// the channels first.
template <typename Images, typename Results>
Slide slide_of(const Images& images, int64_t rows, int64_t columns, const Results& results,
               int64_t stride, int64_t top, int64_t left) {
  const bool bytes = images.element_type() == ffi::U8;
  const auto image = images.dimensions().last(3), result = results.dimensions().last(3);
  return {image[bytes],     image[bytes + 1], image[bytes ? 0 : 2], rows,   columns, result[0],
          result[1],        result[2],        stride,               top,    left};
}

template <typename Images>
int64_t count_of(const Images& images) {
  const auto shape = images.dimensions();
  int64_t count = 1;
  for (size_t axis = 0; axis + 3 < shape.size(); ++axis) count *= shape[axis];
  return count;
}

ffi::Error convolve(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Buffer<ffi::F32> weight,
                    int64_t stride, int64_t top, int64_t left, ffi::ResultBuffer<ffi::F32> y) {
  const auto kernel = weight.dimensions();  // [rows, columns, inputs, outputs]
  const Slide s = slide_of(x, kernel[0], kernel[1], *y, stride, top, left);
  if (x.element_type() == ffi::U8) {
    forth(s, pool, count_of(x), x.typed_data<uint8_t>(), weight.typed_data(), y->typed_data());
  } else {
    forth(s, pool, count_of(x), x.typed_data<float>(), weight.typed_data(), y->typed_data());
  }
  return ffi::Error::Success();
}

ffi::Error convolve_back(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> gradient,
                         ffi::Buffer<ffi::F32> weight, int64_t stride, int64_t top, int64_t left,
                         ffi::ResultBuffer<ffi::F32> change) {
  const auto kernel = weight.dimensions();  // [rows, columns, outputs, inputs]
  const Slide s = slide_of(*change, kernel[0], kernel[1], gradient, stride, top, left);
  back(s, pool, count_of(gradient), gradient.typed_data(), weight.typed_data(),
       change->typed_data());
  return ffi::Error::Success();
}

ffi::Error convolve_weights(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Buffer<ffi::F32> gradient,
                            int64_t stride, int64_t top, int64_t left,
                            ffi::ResultBuffer<ffi::F32> change) {
  const auto kernel = change->dimensions();  // [outputs, rows, columns, inputs]
  const Slide s = slide_of(x, kernel[1], kernel[2], gradient, stride, top, left);
  if (x.element_type() == ffi::U8) {
    back_to_weights(s, pool, count_of(x), x.typed_data<uint8_t>(), gradient.typed_data(),
                    change->typed_data());
  } else {
    back_to_weights(s, pool, count_of(x), x.typed_data<float>(), gradient.typed_data(),
                    change->typed_data());
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

HYPERACTION_TILES_END

extern "C" int hyperaction_tiles_allowed() { return hyperaction::tiles_allowed(); }

#define HYPERACTION_CONVOLUTION(symbol, function, First)              \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, hyperaction::function,        \
                                ffi::Ffi::Bind()                      \
                                    .Ctx<ffi::ThreadPool>()           \
                                    .Arg<First>()                     \
                                    .Arg<ffi::Buffer<ffi::F32>>()     \
                                    .Attr<int64_t>("stride")          \
                                    .Attr<int64_t>("top")             \
                                    .Attr<int64_t>("left")            \
                                    .Ret<ffi::Buffer<ffi::F32>>())

HYPERACTION_CONVOLUTION(hyperaction_tiles_forth, convolve, ffi::AnyBuffer);
HYPERACTION_CONVOLUTION(hyperaction_tiles_back, convolve_back, ffi::Buffer<ffi::F32>);
HYPERACTION_CONVOLUTION(hyperaction_tiles_weights, convolve_weights, ffi::AnyBuffer);
#endif
