// The shape of a convolution, and memory that starts at a cache line.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace hyperaction {

struct Shape {
  int64_t height, width, inputs;  // of an image
  int64_t rows, columns;          // of the weights
  int64_t out_height, out_width, outputs;
  int64_t stride, top, left;  // zeros before the first row and column
};

inline int64_t up_to(int64_t x, int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// Zeros that start at a cache line, for registers are loaded and stored in whole lines.
template <typename Number>
class Aligned {
 public:
  explicit Aligned(int64_t count)
      : numbers_(
            static_cast<Number*>(std::aligned_alloc(64, up_to(count * sizeof(Number) + 1, 64)))) {
    if (!numbers_) throw std::bad_alloc();
    std::memset(numbers_.get(), 0, count * sizeof(Number));
  }
  Number* data() const { return numbers_.get(); }

 private:
  struct Free {
    void operator()(Number* numbers) const { std::free(numbers); }
  };
  std::unique_ptr<Number[], Free> numbers_;
};

}  // namespace hyperaction
