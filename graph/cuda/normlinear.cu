// The forward pass of norm_linear: see normlinear.cuh.
#include "normlinear.cuh"

// RowSums are what a warp sums of its four rows while it loads them, about a pivot: the mean of a row's first slice. The
// mean less that is at most sqrt(width / SLICE) deviations, so that the difference in the variance costs few digits.
struct RowSums {
  float pivot[4], sum[4], squares[4];
};

// load_rows loads a slice of this warp's rows to tile [ROWS, X_STRIDE], less their pivots.
template <typename A>
DEVICE void load_rows(float *tile, RowSums &s, const A *x, i64 first_row, i64 rows, int at, int width, int rms) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int column = at + 4 * lane, slice = min(SLICE, width - at);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    i64 row = first_row + 4 * warp + i;
    float v[4];
    read4(x + row * width + column, row < rows ? width - column : 0, v);
    if (at == 0 && !rms) s.pivot[i] = warp_sum((v[0] + v[1]) + (v[2] + v[3])) / slice;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (4 * lane + j < slice) v[j] -= s.pivot[i];
      s.sum[i] += v[j];
      s.squares[i] = fmaf(v[j], v[j], s.squares[i]);
    }
    store4(tile + (4 * warp + i) * X_STRIDE + 4 * lane, v);
  }
}

// load_weights loads a slice of the columns g of W to tile [SLICE, 1 << g.shift] and returns the sum of what this thread
// has loaded, all of one column.
DEVICE float load_weights(float *tile, const float *w, const float *gain, int at, int width, Group g, int columns) {
  int column = threadIdx.x & ((1 << g.shift) - 1);
  float sum = 0.0f;
  for (int k = threadIdx.x >> g.shift; k < SLICE; k += THREADS >> g.shift) {
    float v = weight(w, gain, at + k, width, g.first + column, columns);
    tile[(k << g.shift) + column] = v;
    sum += v;
  }
  return sum;
}

// row_statistics makes the deviation of this warp's rows and their mean less the pivot, and stores both and the pivot where
// `mean` is not null.
DEVICE void row_statistics(float *shift, float *scale, float *mean, float *rstd, const RowSums &s, i64 first_row, i64 rows,
                           int width, float eps, int rms) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int r = 4 * warp + i;
    float centre = rms ? 0.0f : warp_sum(s.sum[i]) / width;
    float variance = fmaxf(0.0f, warp_sum(s.squares[i]) / width - centre * centre);
    float deviation = 1.0f / sqrtf(variance + eps);
    if (lane != 0) continue;
    shift[r] = centre, scale[r] = deviation;
    i64 row = first_row + r;
    if (mean != nullptr && row < rows) mean[row] = s.pivot[i], mean[rows + row] = centre, rstd[row] = deviation;
  }
}

// multiply adds this thread's share of a slice's product: the rows tr + 8i, the columns 4 quad + j, of the slice every
// `groups`-th piece of four.
DEVICE void multiply(float sum[4][4], const float *xs, const float *ws, int row, int column, int piece, int groups, int slice,
                     int shift) {
  for (int k = 4 * piece; k < slice; k += 4 * groups) {
    float4 w0 = at4(ws + (k << shift) + column), w1 = at4(ws + ((k + 1) << shift) + column);
    float4 w2 = at4(ws + ((k + 2) << shift) + column), w3 = at4(ws + ((k + 3) << shift) + column);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float4 x = at4(xs + (row + 8 * i) * X_STRIDE + k);
      fma4(sum[i], x.x, w0);
      fma4(sum[i], x.y, w1);
      fma4(sum[i], x.z, w2);
      fma4(sum[i], x.w, w3);
    }
  }
}

// sum_columns adds what the threads have summed of each column of W, in order.
DEVICE void sum_columns(float *total, float *s, const float *each, Group g) {
  int column = threadIdx.x;
  if (column >= 1 << g.shift) return;
  float sum = 0.0f;
  for (int t = column; t < THREADS; t += 1 << g.shift) sum += each[t];
  total[column] = sum;
  if (s != nullptr && column < g.count) s[g.first + column] = sum;
}

// norm_linear makes z, and what the backward pass wants: mean and rstd of the rows, s of W's columns. A block makes ROWS
// rows of z and up to COLUMNS columns: blockIdx.x is which rows, blockIdx.y which columns. Threads that share an element of
// z take different pieces of the width; their sums are added in order.
template <typename A>
DEVICE void norm_linear(float *z, float *mean, float *rstd, float *s, const A *x, const float *gain, const float *w, i64 rows,
                        int width, int columns, float eps, int rms) {
  __shared__ float4 xs4[ROWS * X_STRIDE / 4], ws4[SLICE * COLUMNS / 4];
  __shared__ float shift[ROWS], scale[ROWS], column_sums[COLUMNS];
  float *xs = reinterpret_cast<float *>(xs4);  // [ROWS, SLICE]; at last [groups, ROWS, 4 quads]
  float *ws = reinterpret_cast<float *>(ws4);  // [SLICE, COLUMNS]
  Group g = group_of(blockIdx.y * COLUMNS, columns);
  int thread = threadIdx.x, row = thread % 8, quad = thread / 8 % g.quads, piece = thread / 8 / g.quads;
  int groups = THREADS / 8 / g.quads;
  i64 first_row = static_cast<i64>(blockIdx.x) * ROWS;
  RowSums sums{};
  float products[4][4]{}, column_sum = 0.0f;
  for (int at = 0; at < width; at += SLICE) {
    load_rows(xs, sums, x, first_row, rows, at, width, rms);
    column_sum += load_weights(ws, w, gain, at, width, g, columns);
    __syncthreads();
    if (piece < groups) multiply(products, xs, ws, row, 4 * quad, piece, groups, min(SLICE, width - at), g.shift);
    __syncthreads();
  }
  row_statistics(shift, scale, blockIdx.y == 0 ? mean : nullptr, rstd, sums, first_row, rows, width, eps, rms);
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (piece < groups) store4(xs + ((piece * ROWS + row + 8 * i) * g.quads + quad) * 4, products[i]);
  ws[thread] = column_sum;
  __syncthreads();
  sum_columns(column_sums, blockIdx.x == 0 ? s : nullptr, ws, g);
  __syncthreads();
  for (int e = thread; e < ROWS * 4 * g.quads; e += THREADS) {
    int r = e / (4 * g.quads), column = e % (4 * g.quads);
    if (first_row + r >= rows || column >= g.count) continue;
    float product = 0.0f;
    for (int p = 0; p < groups; p++) product += xs[p * ROWS * 4 * g.quads + e];
    z[(first_row + r) * columns + g.first + column] = scale[r] * (product - shift[r] * column_sums[column]);
  }
}

// z [rows, columns] = Norm(x) w from x [rows, width], gain [width] or null and w [width, columns]; it saves mean [2, rows],
// in two terms, so that one far larger than the deviation costs no digits, rstd [rows] and s [columns].
KERNEL(THREADS) norm_linear_f32(float *z, float *mean, float *rstd, float *s, const float *x, const float *gain, const float *w,
                                i64 rows, int width, int columns, float eps, int rms) {
  norm_linear(z, mean, rstd, s, x, gain, w, rows, width, columns, eps, rms);
}
KERNEL(THREADS) norm_linear_bf16(float *z, float *mean, float *rstd, float *s, const bf16 *x, const float *gain, const float *w,
                                 i64 rows, int width, int columns, float eps, int rms) {
  norm_linear(z, mean, rstd, s, x, gain, w, rows, width, columns, eps, rms);
}
