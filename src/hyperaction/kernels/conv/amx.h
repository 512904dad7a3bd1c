// Matrix products of 16 x 16 results by Intel AMX, nearly as exact as float32.
//
// A tile register takes numbers with 8 bits of mantissa (bfloat16) and adds their products in
// float32. A float32 is nearly the sum of two such parts: 16 of its 24 bits, and the sign of the
// second is worth another. Of the four products of two numbers' parts, the smallest is left out.
// With three parts and six products, results are as exact as float32, and as slow as without AMX.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "../vector.h"

namespace hyperaction {

using Part = uint16_t;  // a bfloat16
constexpr int kParts = 2;
template <typename Number>
constexpr int kPartsOf = sizeof(Number) == 1 ? 1 : kParts;  // Bytes are bfloat16 without loss.
constexpr int kSide = 16;          // rows of a tile, and floats in a row of it
constexpr int kDepth = 2 * kSide;  // parts in a row of it
constexpr int kTile = kSide * kDepth;
constexpr int kTwo = 2 * kSide;  // rows of two tiles

// The tile registers of this thread are ready for use as long as this lives.
class TileRegisters {
 public:
  TileRegisters() {
    struct {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } shapes;
    for (int tile = 0; tile < 8; ++tile) shapes.row_bytes[tile] = 64, shapes.rows[tile] = kSide;
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes));  // GCC's intrinsic takes it for eight bytes.
  }
  ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
};

// Sixteen floats as parts, each in the lower half of 32 bits.
inline void split(__m512 x, __m512i parts[kParts]) {
  for (int part = 0; part < kParts; ++part) {
    parts[part] = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));
    x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(parts[part], 16)));
  }
}

// Where the tiles of one side of a product are.
struct Side {
  const void* first;                 // of part 0
  int64_t to_part, to_tile, to_row;  // bytes from one to the next
  const void* at(int part, int tile) const {
    return static_cast<const char*>(first) + part * to_part + tile * to_tile;
  }
};

// Adds the products of one or two tiles on the left with two on the right to the results, which
// are tiles 0 to 3. The left has rows of parts; the right has rows of pairs of parts.
template <int left_tiles, int left_parts, int right_parts>
HYPERACTION_INLINE void multiply(const Side& left, const Side& right) {
  for (int a = 0; a < left_parts; ++a) {
    _tile_loadd(4, left.at(a, 0), left.to_row);
    if (left_tiles == 2) _tile_loadd(5, left.at(a, 1), left.to_row);
    for (int b = 0; b < right_parts && a + b < kParts; ++b) {
      _tile_loadd(6, right.at(b, 0), right.to_row);
      _tile_loadd(7, right.at(b, 1), right.to_row);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if (left_tiles == 2) _tile_dpbf16ps(2, 5, 6);
      if (left_tiles == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
}

}  // namespace hyperaction
