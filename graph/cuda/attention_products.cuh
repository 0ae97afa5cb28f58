// The two matrix products that all attention kernels are made of, for a warp, in three kinds of numbers:
//
//   multiply       s [16 M, 8 N] = X [16 M, D] Y^T [D, 8 N]     X, Y in shared memory, their rows side by side
//   add_product    o [16 M, 8 N] += P [16 M, 8 K] Y [8 K, 8 N]  P what multiply made, in registers; Y in shared memory
//
// The layout of what multiply makes is also that of a left operand of add_product, up to the order of the K keys, which the
// sum does not mind: P never leaves the registers (Dao et al. 2023, FlashAttention-2, section 3.3).
#pragma once
#include "attention.cuh"

template <int M, int N>
DEVICE void clear(float (&x)[M][N][4]) {
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) x[m][n][i] = 0.0f;
}

// Bf16 multiplies bfloat16 on tensor cores.
struct Bf16 {
  typedef bf16 Number;

  template <int D, int M, int N>
  static DEVICE void multiply(float (&s)[M][N][4], const bf16 *x, const bf16 *y) {
    constexpr int stride = stride_of<bf16, D>;
    int lane = threadIdx.x % 32;
    x += lane % 16 * stride + lane / 16 * 8;                      // of A's four 8x8 quarters: rows, then columns
    y += (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8;  // of two pieces of B: columns, then rows of Y
    constexpr int together = D <= 64 ? D / 16 : 2;  // steps without a branch between them
    clear(s);
#pragma unroll together
    for (int k = 0; k < D; k += 16) {
      u32 a[M][4];
#pragma unroll
      for (int m = 0; m < M; m++) ldmatrix4(a[m], x + 16 * m * stride + k);
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        u32 b[4];
        ldmatrix4(b, y + 8 * n * stride + k);
#pragma unroll
        for (int m = 0; m < M; m++) {
          mma_bf16(s[m][n], a[m], b);
          mma_bf16(s[m][n + 1], a[m], b + 2);
        }
      }
    }
  }

  // Y's rows are those of tiles of D columns.
  template <int D, int M, int N, int K>
  static DEVICE void add_product(float (&o)[M][N][4], const float (&p)[M][K][4], const bf16 *y) {
    constexpr int stride = stride_of<bf16, D>;
    int lane = threadIdx.x % 32;
    y += lane % 16 * stride + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < K; k += 2) {
      u32 a[M][4];
#pragma unroll
      for (int m = 0; m < M; m++) {
#pragma unroll
        for (int i = 0; i < 4; i++) a[m][i] = pack_bf16(p[m][k + i / 2][i % 2 * 2], p[m][k + i / 2][i % 2 * 2 + 1]);
      }
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        u32 b[4];
        ldmatrix4_transposed(b, y + 8 * k * stride + 8 * n);
#pragma unroll
        for (int m = 0; m < M; m++) {
          mma_bf16(o[m][n], a[m], b);
          mma_bf16(o[m][n + 1], a[m], b + 2);
        }
      }
    }
  }
};

// Tf32 multiplies floats, rounded to 10 bits of mantissa, on tensor cores.
struct Tf32 {
  typedef float Number;

  // round4 rounds four registers that hold floats.
  static DEVICE void round4(u32 x[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) x[i] = to_tf32(__uint_as_float(x[i]));
  }

  // An 8x8 matrix of 16-bit numbers is, to ldmatrix4, as well one of 8x4 floats.
  template <int D, int M, int N>
  static DEVICE void multiply(float (&s)[M][N][4], const float *x, const float *y) {
    constexpr int stride = stride_of<float, D>;
    int lane = threadIdx.x % 32;
    x += lane % 16 * stride + lane / 16 * 4;
    y += (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 4;
    clear(s);
#pragma unroll 2
    for (int k = 0; k < D; k += 8) {
      u32 a[M][4];
#pragma unroll
      for (int m = 0; m < M; m++) {
        ldmatrix4(a[m], x + 16 * m * stride + k);
        round4(a[m]);
      }
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        u32 b[4];
        ldmatrix4(b, y + 8 * n * stride + k);
        round4(b);
#pragma unroll
        for (int m = 0; m < M; m++) {
          mma_tf32(s[m][n], a[m], b);
          mma_tf32(s[m][n + 1], a[m], b + 2);
        }
      }
    }
  }

  // The lane's columns 2 t and 2 t + 1 of P stand where mma_tf32 has t and t + 4, and so do Y's rows.
  template <int D, int M, int N, int K>
  static DEVICE void add_product(float (&o)[M][N][4], const float (&p)[M][K][4], const float *y) {
    constexpr int stride = stride_of<float, D>;
    int lane = threadIdx.x % 32;
    y += lane % 4 * 2 * stride + lane / 4;
#pragma unroll
    for (int k = 0; k < K; k++) {
      u32 a[M][4];
#pragma unroll
      for (int m = 0; m < M; m++) {
        a[m][0] = to_tf32(p[m][k][0]), a[m][1] = to_tf32(p[m][k][2]);
        a[m][2] = to_tf32(p[m][k][1]), a[m][3] = to_tf32(p[m][k][3]);
      }
#pragma unroll
      for (int n = 0; n < N; n++) {
        const float *row = y + 8 * k * stride + 8 * n;
        u32 b[2] = {to_tf32(row[0]), to_tf32(row[stride])};
#pragma unroll
        for (int m = 0; m < M; m++) mma_tf32(o[m][n], a[m], b);
      }
    }
  }
};

// F32 multiplies floats exactly as such, without tensor cores.
struct F32 {
  typedef float Number;

  template <int D, int M, int N>
  static DEVICE void multiply(float (&s)[M][N][4], const float *x, const float *y) {
    constexpr int stride = stride_of<float, D>;
    int lane = threadIdx.x % 32;
    x += lane / 4 * stride;
    y += lane % 4 * 2 * stride;
    clear(s);
#pragma unroll 1
    for (int k = 0; k < D; k += 4) {
      float a[M][2][4];
#pragma unroll
      for (int m = 0; m < M; m++) {
        load4(x + 16 * m * stride + k, a[m][0]);
        load4(x + (16 * m + 8) * stride + k, a[m][1]);
      }
#pragma unroll
      for (int n = 0; n < N; n++) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          float b[4];
          load4(y + (8 * n + e) * stride + k, b);
#pragma unroll
          for (int m = 0; m < M; m++) {
#pragma unroll
            for (int i = 0; i < 8; i++) s[m][n][i / 4 * 2 + e] = fmaf(a[m][i / 4][i % 4], b[i % 4], s[m][n][i / 4 * 2 + e]);
          }
        }
      }
    }
  }

  // The four lanes of a row of P hand each other its numbers.
  template <int D, int M, int N, int K>
  static DEVICE void add_product(float (&o)[M][N][4], const float (&p)[M][K][4], const float *y) {
    constexpr int stride = stride_of<float, D>;
    int lane = threadIdx.x % 32;
    y += lane % 4 * 2;
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll 1
      for (int t = 0; t < 4; t++) {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          float a[M][2];
#pragma unroll
          for (int i = 0; i < 2 * M; i++) {
            a[i / 2][i % 2] = __shfl_sync(0xffffffffu, p[i / 2][k][i % 2 * 2 + e], lane / 4 * 4 + t);
          }
          const float *row = y + (8 * k + 2 * t + e) * stride;
#pragma unroll
          for (int n = 0; n < N; n++) {
            float b[2];
            load2(row + 8 * n, b);
#pragma unroll
            for (int i = 0; i < 4 * M; i++) o[i / 4][n][i % 4] = fmaf(a[i / 4][i % 4 / 2], b[i % 2], o[i / 4][n][i % 4]);
          }
        }
      }
    }
  }
};
