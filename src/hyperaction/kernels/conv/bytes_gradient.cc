// The gradient of the weights of a convolution of bytes.
//
// XLA's way takes longer: the weights that it moves are the image of gradients, as large as what
// they move over. Here a block of weights stays in registers while all positions of an image pass
// by. Other shapes than eight columns and 32 outputs are left to XLA.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../vector.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

constexpr int kColumns = 8;
constexpr int kOutputs = 32;
using Outputs = Group<float, kRegisterBytes, 2>;

// The columns of a block: as many sums as registers hold beside what is added to them.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kBlock = 8;
#else
constexpr int kBlock = 4;
#endif

struct Shape {
  int64_t channels, height, width;  // of an image
  int64_t rows, out_height, out_width;
  int64_t stride, top, left;  // zeros before the image
  int64_t padded() const { return (out_width - 1) * stride + kColumns; }
};

// The gradient of the weights of a block of columns in one row, for the outputs of two registers,
// over all positions of one channel.
HYPERACTION_INLINE void block_gradient(const Shape& s, const float* channel, const float* gradient,
                                       int64_t row, float* result) {
  Outputs sums[kBlock];
  for (Outputs& sum : sums) sum = Outputs::filled(0.0f);
  const int64_t padded = s.padded();
  // The rows of results whose row of the weights is inside of the image.
  for (int64_t i = 0; i < s.out_height; ++i) {
    const int64_t y = i * s.stride + row - s.top;
    if (y < 0 || y >= s.height) continue;
    const float* pixels = channel + y * padded;
    const float* own = gradient + i * s.out_width * kOutputs;
    for (int64_t j = 0; j < s.out_width; ++j, own += kOutputs, pixels += s.stride) {
      Outputs of_result;
      for (int part = 0; part < 2; ++part)
        of_result.parts[part] = load<Outputs::Register>(own + part * Outputs::kWidth);
      for (int k = 0; k < kBlock; ++k)
        for (int part = 0; part < 2; ++part)
          sums[k].parts[part] += pixels[k] * of_result.parts[part];
    }
  }
  for (int k = 0; k < kBlock; ++k)
    for (int part = 0; part < 2; ++part)
      store(sums[k].parts[part], result + k * kOutputs + part * Outputs::kWidth);
}

void row_gradient(const Shape& s, const float* channel, const float* gradient, int64_t row,
                  float (*result)[kOutputs]) {
  for (int first = 0; first < kColumns; first += kBlock) {
    for (int output = 0; output < kOutputs; output += Outputs::kSize) {
      block_gradient(s, channel + first, gradient + output, row, result[first] + output);
    }
  }
}

// The pixels of a channel, in rows that have room for the zeros around them.
void to_floats(const Shape& s, const uint8_t* bytes, float* channel) {
  const int64_t padded = s.padded(), count = std::min(s.width, padded - s.left);
  for (int64_t y = 0; y < s.height; ++y) {
    for (int64_t x = 0; x < count; ++x) channel[y * padded + s.left + x] = bytes[y * s.width + x];
  }
}

ffi::Error bytes_gradient(ffi::Buffer<ffi::U8> images, ffi::Buffer<ffi::F32> gradients,
                          int64_t stride, int64_t top, int64_t left,
                          ffi::ResultBuffer<ffi::F32> results) {
  const auto image = images.dimensions().last(3);        // [channels, height, width]
  const auto gradient = gradients.dimensions().last(3);  // [height, width, outputs]
  const auto weight = results->dimensions().last(4);     // [outputs, channels, rows, columns]
  if (weight[0] != kOutputs || weight[3] != kColumns) {
    return ffi::Error::InvalidArgument("the weights must have 32 outputs and eight columns");
  }
  const Shape s = {image[0],    image[1], image[2], weight[2], gradient[0],
                   gradient[1], stride,   top,      left};
  const int64_t image_size = s.channels * s.height * s.width;
  const int64_t count = images.element_count() / image_size;
  std::vector<float> channel(s.height * s.padded());
  for (int64_t n = 0; n < count; ++n) {
    const float* own = gradients.typed_data() + n * s.out_height * s.out_width * kOutputs;
    float* result = results->typed_data() + n * kOutputs * s.channels * s.rows * kColumns;
    for (int64_t c = 0; c < s.channels; ++c) {
      to_floats(s, images.typed_data() + n * image_size + c * s.height * s.width, channel.data());
      for (int64_t row = 0; row < s.rows; ++row) {
        float sums[kColumns][kOutputs];
        row_gradient(s, channel.data(), own, row, sums);
        for (int o = 0; o < kOutputs; ++o) {
          for (int k = 0; k < kColumns; ++k) {
            result[((o * s.channels + c) * s.rows + row) * kColumns + k] = sums[k][o];
          }
        }
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_bytes_gradient, hyperaction::bytes_gradient,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::U8>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Attr<int64_t>("stride")
                                  .Attr<int64_t>("top")
                                  .Attr<int64_t>("left")
                                  .Ret<ffi::Buffer<ffi::F32>>());
