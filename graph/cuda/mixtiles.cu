// MixRead and MixWrite of streams of any sizes, from two products a token: combinations of rows, and dot products of
// rows. Tiles of both lie in shared memory.
#include "prelude.cuh"

// TILE_ROWS x TILE_COLUMNS results a block of 128 threads, 4 x 4 a thread; TILE_DEPTH terms at a time.
constexpr int TILE_ROWS = 32, TILE_COLUMNS = 64, TILE_DEPTH = 16;

// Term is a sum over i < terms of w[r * row + i * term] x_t[i], the coefficients of token t starting at w.
template <typename A>
struct Term {
  const float *w;
  const A *x;  // [terms, d] of the token
  int row, term, terms;
};

// add_term adds a term to a thread's part of the tile that begins at row r0 and column v0.
template <typename A>
DEVICE void add_term(float (&sum)[4][4], const Term<A> &p, int rows, int d, int r0, int v0) {
  __shared__ __align__(16) float weights[TILE_DEPTH][TILE_ROWS];  // [terms, rows]
  __shared__ __align__(16) float inputs[TILE_DEPTH][TILE_COLUMNS];  // [terms, columns]
  const int r = 4 * (threadIdx.x / 16), v = 4 * (threadIdx.x % 16);
  for (int first = 0; first < p.terms; first += TILE_DEPTH) {
    for (int e = threadIdx.x; e < TILE_DEPTH * TILE_ROWS; e += 128) {
      const int i = first + e / TILE_ROWS, k = r0 + e % TILE_ROWS;
      weights[e / TILE_ROWS][e % TILE_ROWS] = i < p.terms && k < rows ? p.w[k * p.row + i * p.term] : 0.0f;
    }
    for (int e = threadIdx.x; e < TILE_DEPTH * TILE_COLUMNS; e += 128) {
      const int i = first + e / TILE_COLUMNS, k = v0 + e % TILE_COLUMNS;
      inputs[e / TILE_COLUMNS][e % TILE_COLUMNS] = i < p.terms && k < d ? load(p.x + (i64)i * d + k) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE_DEPTH; i++) {
      float w[4], x[4];
      load4(&weights[i][r], w);
      load4(&inputs[i][v], x);
#pragma unroll
      for (int a = 0; a < 4; a++) {
#pragma unroll
        for (int b = 0; b < 4; b++) sum[a][b] = fmaf(w[a], x[b], sum[a][b]);
      }
    }
    __syncthreads();
  }
}

// out_t[r] = two terms + addend_t[r] + out_t[r] where it accumulates, r < rows, of d entries. One block takes a token (x)
// and a tile of columns (y) and rows (z). out may be addend, but neither term's x.
template <typename A>
DEVICE void mix_combine(A *out, const A *addend, Term<A> first, Term<A> second, i64 stride, int rows, int d,
                        int accumulate) {
  const i64 t = blockIdx.x;
  const int r0 = blockIdx.z * TILE_ROWS, v0 = blockIdx.y * TILE_COLUMNS;
  first.w += t * stride, first.x += t * first.terms * d;
  second.w += t * stride, second.x += t * second.terms * d;
  float sum[4][4] = {};
  add_term(sum, first, rows, d, r0, v0);
  add_term(sum, second, rows, d, r0, v0);
#pragma unroll
  for (int a = 0; a < 4; a++) {
#pragma unroll
    for (int b = 0; b < 4; b++) {
      const int r = r0 + 4 * (threadIdx.x / 16) + a, v = v0 + 4 * (threadIdx.x % 16) + b;
      if (r >= rows || v >= d) continue;
      const i64 e = (t * rows + r) * d + v;
      float y = sum[a][b];
      if (addend) y += load(addend + e);
      if (accumulate) y += load(out + e);
      store(out + e, y);
    }
  }
}

// load_tile puts 32 entries of the rows [r0, r0 + 32) of x [rows, d] into tile, by entry, zero where there are none.
template <typename A>
DEVICE void load_tile(float (&tile)[32][33], const A *x, int r0, int rows, int v0, int d) {
  for (int e = threadIdx.x; e < 1024; e += 128) {
    const int r = r0 + e / 32, v = v0 + e % 32;
    tile[e % 32][e / 32] = r < rows && v < d ? load(x + (i64)r * d + v) : 0.0f;
  }
}

// out[i, j] += sum over the block's tokens of x_t[i] . y_t[j], for x [tokens, n, d] and y [tokens, m, d]. One block takes
// chunk tokens (x), whose sums are at out + x * stride in rows of columns entries, and a tile of i (y) and j (z).
template <typename A>
DEVICE void mix_dots(float *out, const A *x, const A *y, i64 tokens, int n, int m, int d, int columns, i64 stride,
                     int chunk) {
  __shared__ float xs[32][33], ys[32][33];  // [entries, rows]
  const int i0 = blockIdx.y * 32, j0 = blockIdx.z * 32;
  const int i = 2 * (threadIdx.x / 8), j = 4 * (threadIdx.x % 8);
  const i64 begin = (i64)blockIdx.x * chunk, end = min(begin + chunk, tokens);
  float sum[2][4] = {};
  for (i64 t = begin; t < end; t++) {
    for (int v = 0; v < d; v += 32) {
      load_tile(xs, x + t * n * d, i0, n, v, d);
      load_tile(ys, y + t * m * d, j0, m, v, d);
      __syncthreads();
#pragma unroll 8
      for (int e = 0; e < 32; e++) {
#pragma unroll
        for (int a = 0; a < 2; a++) {
#pragma unroll
          for (int b = 0; b < 4; b++) sum[a][b] = fmaf(xs[e][i + a], ys[e][j + b], sum[a][b]);
        }
      }
      __syncthreads();
    }
  }
  out += blockIdx.x * stride;
#pragma unroll
  for (int a = 0; a < 2; a++) {
#pragma unroll
    for (int b = 0; b < 4; b++) {
      if (i0 + i + a < n && j0 + j + b < m) out[(i0 + i + a) * columns + j0 + j + b] += sum[a][b];
    }
  }
}

// dc = addend, zero where that is null, plus dc where it accumulates.
KERNEL(256) mix_begin(float *dc, const float *addend, int accumulate, i64 size) {
  const i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= size) return;
  float x = addend ? addend[e] : 0.0f;
  dc[e] = accumulate ? dc[e] + x : x;
}

#define MIX_COMBINE(name, A)                                                                                           \
  KERNEL(128)                                                                                                          \
  name(A *out, const A *addend, const float *w1, const A *x1, int row1, int term1, int terms1, const float *w2,        \
       const A *x2, int row2, int term2, int terms2, i64 stride, int rows, int d, int accumulate) {                    \
    mix_combine(out, addend, Term<A>{w1, x1, row1, term1, terms1}, Term<A>{w2, x2, row2, term2, terms2}, stride,       \
                rows, d, accumulate);                                                                                  \
  }
#define MIX_DOTS(name, A)                                                                                              \
  KERNEL(128)                                                                                                          \
  name(float *out, const A *x, const A *y, i64 tokens, int n, int m, int d, int columns, i64 stride, int chunk) {      \
    mix_dots(out, x, y, tokens, n, m, d, columns, stride, chunk);                                                      \
  }

// A second term of no terms is none.
MIX_COMBINE(mix_combine_f32, float)
MIX_COMBINE(mix_combine_bf16, bf16)
MIX_DOTS(mix_dots_f32, float)
MIX_DOTS(mix_dots_bf16, bf16)
