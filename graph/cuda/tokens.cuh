// Tokens of a matrix stream in bfloat16 whose sizes [DK, DV] are known when compiling, both multiples of 16: what
// normread_tokens.cu and normread_tokens_grad.cu share. Matrices are on their way to shared memory two tokens ahead of the
// products (cp.async), and are taken from there as fragments of mma_bf16, in which all else is computed.
#pragma once
#include "tile.cuh"

// STAGES are the tokens that a warp has in shared memory: one is computed, the others are on their way.
constexpr int STAGES = 2;

// row_stride is how far rows of so many bfloat16 lie apart in shared memory: eight rows side by side, 16 bytes of each, lie in
// different banks.
DEVICE constexpr int row_stride(int columns) { return columns + 8; }

// warp_copy_begin begins to copy ROWS dense rows of COLUMNS to shared memory, by a warp.
template <int ROWS, int COLUMNS>
DEVICE void warp_copy_begin(bf16* to, const bf16* from) {
  constexpr int ACROSS = COLUMNS / 8, PIECES = ROWS * ACROSS;
#pragma unroll
  for (int i = 0; i < (PIECES + 31) / 32; i++) {
    int piece = i * 32 + static_cast<int>(threadIdx.x % 32);
    if (PIECES % 32 == 0 || piece < PIECES) {
      copy_async16(to + piece / ACROSS * row_stride(COLUMNS) + piece % ACROSS * 8, from + piece * 8);
    }
  }
}

// warp_copy_out copies the first of 16 rows of COLUMNS from shared memory to dense ones, by a warp.
template <int COLUMNS>
DEVICE void warp_copy_out(bf16* to, const bf16* from, int rows) {
  constexpr int ACROSS = COLUMNS / 8;
#pragma unroll
  for (int i = 0; i < ACROSS / 2; i++) {
    int piece = i * 32 + static_cast<int>(threadIdx.x % 32);
    if (piece < rows * ACROSS) {
      *reinterpret_cast<uint4*>(to + piece * 8) =
          *reinterpret_cast<const uint4*>(from + piece / ACROSS * row_stride(COLUMNS) + piece % ACROSS * 8);
    }
  }
}

// fragment_place is where a lane's row begins among the 16 x 16 entries that ldmatrix4 loads.
DEVICE int fragment_place(int stride) { return static_cast<int>(threadIdx.x % 16) * stride + static_cast<int>(threadIdx.x % 32 / 16) * 8; }
