// MixRead of small streams: u_t[j] = sum over i of C_t[i, j] H_t[i], j < m, and its gradients.
#include "mix.cuh"

// A warp takes a token, 128 columns at a time; the blocks along y share the columns.
template <int M, typename A>
DEVICE void mix_read(A *u, const A *__restrict__ h, const float *__restrict__ c, const Mix &s) {
  const i64 t = (i64)blockIdx.x * MIX_WARPS + threadIdx.x / 32;
  if (t >= s.tokens) return;
  const int columns = s.columns();
  c = s.of(c, t);
  h += t * s.n * s.d;
  u += t * s.m * s.d;
#pragma unroll 1
  for (int v = 4 * (threadIdx.x % 32 + 32 * blockIdx.y); v < s.d; v += 128 * gridDim.y) {
    float sum[M][4];  // [m, 4]
    clear(sum);
#pragma unroll 4
    for (int i = 0; i < s.n; i++) {
      float x[4];
      load4(h + (i64)i * s.d + v, x);
#pragma unroll
      for (int j = 0; j < M; j++) {
        if (j < s.m) add_multiple(sum[j], __ldg(c + i * columns + j), x);
      }
    }
    store_rows(u + v, sum, 0, s.m, s.d);
  }
}

// dH_t[i] = sum over j of C_t[i, j] du_t[j] + addend_t[i], at the columns from v on; dot[i, j] += H_t[i] . du_t[j].
// Four rows are loaded before they are written: dh may be addend.
template <int N, int M, typename A>
DEVICE void mix_read_grad_columns(A *dh, const A *du, const A *h, const A *addend, const float (&down)[N][M],
                                  float (&dot)[N][M], const Mix &s) {
  float g[M][4];  // [m, 4]
  load_rows(g, du, 0, s.m, s.d);
#pragma unroll
  for (int first = 0; first < N; first += 4) {
    float x[4][4], sum[4][4];  // [4 rows, 4]
    load_rows(x, h, first, s.n, s.d);
    load_rows(sum, addend, first, s.n, s.d);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int j = 0; j < M; j++) {
        add_multiple(sum[i], down[first + i][j], g[j]);
        add_dot(dot[first + i][j], x[i], g[j]);
      }
    }
    store_rows(dh, sum, first, s.n, s.d);
  }
}

// The gradients of H and C. dc, unless it is null, is [tokens, n, 2m+n], to which addend_c and, where it accumulates, its
// content are added; of a shared C it is [blocks, n, 2m+n], the sums of each block, for the kernel totals to add.
template <int N, int M, typename A>
DEVICE void mix_read_grad(A *dh, float *dc, const A *__restrict__ du, const A *__restrict__ h, const float *__restrict__ c,
                          const A *addend, const float *addend_c, int accumulate, const Mix &s) {
  __shared__ float sums[MIX_WARPS][N * (2 * M + N)];  // [warps, n, 2m+n]
  const int warp = threadIdx.x / 32, columns = s.columns(), size = s.coefficients();
  const i64 step = (i64)gridDim.x * MIX_WARPS;
  float dot[N][M];  // [n, m]
  clear(dot);
  if (!dc) h = nullptr;
  clear_sums(sums[warp], size);
  for (i64 t = (i64)blockIdx.x * MIX_WARPS + warp; t < s.tokens; t += step) {
    const i64 stream = t * s.n * s.d, rows = t * s.m * s.d;
    float down[N][M];  // [n, m]
    load_coefficients(down, s.of(c, t), s.n, s.m, columns);
#pragma unroll 1
    for (int v = 4 * (threadIdx.x % 32); v < s.d; v += 128) {
      mix_read_grad_columns(dh + stream + v, du + rows + v, h ? h + stream + v : nullptr,
                            addend ? addend + stream + v : nullptr, down, dot, s);
    }
    if (!dc || (s.shared && t + step < s.tokens)) continue;
    collect(sums[warp], dot, s.n, s.m, columns);
    if (s.shared) break;
    put_sums(dc + t * size, sums[warp], addend_c ? addend_c + t * size : nullptr, size, accumulate);
    clear_sums(sums[warp], size);
    clear(dot);
  }
  if (dc && s.shared) put_block(dc, sums, size);
}

#define MIX_READ(name, M, A)                                                                                           \
  KERNEL(256)                                                                                                          \
  name(A *u, const A *h, const float *c, i64 tokens, int n, int m, int d, int shared, int row) {                                \
    mix_read<M>(u, h, c, Mix{tokens, n, m, d, shared, row});                                                                \
  }
#define MIX_READ_GRAD(name, N, M, A)                                                                                   \
  KERNEL(256)                                                                                                          \
  name(A *dh, float *dc, const A *du, const A *h, const float *c, const A *addend, const float *addend_c,              \
       int accumulate, i64 tokens, int n, int m, int d, int shared, int row) {                                                  \
    mix_read_grad<N, M>(dh, dc, du, h, c, addend, addend_c, accumulate, Mix{tokens, n, m, d, shared, row});                 \
  }

// Any n; m at most 1, or 4.
MIX_READ(mix_read1_f32, 1, float)
MIX_READ(mix_read1_bf16, 1, bf16)
MIX_READ(mix_read4_f32, 4, float)
MIX_READ(mix_read4_bf16, 4, bf16)

// n at most 4, or 8; m at most 2.
MIX_READ_GRAD(mix_read_grad4_f32, 4, 2, float)
MIX_READ_GRAD(mix_read_grad4_bf16, 4, 2, bf16)
MIX_READ_GRAD(mix_read_grad8_f32, 8, 2, float)
MIX_READ_GRAD(mix_read_grad8_bf16, 8, 2, bf16)
