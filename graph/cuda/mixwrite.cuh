// What the gradients of MixWrite and MixNext share.
#pragma once
#include "mix.cuh"

// dy_t[j] = sum over k of up_t[k, j] dout_t[k], at 4 columns, g of dout; added to what dy holds where it accumulates.
// dot[k, j] += dout_t[k] . y_t[j].
template <int N, int M, typename A>
DEVICE void mix_write_grad_up(A *dy, const A *y, const float (&g)[N][4], const float (&up)[N][M], float (&dot)[N][M],
                              int accumulate, const Mix &s) {
  float z[M][4], sum[M][4];  // [m, 4]
  load_rows(z, y, 0, s.m, s.d);
  load_rows(sum, accumulate ? dy : nullptr, 0, s.m, s.d);
#pragma unroll
  for (int j = 0; j < M; j++) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      add_multiple(sum[j], up[k][j], g[k]);
      add_dot(dot[k][j], g[k], z[j]);
    }
  }
  if (dy) store_rows(dy, sum, 0, s.m, s.d);
}

// dH_t[i] = sum over k of carry_t[i, k] dout_t[k] + addend_t[i], at 4 columns; dot[i, k] += H_t[i] . dout_t[k]. dh may be
// addend, or what g was loaded from.
template <int N, typename A>
DEVICE void mix_write_grad_carry(A *dh, const A *h, const A *addend, const float (&g)[N][4], const float (&carry)[N][N],
                                 float (&dot)[N][N], const Mix &s) {
#pragma unroll
  for (int first = 0; first < N; first += 4) {
    float x[4][4], sum[4][4];  // [4 rows, 4]
    load_rows(x, h, first, s.n, s.d);
    load_rows(sum, addend, first, s.n, s.d);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        add_multiple(sum[i], carry[first + i][k], g[k]);
        add_dot(dot[first + i][k], x[i], g[k]);
      }
    }
    store_rows(dh, sum, first, s.n, s.d);
  }
}
