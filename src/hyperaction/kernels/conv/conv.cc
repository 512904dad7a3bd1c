// Convolutions as JAX calls them: by AMX where this is compiled for it, else by vector registers.

#if defined(__AMX_BF16__)
#include "amx_images.h"
#include "amx_weights.h"
#else
#include "direct.h"
#endif
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

// The layout of images of floats with the channels last, or of bytes with the channels first.
template <typename Images, typename Results>
Layout layout_of(const Images& images, int64_t rows, int64_t columns, const Results& results,
                 int64_t stride, int64_t top, int64_t left) {
  const bool bytes = images.element_type() == ffi::U8;
  const auto image = images.dimensions().last(3), result = results.dimensions().last(3);
  return {{image[bytes], image[bytes + 1], image[bytes ? 0 : 2], rows, columns, result[0], result[1],
           result[2], stride, top, left}};
}

template <typename Images>
int64_t count_of(const Images& images) {
  const auto shape = images.dimensions();
  int64_t count = 1;
  for (size_t axis = 0; axis + 3 < shape.size(); ++axis) count *= shape[axis];
  return count;
}

ffi::Error convolve_forward(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Buffer<ffi::F32> weight,
                            int64_t stride, int64_t top, int64_t left,
                            ffi::ResultBuffer<ffi::F32> y) {
  const auto shape = weight.dimensions();  // [rows, columns, inputs, outputs]
  const Layout s = layout_of(x, shape[0], shape[1], *y, stride, top, left);
  if (x.element_type() == ffi::U8) {
    forward(s, pool, count_of(x), x.typed_data<uint8_t>(), weight.typed_data(), y->typed_data());
  } else {
    forward(s, pool, count_of(x), x.typed_data<float>(), weight.typed_data(), y->typed_data());
  }
  return ffi::Error::Success();
}

ffi::Error convolve_input_gradient(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> gradient,
                                   ffi::Buffer<ffi::F32> weight, int64_t stride, int64_t top,
                                   int64_t left, ffi::ResultBuffer<ffi::F32> result) {
  const auto shape = weight.dimensions();  // [rows, columns, outputs, inputs]
  const Layout s = layout_of(*result, shape[0], shape[1], gradient, stride, top, left);
  input_gradient(s, pool, count_of(gradient), gradient.typed_data(), weight.typed_data(),
                 result->typed_data());
  return ffi::Error::Success();
}

ffi::Error convolve_weight_gradient(ffi::ThreadPool pool, ffi::AnyBuffer x,
                                    ffi::Buffer<ffi::F32> gradient, int64_t stride, int64_t top,
                                    int64_t left, ffi::ResultBuffer<ffi::F32> result) {
  const auto shape = result->dimensions();  // [outputs, rows, columns, inputs]
  const Layout s = layout_of(x, shape[1], shape[2], gradient, stride, top, left);
  if (x.element_type() == ffi::U8) {
    weight_gradient(s, pool, count_of(x), x.typed_data<uint8_t>(), gradient.typed_data(),
                    result->typed_data());
  } else {
    weight_gradient(s, pool, count_of(x), x.typed_data<float>(), gradient.typed_data(),
                    result->typed_data());
  }
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

#define HYPERACTION_CONVOLUTION(symbol, function, First)          \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, hyperaction::function,    \
                                ffi::Ffi::Bind()                  \
                                    .Ctx<ffi::ThreadPool>()       \
                                    .Arg<First>()                 \
                                    .Arg<ffi::Buffer<ffi::F32>>() \
                                    .Attr<int64_t>("stride")      \
                                    .Attr<int64_t>("top")         \
                                    .Attr<int64_t>("left")        \
                                    .Ret<ffi::Buffer<ffi::F32>>())

HYPERACTION_CONVOLUTION(hyperaction_forward, convolve_forward, ffi::AnyBuffer);
HYPERACTION_CONVOLUTION(hyperaction_input_gradient, convolve_input_gradient, ffi::Buffer<ffi::F32>);
HYPERACTION_CONVOLUTION(hyperaction_weight_gradient, convolve_weight_gradient, ffi::AnyBuffer);
