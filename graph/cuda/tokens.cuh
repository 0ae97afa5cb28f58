// Tokens of a matrix stream in bfloat16 whose sizes [DK, DV] are known when compiling, both multiples of 16: what
// normread_tokens.cu, normread_tokens_grad.cu and write_tokens.cu share. Matrices are on their way to shared memory two tokens ahead of the
// products (cp.async), and are taken from there as fragments of mma_bf16, in which all else is computed.
#pragma once
#include "tile.cuh"

// STAGES are the tokens that a warp has in shared memory: one is computed, the others are on their way.
constexpr int STAGES = 2;

// row_stride is how far rows of so many bfloat16 lie apart in shared memory: eight rows side by side, 16 bytes of each, lie in
// different banks.
DEVICE constexpr int row_stride(int columns) { return columns + 8; }

// Pieces are the 16 bytes that each lane of a warp has of 32 / ACROSS dense rows of COLUMNS, which all together fill.
template <int COLUMNS>
struct Pieces {
  static constexpr int ACROSS = COLUMNS / 8, ROWS = 32 / ACROSS;
  static_assert(32 % ACROSS == 0, "whole rows");
  // row is the lane's; shared and global are where its piece is among padded and among dense rows.
  static DEVICE int row() { return static_cast<int>(threadIdx.x % 32 / ACROSS); }
  static DEVICE int shared() { return row() * row_stride(COLUMNS) + static_cast<int>(threadIdx.x % ACROSS) * 8; }
  static DEVICE int global() { return static_cast<int>(threadIdx.x % 32) * 8; }
};

// warp_copy_begin begins to copy ROWS dense rows of COLUMNS to shared memory, by a warp.
template <int ROWS, int COLUMNS>
DEVICE void warp_copy_begin(bf16* to, const bf16* from) {
  typedef Pieces<COLUMNS> P;
  to += P::shared(), from += P::global();
#pragma unroll
  for (int row = 0; row < ROWS; row += P::ROWS) copy_async16(to + row * row_stride(COLUMNS), from + row * COLUMNS);
}

// warp_copy_rows_begin is warp_copy_begin of the first of 16 rows.
template <int COLUMNS>
DEVICE void warp_copy_rows_begin(bf16* to, const bf16* from, int rows) {
  typedef Pieces<COLUMNS> P;
  to += P::shared(), from += P::global();
#pragma unroll
  for (int row = 0; row < 16; row += P::ROWS) {
    if (row + P::row() < rows) copy_async16(to + row * row_stride(COLUMNS), from + row * COLUMNS);
  }
}

// warp_copy_out copies the first of 16 rows of COLUMNS from shared memory to dense ones, by a warp.
template <int COLUMNS>
DEVICE void warp_copy_out(bf16* to, const bf16* from, int rows) {
  typedef Pieces<COLUMNS> P;
  to += P::global(), from += P::shared();
#pragma unroll
  for (int row = 0; row < 16; row += P::ROWS) {
    if (row + P::row() < rows) *reinterpret_cast<uint4*>(to + row * COLUMNS) = *reinterpret_cast<const uint4*>(from + row * row_stride(COLUMNS));
  }
}

// fragment_place is where a lane's row begins among the 16 x 16 entries that ldmatrix4 loads.
DEVICE int fragment_place(int stride) { return static_cast<int>(threadIdx.x % 16) * stride + static_cast<int>(threadIdx.x % 32 / 16) * 8; }

// A lane has of 16 x 16 results or entries four pairs of neighbours: pair i is in row fragment_row(i), from column fragment_column(i) on.
DEVICE int fragment_row(int i) { return i % 2 * 8 + static_cast<int>(threadIdx.x % 32 / 4); }
DEVICE int fragment_column(int i) { return i / 2 * 8 + static_cast<int>(threadIdx.x % 4 * 2); }

// put_fragments rounds results to 16 x 16 entries.
DEVICE void put_fragments(bf16* to, int stride, const float sums[8]) {
#pragma unroll
  for (int i = 0; i < 4; i++) store2(to + fragment_row(i) * stride + fragment_column(i), sums + 2 * i);
}
