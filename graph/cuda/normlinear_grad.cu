// The gradients of norm_linear: see normlinear.cuh.
#include "normlinear.cuh"

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
