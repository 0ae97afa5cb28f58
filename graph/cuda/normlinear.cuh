// A normalisation followed by a product with few columns, and its gradients, the normalised rows never stored (equations
// and names as in graph/kernel/normlinear.go):
//
//   z_i = n_i W,   n_i = (x_i - mean_i) rstd_i,   W = gain * w   [width, K]
//   h_i = dz_i W^T;   dx_i = (h_i - mean(h_i) - n_i mean(h_i * n_i)) rstd_i     (RMSNorm: without mean and mean(h_i))
//   V = sum over rows of n_i^T dz_i   [width, K];   dw = gain * V;   dgain = sums of the rows of w * V
//
// with mean(h_i) = dz_i . s / width, s the sums of W's columns, and mean(h_i * n_i) = dz_i . z_i / width. All products are
// of floats: what comes out are coefficients. x, dx and their addend are activations; the rest are floats.
#pragma once
#include "vector.cuh"

const int THREADS = 256;
const int ROWS = 32;           // of a tile
const int SLICE = 128;         // of the width, in a tile
const int COLUMNS = 32;        // of w that are taken at a time, at most
const int X_STRIDE = SLICE + 4;  // between the rows of a tile: no two of eight rows begin in one bank
const int D_STRIDE = COLUMNS + 4;

// Group is the columns of w that a block works on: the first, how many there are, in quads of four, and the power of two
// that those fit in.
struct Group {
  int first, count, quads, shift;
};

DEVICE Group group_of(int first, int columns) {
  int count = min(COLUMNS, columns - first), quads = (count + 3) / 4, shift = 2;
  while (1 << shift < 4 * quads) shift++;
  return Group{first, count, quads, shift};
}

// fma4 adds x * w[0..3] to sum.
DEVICE void fma4(float sum[4], float x, const float4 &w) {
  sum[0] = fmaf(x, w.x, sum[0]);
  sum[1] = fmaf(x, w.y, sum[1]);
  sum[2] = fmaf(x, w.z, sum[2]);
  sum[3] = fmaf(x, w.w, sum[3]);
}

DEVICE float4 at4(const float *shared) { return *reinterpret_cast<const float4 *>(shared); }

// weight is W at row `row` and column `column`, zero beyond its edges.
DEVICE float weight(const float *w, const float *gain, int row, int width, int column, int columns) {
  if (row >= width || column >= columns) return 0.0f;
  float v = w[static_cast<i64>(row) * columns + column];
  return gain == nullptr ? v : v * gain[row];
}
