// One pass over the memory for an optimiser's step, where XLA makes three.

#include <cmath>
#include <cstdint>

#include "vector.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace hyperaction {
namespace {

using Numbers = ffi::Buffer<ffi::F32>;
using Results = ffi::ResultBuffer<ffi::F32>;

// Adam with the constant outside of the root, and RMSProp with centred squares and it inside.
void adam(int64_t n, const float* x, const float* g, const float* m, const float* s, float rate,
          float mean_decay, float square_decay, float epsilon, float* x_out, float* m_out,
          float* s_out) {
  HYPERACTION_INDEPENDENT  // Results may overwrite the arguments, each its own.
      for (int64_t i = 0; i < n; ++i) {
    const float mean = (1 - mean_decay) * g[i] + mean_decay * m[i];
    const float square = (1 - square_decay) * (g[i] * g[i]) + square_decay * s[i];
    m_out[i] = mean;
    s_out[i] = square;
    x_out[i] = x[i] - rate * mean / (std::sqrt(square) + epsilon);
  }
}

void rmsprop(int64_t n, const float* x, const float* g, const float* m, const float* s, float rate,
             float mean_decay, float square_decay, float epsilon, float* x_out, float* m_out,
             float* s_out) {
  HYPERACTION_INDEPENDENT  // Results may overwrite the arguments, each its own.
      for (int64_t i = 0; i < n; ++i) {
    const float mean = (1 - mean_decay) * g[i] + mean_decay * m[i];
    const float square = (1 - square_decay) * (g[i] * g[i]) + square_decay * s[i];
    m_out[i] = mean;
    s_out[i] = square;
    const float variance = square - mean * mean;  // rounding may leave a little less than nothing
    x_out[i] = x[i] - rate * (g[i] / std::sqrt((variance > 0 ? variance : 0) + epsilon));
  }
}

template <decltype(&adam) step>
ffi::Error optimise(Numbers x, Numbers gradient, Numbers mean, Numbers square, Numbers rate,
                    float mean_decay, float square_decay, float epsilon, Results x_out,
                    Results mean_out, Results square_out) {
  step(x.element_count(), x.typed_data(), gradient.typed_data(), mean.typed_data(),
       square.typed_data(), rate.typed_data()[0], mean_decay, square_decay, epsilon,
       x_out->typed_data(), mean_out->typed_data(), square_out->typed_data());
  return ffi::Error::Success();
}

}  // namespace
}  // namespace hyperaction

#define HYPERACTION_OPTIMISER(symbol, step)                                       \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, hyperaction::optimise<hyperaction::step>, \
                                ffi::Ffi::Bind()                                  \
                                    .Arg<hyperaction::Numbers>()                  \
                                    .Arg<hyperaction::Numbers>()                  \
                                    .Arg<hyperaction::Numbers>()                  \
                                    .Arg<hyperaction::Numbers>()                  \
                                    .Arg<hyperaction::Numbers>()                  \
                                    .Attr<float>("mean_decay")                    \
                                    .Attr<float>("square_decay")                  \
                                    .Attr<float>("epsilon")                       \
                                    .Ret<hyperaction::Numbers>()                  \
                                    .Ret<hyperaction::Numbers>()                  \
                                    .Ret<hyperaction::Numbers>())

HYPERACTION_OPTIMISER(hyperaction_adam, adam);
HYPERACTION_OPTIMISER(hyperaction_rmsprop, rmsprop);
