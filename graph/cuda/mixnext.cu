// MixNext of small streams and one row of a sublayer: what MixWrite computes, and u_t = sum over i of down_t[i] H'_t[i] of its
// result, in one pass; and the gradients.
#include "mixwrite.cuh"

// A warp takes a token, 128 columns at a time; the blocks along y share the columns. out may be h.
template <int N, typename A>
DEVICE void mix_next(A *out, A *u, const A *h, const A *__restrict__ y, const float *__restrict__ c, const Mix &s) {
  const i64 t = (i64)blockIdx.x * MIX_WARPS + threadIdx.x / 32;
  if (t >= s.tokens) return;
  float carry[N][N], up[N][1], down[N][1];
  c = s.of(c, t);
  load_carry(carry, c, s);
  load_coefficients(up, c + s.up(), s.n, 1, s.columns());
  load_coefficients(down, c, s.n, 1, s.columns());
#pragma unroll 1
  for (int v = 4 * (threadIdx.x % 32 + 32 * blockIdx.y); v < s.d; v += 128 * gridDim.y) {
    float x[N][4], z[1][4], read[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    load_rows(x, h + t * s.n * s.d + v, 0, s.n, s.d);
    load_rows(z, y + t * s.d + v, 0, 1, s.d);
#pragma unroll
    for (int k = 0; k < N; k++) {
      float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < N; i++) add_multiple(sum, carry[i][k], x[i]);
      add_multiple(sum, up[k][0], z[0]);
      add_multiple(read, down[k][0], sum);
      if (k < s.n) store4(out + (t * s.n + k) * s.d + v, sum);
    }
    store4(u + t * s.d + v, read);
  }
}

// The gradients of H, y and C from dout and du, with the stream that was made, next. dy may be null; for dc see mix_read_grad.
template <int N, typename A>
DEVICE void mix_next_grad(A *dh, A *dy, float *dc, const A *dout, const A *__restrict__ du, const A *__restrict__ next,
                          const A *__restrict__ h, const A *__restrict__ y, const float *__restrict__ c, const A *addend,
                          const float *addend_c, int accumulate_y, int accumulate_c, const Mix &s) {
  __shared__ float sums[MIX_WARPS][N * (2 + N)];  // [warps, n, 2+n]
  const int warp = threadIdx.x / 32, columns = s.columns(), size = s.coefficients();
  const i64 step = (i64)gridDim.x * MIX_WARPS;
  float *sum = sums[warp];
  float dot_carry[N][N], dot_up[N][1], dot_down[N][1];
  clear(dot_carry);
  clear(dot_up);
  clear(dot_down);
  clear_sums(sum, size);
  for (i64 t = (i64)blockIdx.x * MIX_WARPS + warp; t < s.tokens; t += step) {
    const i64 stream = t * s.n * s.d, rows = t * s.d;
    float carry[N][N], up[N][1], down[N][1];
    load_carry(carry, s.of(c, t), s);
    load_coefficients(up, s.of(c, t) + s.up(), s.n, 1, columns);
    load_coefficients(down, s.of(c, t), s.n, 1, columns);
#pragma unroll 1
    for (int v = 4 * (threadIdx.x % 32); v < s.d; v += 128) {
      float g[N][4], read[1][4];
      load_rows(g, dout + stream + v, 0, s.n, s.d);
      load_rows(read, du + rows + v, 0, 1, s.d);
#pragma unroll
      for (int i = 0; i < N; i++) {
        add_multiple(g[i], down[i][0], read[0]);
        if (dc && i < s.n) {
          float made[1][4];
          load_rows(made, next + stream + v, i, s.n, s.d);
          add_dot(dot_down[i][0], made[0], read[0]);
        }
      }
      mix_write_grad_up(dy ? dy + rows + v : nullptr, dc ? y + rows + v : nullptr, g, up, dot_up, accumulate_y, s);
      mix_write_grad_carry(dh + stream + v, dc ? h + stream + v : nullptr, addend ? addend + stream + v : nullptr, g, carry,
                           dot_carry, s);
    }
    if (!dc || (s.shared && t + step < s.tokens)) continue;
    collect(sum, dot_down, s.n, 1, columns);
    if (s.mixes()) collect(sum + 1, dot_carry, s.n, s.n, columns);
    collect(sum + s.up(), dot_up, s.n, 1, columns);
    if (s.shared) break;
    put_sums(dc + t * size, sum, addend_c ? addend_c + t * size : nullptr, size, accumulate_c);
    clear_sums(sum, size);
    clear(dot_carry);
    clear(dot_up);
    clear(dot_down);
  }
  if (dc && s.shared) put_block(dc, sums, size);
}

#define MIX_NEXT(name, N, A)                                                                                           \
  KERNEL(256)                                                                                                          \
  name(A *out, A *u, const A *h, const A *y, const float *c, i64 tokens, int n, int m, int d, int shared, int row) {   \
    mix_next<N>(out, u, h, y, c, Mix{tokens, n, m, d, shared, row});                                                   \
  }
#define MIX_NEXT_GRAD(name, N, A)                                                                                      \
  KERNEL(256)                                                                                                          \
  name(A *dh, A *dy, float *dc, const A *dout, const A *du, const A *next, const A *h, const A *y, const float *c,     \
       const A *addend, const float *addend_c, int accumulate_y, int accumulate_c, i64 tokens, int n, int m, int d,    \
       int shared, int row) {                                                                                          \
    mix_next_grad<N>(dh, dy, dc, dout, du, next, h, y, c, addend, addend_c, accumulate_y, accumulate_c,                \
                     Mix{tokens, n, m, d, shared, row});                                                               \
  }

// n at most 4; m is 1.
MIX_NEXT(mix_next4_f32, 4, float)
MIX_NEXT(mix_next4_bf16, 4, bf16)
MIX_NEXT_GRAD(mix_next_grad4_f32, 4, float)
MIX_NEXT_GRAD(mix_next_grad4_bf16, 4, bf16)
