// TokenWriter computes graph.Write of a token in bfloat16, X'_t = X_t + keys^T y_t, for sizes [DK, DV] known when compiling and at
// most 16 keys: a token a warp, the keys in its registers (write_tokens.cu, write_normread.cu).
#pragma once
#include "tokens.cuh"

template <int DK, int DV>
struct TokenWriter {
  static constexpr int DEEP = DK / 16, ACROSS = DV / 16;
  typedef TokenRing<DK, DV, 16> Ring;

  Ring ring;
  bf16* out;
  u32 keys[DEEP][4];  // keys^T

  DEVICE void keep_keys(const float* of_global) {
#pragma unroll
    for (int i = 0; i < DEEP * 4; i++) {
      int row = i / 4 * 16 + fragment_row(i % 4), key = fragment_column(i % 4);
      keys[i / 4][i % 4] = key_pair(of_global, ring.m, DK, key, row, key + 1, row);
    }
  }

  // write makes X'_t of the ring's token, in shared memory and in out.
  DEVICE void write(bf16* matrix) const {
    add(matrix, matrix + Ring::MATRIX);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < DEEP; k++) warp_copy_out<DV>(out + (ring.token * DK + 16 * k) * DV, matrix + 16 * k * Ring::STRIDE, 16);
  }

  // add makes X'_t of X_t in shared memory.
  DEVICE void add(bf16* matrix, const bf16* y) const {
    u32 right[ACROSS][4];
#pragma unroll
    for (int c = 0; c < ACROSS; c++) ldmatrix4_transposed(right[c], y + 16 * c + fragment_place(Ring::STRIDE));
#pragma unroll
    for (int k = 0; k < DEEP; k++, matrix += 16 * Ring::STRIDE) {
      u32 old[ACROSS][4] = {};
#pragma unroll
      for (int c = 0; c < ACROSS && ring.x != nullptr; c++) ldmatrix4(old[c], matrix + 16 * c + fragment_place(Ring::STRIDE));
      __syncwarp();
#pragma unroll
      for (int c = 0; c < ACROSS; c++) {
        float sums[8];
#pragma unroll
        for (int i = 0; i < 4; i++) unpack_bf16(old[c][i], sums[2 * i], sums[2 * i + 1]);
        mma_bf16(sums, keys[k], right[c]);
        mma_bf16(sums + 4, keys[k], right[c] + 2);
        put_fragments(matrix + 16 * c, Ring::STRIDE, sums);
      }
    }
  }
};
