// Tokens of a matrix stream in bfloat16 whose sizes [DK, DV] are known when compiling, both multiples of 16: what
// normread_tokens.cu, normread_tokens_grad.cu, write_tokens.cu and write_normread.cu share. Matrices are on their way to shared memory two tokens ahead of the
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

constexpr int TOKEN_WARPS = 4;  // of most blocks in which each warp has a token

// TokenRing is a warp's tokens in shared memory, each a matrix X_t [DK, DV], or its gradient, and ROWS rows of DV, of which the
// first m are y_t and the others zero. A warp has every step-th token.
template <int DK, int DV, int ROWS>
struct TokenRing {
  static constexpr int STRIDE = row_stride(DV), MATRIX = DK * STRIDE, SLOT = MATRIX + ROWS * STRIDE;

  const bf16 *x, *y;  // [tokens, DK, DV], null: none; [tokens, m, DV]
  i64 tokens;
  int m;
  i64 token, step;
  bf16* slots;
  int slot;

  // start takes the shared memory from p on, and begins to fetch the first tokens.
  DEVICE void start(bf16* p) {
    slots = p + threadIdx.x / 32 * STAGES * SLOT, slot = 0;
    i64 warps = blockDim.x / 32;
    token = blockIdx.x * warps + threadIdx.x / 32, step = gridDim.x * warps;
    for (int s = 0; s < STAGES; s++) {
      for (int i = m * STRIDE / 8 + static_cast<int>(threadIdx.x % 32); i < ROWS * STRIDE / 8; i += 32) {
        reinterpret_cast<uint4*>(slots + s * SLOT + MATRIX)[i] = make_uint4(0, 0, 0, 0);
      }
      begin(token + s * step, s);
    }
  }

  DEVICE void begin(i64 of, int to) {
    if (of < tokens) {
      if (x != nullptr) warp_copy_begin<DK, DV>(slots + to * SLOT, x + of * (DK * DV));
      if (ROWS > 0) warp_copy_rows_begin<DV>(slots + to * SLOT + MATRIX, y + of * m * DV, m);
    }
    copy_async_commit();
  }

  DEVICE bool more() const { return token < tokens; }

  // take waits for the token.
  DEVICE bf16* take() const {
    copy_async_wait<STAGES - 1>();
    __syncwarp();
    return slots + slot * SLOT;
  }

  // next goes on to the next token and begins to fetch another one where the last one was.
  DEVICE void next() {
    __syncwarp();
    begin(token + STAGES * step, slot);
    token += step, slot = (slot + 1) % STAGES;
  }
};

// key_pair is two neighbours of a fragment of keys [m, dk]: keys there are none of are zero.
DEVICE u32 key_pair(const float* keys, int m, int dk, int key, int column, int next_key, int next_column) {
  return pack_bf16(key < m ? keys[key * dk + column] : 0.0f, next_key < m ? keys[next_key * dk + next_column] : 0.0f);
}
