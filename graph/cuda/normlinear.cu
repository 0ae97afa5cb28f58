// A normalisation followed by a product with few columns, and its gradients, the normalised rows never stored (equations
// and names as in graph/kernel/normlinear.go):
//
//   z_i = n_i W,   n_i = (x_i - mean_i) rstd_i,   W = gain * w   [width, K]
//   h_i = dz_i W^T;   dx_i = (h_i - mean(h_i) - n_i mean(h_i * n_i)) rstd_i     (RMSNorm: without mean and mean(h_i))
//   V = sum over rows of n_i^T dz_i   [width, K];   dw = gain * V;   dgain = sums of the rows of w * V
//
// with mean(h_i) = dz_i . s / width, s the sums of W's columns, and mean(h_i * n_i) = dz_i . z_i / width. All products are
// of floats: what comes out are coefficients. x, dx and their addend are activations; the rest are floats.
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

// ---- forward ----

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

// ---- backward: dx ----

const int ROW_TILES = 4;  // that a block makes dx of, one after the other

// load_transposed loads the columns g of a slice of W, transposed, to tile [COLUMNS, X_STRIDE].
DEVICE void load_transposed(float *tile, const float *w, const float *gain, int at, int width, Group g, int columns) {
  int column = threadIdx.x & ((1 << g.shift) - 1);
  for (int k = threadIdx.x >> g.shift; k < SLICE; k += THREADS >> g.shift)
    tile[column * X_STRIDE + k] = weight(w, gain, at + k, width, g.first + column, columns);
}

// load_gradients loads the columns g of a tile of dz to tile [ROWS, D_STRIDE], zero beyond its edges.
DEVICE void load_gradients(float *tile, const float *dz, i64 first_row, i64 end, Group g, int columns) {
  int row = threadIdx.x / 8;
  for (int k = threadIdx.x % 8; k < 4 * g.quads; k += 8) {
    bool inside = first_row + row < end && k < g.count;
    tile[row * D_STRIDE + k] = inside ? dz[(first_row + row) * columns + g.first + k] : 0.0f;
  }
}

// multiply_transposed adds to h [the rows row + 8i, the columns column + j] the product of dz and the transposed W.
DEVICE void multiply_transposed(float h[4][4], const float *ds, const float *ws, int row, int column, int count) {
  for (int k = 0; k < count; k += 4) {
    float4 w0 = at4(ws + k * X_STRIDE + column), w1 = at4(ws + (k + 1) * X_STRIDE + column);
    float4 w2 = at4(ws + (k + 2) * X_STRIDE + column), w3 = at4(ws + (k + 3) * X_STRIDE + column);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float4 d = at4(ds + (row + 8 * i) * D_STRIDE + k);
      fma4(h[i], d.x, w0);
      fma4(h[i], d.y, w1);
      fma4(h[i], d.z, w2);
      fma4(h[i], d.w, w3);
    }
  }
}

// Saved is what a backward pass has of its forward pass: z [rows, columns], mean [2, rows], rstd [rows], s [columns].
struct Saved {
  const float *z, *mean, *rstd, *s;
};

// RowFactors are what dx takes of a tile's rows: the two terms of mean, rstd, mean(h) and mean(h * n).
struct RowFactors {
  float pivot[ROWS], shift[ROWS], rstd[ROWS], mean_h[ROWS], mean_hn[ROWS];
};

// set_factors is called by all threads, eight a row, which share its dz . s and dz . z.
DEVICE void set_factors(RowFactors &f, const float *dz, const Saved &saved, i64 first_row, i64 rows, int width, int columns,
                        int rms) {
  int r = threadIdx.x / 8, lane = threadIdx.x % 8;
  i64 row = first_row + r;
  float s = 0.0f, z = 0.0f;
  for (int k = lane; row < rows && k < columns; k += 8) {
    float d = dz[row * columns + k];
    s = fmaf(d, saved.s[k], s);
    z = fmaf(d, saved.z[row * columns + k], z);
  }
#pragma unroll
  for (int step = 4; step > 0; step >>= 1) {
    s += __shfl_xor_sync(0xffffffffu, s, step);
    z += __shfl_xor_sync(0xffffffffu, z, step);
  }
  if (lane != 0 || row >= rows) return;
  f.pivot[r] = rms ? 0.0f : saved.mean[row], f.shift[r] = rms ? 0.0f : saved.mean[rows + row], f.rstd[r] = saved.rstd[row];
  f.mean_h[r] = rms ? 0.0f : s / width, f.mean_hn[r] = z / width;
}

// store_grad_x makes four elements of dx in row r of a tile from their h; count of them are within the row.
template <typename A>
DEVICE void store_grad_x(A *dx, const A *addend, const A *x, i64 at, const RowFactors &f, int r, int count, const float h[4]) {
  float v[4], more[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  read4(x + at, count, v);
  if (addend != nullptr) read4(addend + at, count, more);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    float n = (v[j] - f.pivot[r] - f.shift[r]) * f.rstd[r];
    v[j] = fmaf(f.rstd[r], h[j] - f.mean_h[r] - n * f.mean_hn[r], more[j]);
  }
  write4(dx + at, count, v);
}

// norm_linear_grad_x makes dx + addend. A block takes ROW_TILES tiles of ROWS rows, at blockIdx.x, and SLICE columns, at
// blockIdx.y; a thread four columns of four rows that are eight apart. W stays in shared memory where K <= COLUMNS.
template <typename A>
DEVICE void norm_linear_grad_x(A *dx, const A *addend, const float *dz, const A *x, const float *gain, const float *w,
                               const Saved &saved, i64 rows, int width, int columns, int rms) {
  __shared__ float4 ws4[COLUMNS * X_STRIDE / 4], ds4[ROWS * D_STRIDE / 4];
  __shared__ RowFactors factors;
  float *ws = reinterpret_cast<float *>(ws4);  // [COLUMNS, SLICE]
  float *ds = reinterpret_cast<float *>(ds4);  // [ROWS, COLUMNS]
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row = warp / 4 * 4 + lane / 8, column = warp % 4 * 32 + lane % 8 * 4, at = blockIdx.y * SLICE;
  for (int tile = 0; tile < ROW_TILES; tile++) {
    i64 first_row = (static_cast<i64>(blockIdx.x) * ROW_TILES + tile) * ROWS;
    if (first_row >= rows) return;
    float h[4][4]{};
    for (int first = 0; first < columns; first += COLUMNS) {
      Group g = group_of(first, columns);
      if (tile == 0 || columns > COLUMNS) load_transposed(ws, w, gain, at, width, g, columns);
      load_gradients(ds, dz, first_row, rows, g, columns);
      __syncthreads();
      multiply_transposed(h, ds, ws, row, column, 4 * g.quads);
      __syncthreads();
    }
    set_factors(factors, dz, saved, first_row, rows, width, columns, rms);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int r = row + 8 * i;
      if (first_row + r < rows)
        store_grad_x(dx, addend, x, (first_row + r) * width + at + column, factors, r, width - at - column, h[i]);
    }
  }
}

// dx [rows, width] = the gradient of x, plus the addend where it is not null, from dz and z [rows, columns] and what
// norm_linear has saved. dx may be the addend.
KERNEL(THREADS) norm_linear_grad_x_f32(float *dx, const float *addend, const float *dz, const float *z, const float *x,
                                       const float *gain, const float *w, const float *mean, const float *rstd, const float *s,
                                       i64 rows, int width, int columns, int rms) {
  norm_linear_grad_x(dx, addend, dz, x, gain, w, Saved{z, mean, rstd, s}, rows, width, columns, rms);
}
KERNEL(THREADS) norm_linear_grad_x_bf16(bf16 *dx, const bf16 *addend, const float *dz, const float *z, const bf16 *x,
                                        const float *gain, const float *w, const float *mean, const float *rstd, const float *s,
                                        i64 rows, int width, int columns, int rms) {
  norm_linear_grad_x(dx, addend, dz, x, gain, w, Saved{z, mean, rstd, s}, rows, width, columns, rms);
}

// ---- backward: dw and dgain ----

// load_normalized loads n of a tile of rows and a slice of the width to tile [ROWS, X_STRIDE]; rows from `end` on are zero.
template <typename A>
DEVICE void load_normalized(float *tile, const A *x, const float *mean, const float *rstd, i64 first_row, i64 end, i64 rows,
                            int at, int width, int rms) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = at + 4 * lane;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    i64 row = first_row + 4 * warp + i;
    float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (row < end) {
      float pivot = rms ? 0.0f : mean[row], shift = rms ? 0.0f : mean[rows + row], factor = rstd[row];
      read4(x + row * width + column, width - column, v);
#pragma unroll
      for (int j = 0; j < 4; j++) v[j] = (v[j] - pivot - shift) * factor;
    }
    store4(tile + (4 * warp + i) * X_STRIDE + 4 * lane, v);
  }
}

// norm_linear_grad_w makes the part of V that `length` rows have, the rows at blockIdx.y, in the slice of the width at
// blockIdx.x and the columns of w at blockIdx.z. Threads that share elements take different rows of a tile; their sums are
// added in order.
template <typename A>
DEVICE void norm_linear_grad_w(float *parts, const float *dz, const A *x, const float *mean, const float *rstd, i64 rows,
                               i64 length, int width, int columns, int rms) {
  __shared__ float4 xs4[ROWS * X_STRIDE / 4], ds4[ROWS * D_STRIDE / 4];
  float *xs = reinterpret_cast<float *>(xs4);  // [ROWS, SLICE]; at last [groups, SLICE, 4 quads]
  float *ds = reinterpret_cast<float *>(ds4);  // [ROWS, COLUMNS]
  Group g = group_of(blockIdx.z * COLUMNS, columns);
  int lane = threadIdx.x % 32, quad = threadIdx.x / 32 % g.quads, piece = threadIdx.x / 32 / g.quads;
  int groups = THREADS / 32 / g.quads, at = blockIdx.x * SLICE;
  i64 start = blockIdx.y * length, end = min(rows, start + length);
  float v[4][4]{};
  for (i64 first_row = start; first_row < end; first_row += ROWS) {
    load_normalized(xs, x, mean, rstd, first_row, end, rows, at, width, rms);
    load_gradients(ds, dz, first_row, end, g, columns);
    __syncthreads();
    for (int r = piece; piece < groups && r < ROWS; r += groups) {
      float4 n = at4(xs + r * X_STRIDE + 4 * lane), d = at4(ds + r * D_STRIDE + 4 * quad);
      fma4(v[0], n.x, d);
      fma4(v[1], n.y, d);
      fma4(v[2], n.z, d);
      fma4(v[3], n.w, d);
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 4; j++)
    if (piece < groups) store4(xs + ((piece * SLICE + 4 * lane + j) * g.quads + quad) * 4, v[j]);
  __syncthreads();
  float *part = parts + static_cast<i64>(blockIdx.y) * width * columns;
  for (int e = threadIdx.x; e < SLICE * 4 * g.quads; e += THREADS) {
    int k = at + e / (4 * g.quads), column = e % (4 * g.quads);
    if (k >= width || column >= g.count) continue;
    float sum = 0.0f;
    for (int p = 0; p < groups; p++) sum += xs[p * SLICE * 4 * g.quads + e];
    part[static_cast<i64>(k) * columns + g.first + column] = sum;
  }
}

// parts [blocks of rows, width, columns], whose sum over the blocks, of `length` rows each, is V.
KERNEL(THREADS) norm_linear_grad_w_f32(float *parts, const float *dz, const float *x, const float *mean, const float *rstd,
                                       i64 rows, i64 length, int width, int columns, int rms) {
  norm_linear_grad_w(parts, dz, x, mean, rstd, rows, length, width, columns, rms);
}
KERNEL(THREADS) norm_linear_grad_w_bf16(float *parts, const float *dz, const bf16 *x, const float *mean, const float *rstd,
                                        i64 rows, i64 length, int width, int columns, int rms) {
  norm_linear_grad_w(parts, dz, x, mean, rstd, rows, length, width, columns, rms);
}

// dw [width, columns] and dgain [width], either of which may be null, from the parts of V; they are added to what is there
// where add_w and add_gain say so. One warp a row of w.
KERNEL(THREADS) norm_linear_collect(float *dw, float *dgain, const float *parts, const float *gain, const float *w, int count,
                                    int width, int columns, int add_w, int add_gain) {
  int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= width) return;
  i64 size = static_cast<i64>(width) * columns;
  float factor = gain == nullptr ? 1.0f : gain[row], gain_sum = 0.0f;
  for (int column = lane; column < columns; column += 32) {
    i64 at = static_cast<i64>(row) * columns + column;
    float v = 0.0f;
#pragma unroll 8
    for (int p = 0; p < count; p++) v += parts[p * size + at];
    gain_sum = fmaf(v, w[at], gain_sum);
    if (dw != nullptr) dw[at] = add_w ? fmaf(factor, v, dw[at]) : factor * v;
  }
  if (dgain == nullptr) return;
  gain_sum = warp_sum(gain_sum);
  if (lane == 0) dgain[row] = add_gain ? dgain[row] + gain_sum : gain_sum;
}
