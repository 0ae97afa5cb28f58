// Walking over arrays four elements a thread.
#pragma once
#include "prelude.cuh"

// aligned4 tells whether load4 and store4 may be used at p.
template <typename A>
DEVICE bool aligned4(const A* p) {
  return (reinterpret_cast<u64>(p) & (4 * sizeof(A) - 1)) == 0;
}

// read4 reads four elements, of which only the first count exist; the others read as zero.
template <typename A>
DEVICE void read4(const A* p, i64 count, float x[4]) {
  if (count >= 4 && aligned4(p)) {
    load4(p, x);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) x[k] = k < count ? load(p + k) : 0.0f;
}

// write4 writes the first count of four elements.
template <typename A>
DEVICE void write4(A* p, i64 count, const float x[4]) {
  if (count >= 4 && aligned4(p)) {
    store4(p, x);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (k < count) store(p + k, x[k]);
}

// first_of_four is the first of this thread's four elements, in blocks of 256 threads.
DEVICE i64 first_of_four() { return 4 * (static_cast<i64>(blockIdx.x) * 256 + threadIdx.x); }

// Quad is where this thread is in a matrix whose rows are cut into pieces of four columns.
struct Quad {
  i64 row;
  int column;  // the first of the four
  int count;   // of them within the row; 0 or less: nothing to do
};

// quad_of places the thread in a matrix [rows, width], in blocks of 256 threads.
DEVICE Quad quad_of(int rows, int width) {
  u32 pieces = (static_cast<u32>(width) + 3) / 4;
  u32 index = blockIdx.x * 256u + threadIdx.x;
  u32 row = index / pieces;
  int column = static_cast<int>(4 * (index - row * pieces));
  return Quad{static_cast<i64>(row), column, row < static_cast<u32>(rows) ? width - column : 0};
}
