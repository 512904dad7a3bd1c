// Images and weights in the layout that AMX needs.
//
// No patches are copied. An image is stored as parts with zeros around it, in `stride` planes of
// every stride-th row, so that the positions of a plane are equally far apart, also from the end of
// one row to the start of the next: sixteen of them are the rows of a tile. The price is that
// positions that straddle two rows are computed too, and dropped.
#pragma once

#include <algorithm>
#include <vector>

#include "amx.h"
#include "shape.h"

namespace hyperaction {

struct Layout : Shape {
  int64_t run() const {
    return columns * inputs;
  }  // consecutive numbers under a row of the weights
  int64_t per_row() const { return ((out_width - 1) * stride + columns + stride - 1) / stride; }
  int64_t step() const { return stride * inputs; }  // numbers from one position to the next
  int64_t positions() const { return up_to(out_height * per_row(), kTwo); }
  int64_t plane() const {
    return up_to((positions() + (rows - 1) / stride * per_row() + 1) * step() + run(), kSide);
  }
  int64_t size() const { return stride * plane(); }  // of a part
  // Where the numbers under a row of the weights begin at the first position.
  int64_t under(int64_t row) const {
    return row % stride * plane() + row / stride * per_row() * step();
  }
  int64_t weights() const { return rows * run() * outputs; }
};

// An image as parts: floats with the channels last in two, or bytes with the channels first in one.
// The rows around it are zeros already.
inline void prepare(const Layout& s, const float* x, Part* parts) {
  const int64_t room = s.per_row() * s.stride - s.left;
  const int64_t count = std::min(s.width, room) * s.inputs;
  for (int64_t y = 0; y < s.height; ++y) {
    const int64_t row = y + s.top;
    if (row >= (s.out_height - 1) * s.stride + s.rows) break;
    Part* to = parts + s.under(row) + s.left * s.inputs;
    const float* from = x + y * s.width * s.inputs;
    for (int64_t i = 0; i < count; i += kSide) {
      const __mmask16 some = count - i < kSide ? (1 << (count - i)) - 1 : 0xffff;
      __m512i found[kParts];
      split(_mm512_maskz_loadu_ps(some, from + i), found);
      for (int part = 0; part < kParts; ++part) {
        _mm256_mask_storeu_epi16(to + part * s.size() + i, some,
                                 _mm512_cvtepi32_epi16(found[part]));
      }
    }
  }
}

template <int channels>
inline void interleave(const uint8_t* __restrict from, int64_t channel, int64_t count,
                       uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < channels; ++c) to[i * channels + c] = from[c * channel + i];
  }
}

inline void prepare(const Layout& s, const uint8_t* x, Part* parts) {
  const int64_t count = std::min(s.width, s.per_row() * s.stride - s.left);
  std::vector<uint8_t> line(up_to(count * s.inputs, kSide));
  for (int64_t y = 0; y < s.height; ++y) {
    const int64_t row = y + s.top;
    if (row >= (s.out_height - 1) * s.stride + s.rows) break;
    const uint8_t* from = x + y * s.width;
    const int64_t channel = s.height * s.width;
    if (s.inputs == 4) {  // The compiler vectorises a constant count.
      interleave<4>(from, channel, count, line.data());
    } else {
      for (int64_t c = 0; c < s.inputs; ++c) {
        for (int64_t i = 0; i < count; ++i) line[i * s.inputs + c] = from[c * channel + i];
      }
    }
    Part* to = parts + s.under(row) + s.left * s.inputs;
    for (int64_t i = 0; i < count * s.inputs; i += kSide) {
      const int64_t rest = count * s.inputs - i;
      const __mmask16 some = rest < kSide ? (1 << rest) - 1 : 0xffff;
      const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)&line[i]));
      const __m512i part =
          _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(bytes)), 16);  // no bit is lost
      _mm256_mask_storeu_epi16(to + i, some, _mm512_cvtepi32_epi16(part));
    }
  }
}

// Weights as tiles of pairs: for each chunk of the numbers that are multiplied, all outputs.
template <typename Row>
void prepare_weights(const Layout& s, const Row& weights_of, Part* parts) {
  for (int64_t k = 0; k < s.rows * s.run(); k += 2) {
    const float *even = weights_of(k), *odd = weights_of(k + 1);
    for (int64_t o = 0; o < s.outputs; o += kSide) {
      __m512i low[kParts], high[kParts];
      split(_mm512_loadu_ps(even + o), low);
      split(_mm512_loadu_ps(odd + o), high);
      Part* to = parts + (k / kDepth * s.outputs + o) * kDepth + k % kDepth * kSide;
      for (int part = 0; part < kParts; ++part) {
        _mm512_storeu_si512(to + part * s.weights(),
                            _mm512_or_si512(low[part], _mm512_slli_epi32(high[part], 16)));
      }
    }
  }
}

}  // namespace hyperaction
