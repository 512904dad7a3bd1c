// How the weights of a first convolution change, from images of bytes.
//
// XLA's own way takes three times as long: the kernel that it slides is the image of gradients, as
// large as what it slides over. Here eight weights of 32 outputs stay in registers while all places
// of an image pass by. For others than eight columns and 32 outputs, XLA's way is used.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

constexpr int kColumns = 8;
constexpr int kOutputs = 2 * kLanes;

struct Shape {
  int64_t channels, height, width;  // of an image
  int64_t rows, out_height, out_width;
  int64_t stride, top, left;  // zeros before the image
  int64_t padded() const { return (out_width - 1) * stride + kColumns; }
};

// The changes of the weights of one row of the kernel, over all places of one channel.
HYPERACTION_FAST void change_row(const Shape& s, const float* channel, const float* gradient,
                                 int64_t row, float (*change)[kOutputs]) {
  Lanes sums[kColumns][2] = {};
  const int64_t padded = s.padded();
  for (int64_t i = 0; i < s.out_height; ++i) {
    const int64_t y = i * s.stride + row - s.top;
    if (y < 0 || y >= s.height) continue;
    const float* pixels = channel + y * padded;
    const float* back = gradient + i * s.out_width * kOutputs;
    for (int64_t j = 0; j < s.out_width; ++j, back += kOutputs) {
      Lanes low, high;
      __builtin_memcpy(&low, back, sizeof(Lanes));
      __builtin_memcpy(&high, back + kLanes, sizeof(Lanes));
#pragma GCC unroll 8
      for (int k = 0; k < kColumns; ++k) {
        const float pixel = pixels[j * s.stride + k];
        sums[k][0] += pixel * low;
        sums[k][1] += pixel * high;
      }
    }
  }
  for (int k = 0; k < kColumns; ++k) __builtin_memcpy(change[k], sums[k], sizeof(sums[k]));
}

// The pixels of a channel, in rows that have room for the zeros around them.
HYPERACTION_FAST void to_floats(const Shape& s, const uint8_t* bytes, float* channel) {
  const int64_t padded = s.padded(), count = std::min(s.width, padded - s.left);
  for (int64_t y = 0; y < s.height; ++y) {
    for (int64_t x = 0; x < count; ++x) channel[y * padded + s.left + x] = bytes[y * s.width + x];
  }
}

ffi::Error convolve_back(ffi::Buffer<ffi::U8> images, ffi::Buffer<ffi::F32> gradients,
                         int64_t stride, int64_t top, int64_t left,
                         ffi::ResultBuffer<ffi::F32> changes) {
  const auto image = images.dimensions().last(3);        // [channels, height, width]
  const auto gradient = gradients.dimensions().last(3);  // [height, width, outputs]
  const auto change = changes->dimensions().last(4);     // [outputs, channels, rows, columns]
  if (change[0] != kOutputs || change[3] != kColumns) {
    return ffi::Error::InvalidArgument("the kernel has 32 outputs and eight columns");
  }
  const Shape s = {image[0], image[1], image[2], change[2], gradient[0], gradient[1], stride, top,
                   left};
  const int64_t image_size = s.channels * s.height * s.width;
  const int64_t count = images.element_count() / image_size;
  const int64_t padded = s.padded();
  std::vector<float> channel(s.height * padded);
  for (int64_t n = 0; n < count; ++n) {
    const float* back = gradients.typed_data() + n * s.out_height * s.out_width * kOutputs;
    float* result = changes->typed_data() + n * kOutputs * s.channels * s.rows * kColumns;
    for (int64_t c = 0; c < s.channels; ++c) {
      const uint8_t* bytes = images.typed_data() + n * image_size + c * s.height * s.width;
      to_floats(s, bytes, channel.data());
      for (int64_t row = 0; row < s.rows; ++row) {
        float found[kColumns][kOutputs];
        change_row(s, channel.data(), back, row, found);
        for (int o = 0; o < kOutputs; ++o) {
          for (int k = 0; k < kColumns; ++k) {
            result[((o * s.channels + c) * s.rows + row) * kColumns + k] = found[k][o];
          }
        }
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

XLA_FFI_DEFINE_HANDLER_SYMBOL(hyperaction_convolve_back, hyperaction::convolve_back,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::U8>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Attr<int64_t>("stride")
                                  .Attr<int64_t>("top")
                                  .Attr<int64_t>("left")
                                  .Ret<ffi::Buffer<ffi::F32>>());
