// TokenReader computes graph.NormRead of a token in bfloat16, a token a warp, for sizes [DK, DV] known when compiling:
// normread_tokens.cu and write_normread.cu. The lanes of the warp take X_t from shared memory as the right operand of mma_bf16.
// In these registers its mean and variance are found, by shuffles alone, and it is normalised; the products follow, 16 keys at a
// time. Warps never wait for each other.
#pragma once
#include "tokens.cuh"

template <int DK, int DV>
struct TokenReader {
  static constexpr int DEEP = DK / 16, ACROSS = DV / 16, KEY_STRIDE = row_stride(DK);

  bf16* y;             // [tokens, m, DV]
  float *mean, *rstd;  // [tokens]
  int m, rms;
  float eps;
  float4* shared_gain;           // in the order of fragments
  bf16* shared_keys;             // [m, DK]
  u32 v[DEEP][ACROSS][4];        // X_t, then N(X_t): v[k][c][i] are rows 16 k + i % 2 * 8 + lane % 4 * 2 and the next of
                                 // column 16 c + i / 2 * 8 + lane / 4

  // keep_parameters stores what is the same for all tokens.
  DEVICE void keep_parameters(const float* gain, const float* keys) {
    for (int i = threadIdx.x; i < DK * DV / 4; i += blockDim.x) {
      int lane = i % 32, half = i / 32 % 2, column = i / 64 % ACROSS * 16 + half * 8 + lane / 4, row = i / 64 / ACROSS * 16 + lane % 4 * 2;
      const float* g = gain + row * DV + column;
      shared_gain[i] = make_float4(g[0], g[DV], g[8 * DV], g[9 * DV]);
    }
    for (int i = threadIdx.x; i < padded(m) * DK; i += blockDim.x) {
      store(shared_keys + i / DK * KEY_STRIDE + i % DK, i < m * DK ? keys[i] : 0.0f);
    }
    __syncthreads();
  }

  // use_shared takes the memory from p on for the gain and the keys, and returns where it ends.
  DEVICE bf16* use_shared(float4* p) {
    shared_gain = p;
    shared_keys = reinterpret_cast<bf16*>(p + DK * DV / 4);
    return shared_keys + padded(m) * KEY_STRIDE;
  }

  // read computes y of the token whose X_t is in shared memory, where y is put together, too.
  DEVICE void read(bf16* matrix, i64 token) {
    take(matrix);
    normalise(load(matrix), token);
#pragma unroll 1
    for (int key = 0; key < m; key += 16) {
      __syncwarp();
      multiply(matrix, key);
      __syncwarp();
      warp_copy_out<DV>(y + (token * m + key) * DV, matrix, m - key < 16 ? m - key : 16);
    }
  }

  DEVICE void take(const bf16* matrix) {
#pragma unroll
    for (int k = 0; k < DEEP; k++)
#pragma unroll
      for (int c = 0; c < ACROSS; c++) {
        ldmatrix4_transposed(v[k][c], matrix + 16 * k * row_stride(DV) + 16 * c + fragment_place(row_stride(DV)));
      }
  }

  // normalise makes N(X_t) of X_t and writes the statistics, as norm.cu has them: the mean is less X_t's first entry.
  DEVICE void normalise(float first, i64 token) {
    constexpr float ENTRIES = DK * DV;
    float middle = rms ? 0.0f : warp_sum(sum_of([](float d) { return d; })) / ENTRIES;
    float scale = 1.0f / sqrtf(warp_sum(sum_of([=](float d) { return (d - middle) * (d - middle); })) / ENTRIES + eps);
    if (threadIdx.x % 32 == 0) {
      if (!rms) mean[token] = middle - first;
      rstd[token] = scale;
    }
    float shift = -middle * scale;
#pragma unroll
    for (int i = 0; i < DEEP * ACROSS * 2; i++) {
      float4 gain = shared_gain[i * 32 + threadIdx.x % 32];
      u32* pair = v[i / 2 / ACROSS][i / 2 % ACROSS] + i % 2 * 2;
      pair[0] = norm_of_pair(pair[0], scale, shift, gain.x, gain.y);
      pair[1] = norm_of_pair(pair[1], scale, shift, gain.z, gain.w);
    }
  }

  static DEVICE u32 norm_of_pair(u32 pair, float scale, float shift, float gain, float next_gain) {
    float lo, hi;
    unpack_bf16(pair, lo, hi);
    return pack_bf16(fmaf(lo, scale, shift) * gain, fmaf(hi, scale, shift) * next_gain);
  }

  // sum_of adds a term of each of the lane's entries.
  template <class F>
  DEVICE float sum_of(F term) const {
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < DEEP * ACROSS * 4; i++) {
      float lo, hi;
      unpack_bf16(v[i / 4 / ACROSS][i / 4 % ACROSS][i % 4], lo, hi);
      sums[i % 2 * 2] += term(lo), sums[i % 2 * 2 + 1] += term(hi);
    }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
  }

  // multiply computes 16 rows of y_t and leaves them in shared memory, where X_t was.
  DEVICE void multiply(bf16* to, int key) {
    u32 left[DEEP][4];
#pragma unroll
    for (int k = 0; k < DEEP; k++) ldmatrix4(left[k], shared_keys + key * KEY_STRIDE + 16 * k + fragment_place(KEY_STRIDE));
#pragma unroll
    for (int c = 0; c < ACROSS; c++) {
      float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int k = 0; k < DEEP; k++) {
        mma_bf16(sums, left[k], v[k][c]);
        mma_bf16(sums + 4, left[k], v[k][c] + 2);
      }
      put_fragments(to + 16 * c, row_stride(DV), sums);
    }
  }
};
