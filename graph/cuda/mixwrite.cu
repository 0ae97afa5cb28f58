// MixWrite of small streams, H'_t[k] = sum over i of carry_t[i, k] H_t[i] + sum over j of up_t[k, j] y_t[j], and its
// gradients.
#include "mixwrite.cuh"

// A warp takes a token, 128 columns at a time; the blocks along y share the columns. out may be h: a thread has read its
// columns of all rows before it writes them.
template <int N, int M, typename A>
DEVICE void mix_write(A *out, const A *h, const A *__restrict__ y, const float *__restrict__ c, const Mix &s) {
  const i64 t = (i64)blockIdx.x * MIX_WARPS + threadIdx.x / 32;
  if (t >= s.tokens) return;
  float carry[N][N], up[N][M];  // [n, n], [n, m]
  c = s.of(c, t);
  load_carry(carry, c, s);
  load_coefficients(up, c + s.up(), s.n, s.m, s.columns());
#pragma unroll 1
  for (int v = 4 * (threadIdx.x % 32 + 32 * blockIdx.y); v < s.d; v += 128 * gridDim.y) {
    float x[N][4], z[M][4];  // [n, 4], [m, 4]
    load_rows(x, h + t * s.n * s.d + v, 0, s.n, s.d);
    load_rows(z, y + t * s.m * s.d + v, 0, s.m, s.d);
#pragma unroll
    for (int k = 0; k < N; k++) {
      float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < N; i++) add_multiple(sum, carry[i][k], x[i]);
#pragma unroll
      for (int j = 0; j < M; j++) add_multiple(sum, up[k][j], z[j]);
      if (k < s.n) store4(out + (t * s.n + k) * s.d + v, sum);
    }
  }
}

// The gradients of H, y and C in one pass over dout. dy may be null; for dc see mix_read_grad.
template <int N, int M, typename A>
DEVICE void mix_write_grad(A *dh, A *dy, float *dc, const A *dout, const A *__restrict__ h, const A *__restrict__ y,
                           const float *__restrict__ c, const A *addend, const float *addend_c, int accumulate_y,
                           int accumulate_c, const Mix &s) {
  __shared__ float sums[MIX_WARPS][N * (2 * M + N)];  // [warps, n, 2m+n]
  const int warp = threadIdx.x / 32, columns = s.columns(), size = s.coefficients();
  const i64 step = (i64)gridDim.x * MIX_WARPS;
  float *sum = sums[warp];
  float dot_carry[N][N], dot_up[N][M];  // [n, n], [n, m]
  clear(dot_carry);
  clear(dot_up);
  clear_sums(sum, size);
  for (i64 t = (i64)blockIdx.x * MIX_WARPS + warp; t < s.tokens; t += step) {
    const i64 stream = t * s.n * s.d, rows = t * s.m * s.d;
    float carry[N][N], up[N][M];  // [n, n], [n, m]
    load_coefficients(carry, s.of(c, t) + s.m, s.n, s.n, columns);
    load_coefficients(up, s.of(c, t) + s.m + s.n, s.n, s.m, columns);
#pragma unroll 1
    for (int v = 4 * (threadIdx.x % 32); v < s.d; v += 128) {
      float g[N][4];  // [n, 4]
      load_rows(g, dout + stream + v, 0, s.n, s.d);
      mix_write_grad_up(dy ? dy + rows + v : nullptr, dc ? y + rows + v : nullptr, g, up, dot_up, accumulate_y, s);
      mix_write_grad_carry(dh + stream + v, dc ? h + stream + v : nullptr, addend ? addend + stream + v : nullptr, g, carry,
                           dot_carry, s);
    }
    if (!dc || (s.shared && t + step < s.tokens)) continue;
    collect(sum + s.m, dot_carry, s.n, s.n, columns);
    collect(sum + s.m + s.n, dot_up, s.n, s.m, columns);
    if (s.shared) break;
    put_sums(dc + t * size, sum, addend_c ? addend_c + t * size : nullptr, size, accumulate_c);
    clear_sums(sum, size);
    clear(dot_carry);
    clear(dot_up);
  }
  if (dc && s.shared) put_block(dc, sums, size);
}

#define MIX_WRITE(name, N, M, A)                                                                                       \
  KERNEL(256)                                                                                                          \
  name(A *out, const A *h, const A *y, const float *c, i64 tokens, int n, int m, int d, int shared, int row) {                  \
    mix_write<N, M>(out, h, y, c, Mix{tokens, n, m, d, shared, row});                                                       \
  }
#define MIX_WRITE_GRAD(name, N, M, A)                                                                                  \
  KERNEL(256)                                                                                                          \
  name(A *dh, A *dy, float *dc, const A *dout, const A *h, const A *y, const float *c, const A *addend,                \
       const float *addend_c, int accumulate_y, int accumulate_c, i64 tokens, int n, int m, int d, int shared, int row) {       \
    mix_write_grad<N, M>(dh, dy, dc, dout, h, y, c, addend, addend_c, accumulate_y, accumulate_c,                      \
                         Mix{tokens, n, m, d, shared, row});                                                                \
  }

// n at most 4, or 8; m at most 2.
MIX_WRITE(mix_write4_f32, 4, 2, float)
MIX_WRITE(mix_write4_bf16, 4, 2, bf16)
MIX_WRITE(mix_write8_f32, 8, 2, float)
MIX_WRITE(mix_write8_bf16, 8, 2, bf16)
MIX_WRITE_GRAD(mix_write_grad4_f32, 4, 2, float)
MIX_WRITE_GRAD(mix_write_grad4_bf16, 4, 2, bf16)
MIX_WRITE_GRAD(mix_write_grad8_f32, 8, 2, float)
MIX_WRITE_GRAD(mix_write_grad8_bf16, 8, 2, bf16)
