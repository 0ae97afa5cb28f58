// What the kernels on streams of several rows share (graph.MixRead and graph.MixWrite). A token's stream is H [n, d] and
// a sublayer's side of it [m, d]; its coefficients are C [n, 2m+n], one a token or one for all, with the columns
//
//	down [0, m) | carry [m, m+n) | up [m+n, 2m+n)
//
// Where rows are carried as they are C has no columns carry; for reads it may have those of down alone.
#pragma once
#include "prelude.cuh"

// MIX_WARPS are the warps of a block; each works on one token at a time.
constexpr int MIX_WARPS = 8;

// Mix are the sizes. The kernels of a small stream want n <= N, m <= M and d a multiple of 4: what they keep in
// registers is padded with zeros to N rows and M rows.
struct Mix {
  i64 tokens;
  int n, m, d, shared, row;

  DEVICE int columns() const { return row; }
  DEVICE bool mixes() const { return row == 2 * m + n; }
  DEVICE int up() const { return row - m; }
  DEVICE int coefficients() const { return n * columns(); }
  // of is token t's C.
  DEVICE const float *of(const float *c, i64 t) const { return shared ? c : c + t * coefficients(); }
};

// load_rows loads 4 columns of the rows [first, first + N) of x [rows, d]; rows that are not there, and all where x is
// null, are zero.
template <int N, typename A>
DEVICE void load_rows(float (&to)[N][4], const A *x, int first, int rows, int d) {
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (x && first + i < rows) {
      load4(x + (i64)(first + i) * d, to[i]);
    } else {
      to[i][0] = to[i][1] = to[i][2] = to[i][3] = 0.0f;
    }
  }
}

// store_rows is the inverse of load_rows.
template <int N, typename A>
DEVICE void store_rows(A *x, const float (&from)[N][4], int first, int rows, int d) {
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (first + i < rows) store4(x + (i64)(first + i) * d, from[i]);
  }
}

// load_coefficients loads the rows x columns block at c of a matrix whose rows have stride entries, padded with zeros.
template <int N, int M>
DEVICE void load_coefficients(float (&to)[N][M], const float *__restrict__ c, int rows, int columns, int stride) {
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int j = 0; j < M; j++) to[i][j] = i < rows && j < columns ? __ldg(c + i * stride + j) : 0.0f;
  }
}

// load_carry loads a token's carry, the unit matrix where rows are carried as they are.
template <int N>
DEVICE void load_carry(float (&to)[N][N], const float *__restrict__ c, const Mix &s) {
  if (s.mixes()) {
    load_coefficients(to, c + s.m, s.n, s.n, s.columns());
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int k = 0; k < N; k++) to[i][k] = i == k ? 1.0f : 0.0f;
  }
}

template <int N, int M>
DEVICE void clear(float (&x)[N][M]) {
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int j = 0; j < M; j++) x[i][j] = 0.0f;
  }
}

// add_multiple computes y += a x.
DEVICE void add_multiple(float (&y)[4], float a, const float (&x)[4]) {
#pragma unroll
  for (int e = 0; e < 4; e++) y[e] = fmaf(a, x[e], y[e]);
}

// add_dot adds x . y to sum.
DEVICE void add_dot(float &sum, const float (&x)[4], const float (&y)[4]) {
#pragma unroll
  for (int e = 0; e < 4; e++) sum = fmaf(x[e], y[e], sum);
}

// collect sums a block of dot products over the warp's lanes into the rows x columns block at sums.
template <int N, int M>
DEVICE void collect(float *sums, const float (&dot)[N][M], int rows, int columns, int stride) {
#pragma unroll
  for (int i = 0; i < N; i++) {
#pragma unroll
    for (int j = 0; j < M; j++) {
      if (i < rows && j < columns) {
        float sum = warp_sum(dot[i][j]);
        if (threadIdx.x % 32 == 0) sums[i * stride + j] = sum;
      }
    }
  }
}

// clear_sums makes a warp's size sums zero.
DEVICE void clear_sums(float *sums, int size) {
  __syncwarp();
  for (int e = threadIdx.x % 32; e < size; e += 32) sums[e] = 0.0f;
  __syncwarp();
}

// put_sums writes a token's gradient of C, by one warp: sums, plus what C has from elsewhere unless addend is null, plus
// what dc holds where it accumulates.
DEVICE void put_sums(float *dc, const float *sums, const float *addend, int size, int accumulate) {
  __syncwarp();
  for (int e = threadIdx.x % 32; e < size; e += 32) {
    float x = sums[e];
    if (addend) x += addend[e];
    dc[e] = accumulate ? dc[e] + x : x;
  }
}

// put_block writes the sums of all warps of a block, added in their order, to the block's row of partial [blocks, size].
template <int STRIDE>
DEVICE void put_block(float *partial, const float (&sums)[MIX_WARPS][STRIDE], int size) {
  __syncthreads();
  for (int e = threadIdx.x; e < size; e += 32 * MIX_WARPS) {
    float x = 0.0f;
    for (int w = 0; w < MIX_WARPS; w++) x += sums[w][e];
    partial[(i64)blockIdx.x * size + e] = x;
  }
}
