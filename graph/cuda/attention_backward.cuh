// The backward pass of causal attention (Dao et al. 2022, FlashAttention, algorithm 4) without atomics: P and dS are made
// twice, by a kernel over blocks of queries for delta and dq and by one over blocks of keys for dk and dv, so that every sum has
// a fixed order:
//
//   P_ij = 2^(logit(i, j) - lse_i)   dP_ij = do_i.v_j   delta_i = do_i.o_i   dS_ij = P_ij (dP_ij - delta_i)
//   dv_j = sum_i P_ij do_i   dk_j = scale sum_i dS_ij q_i   dq_i = scale sum_j dS_ij k_j
//
// With rotary positions q and k are the rotated ones, and dq and dk are rotated back.
#pragma once
#include "attention_products.cuh"

// Backward is what both kernels are given: one launch's tensors and sizes.
template <typename A>
struct Backward {
  A *dqkv;             // [batch * seq, heads + 2 kv_heads, dim]
  const A *qkv;        // [batch * seq, heads + 2 kv_heads, dim]
  const A *out, *dout;  // [batch * seq, heads, dim]
  const float *lse;     // [batch, heads, seq]
  float *delta;         // [batch, heads, seq]; the kernel of dq writes it, the one of dk and dv reads it
  const int *starts;       // [batch, seq], or null
  const int *tile_starts;  // [batch, tiles of queries], the smallest start of each; null where starts is
  const float *slopes, *angles;
  float scale;
  int seq, heads, kv_heads, dim;

  DEVICE Rows<const A> rows(int part, int pair) const { return packed_rows(qkv, part, pair, seq, heads, kv_heads, dim); }
  DEVICE Rows<const A> outs(int pair) const { return out_rows(out, pair, seq, heads, dim); }
  DEVICE Rows<const A> out_gradients(int pair) const { return out_rows(dout, pair, seq, heads, dim); }
  DEVICE Rows<A> gradients(int part, int pair) const { return packed_rows(dqkv, part, pair, seq, heads, kv_heads, dim); }
};

// ---- dk and dv ----

// Queries is a tile of queries in shared memory with what is known of each.
template <typename A, int D, int QUERIES>
struct Queries {
  A q[QUERIES * stride_of<A, D>], dout[QUERIES * stride_of<A, D>];  // [QUERIES, D]
  float statistics[QUERIES][2];  // lse and delta
  int first[QUERIES];            // the first key that the query sees

  // fill begins to load the pair's queries from i on, of qs and gradients. One beyond seq has weights 2^-infinity.
  DEVICE void fill(const Backward<A> &b, const Mask &mask, Rows<const A> qs, Rows<const A> gradients, int pair, int i) {
    load_rotated<QUERIES, D>(q, qs, i, b.seq, b.angles);
    load_rows<QUERIES, D>(dout, gradients, i, b.seq);
    int r = threadIdx.x;
    if (r >= QUERIES) return;
    i64 at = static_cast<i64>(pair) * b.seq + i + r;
    bool inside = i + r < b.seq;
    statistics[r][0] = inside ? b.lse[at] : INFINITY;
    statistics[r][1] = inside ? b.delta[at] : 0.0f;
    first[r] = first_key(mask, i + r, b.seq);
  }

  // logits turns products p [keys, queries] = k q^T of the lane's keys, the first of them j, with the tile's queries, the first of
  // them i, into logits divided by what it returns, -infinity where nothing is seen. whole: every query sees every key.
  template <int M>
  DEVICE float logits(float (&p)[M][QUERIES / 8][4], const Mask &mask, int i, int j, bool whole) const {
    if (whole && mask.plain()) return mask.scale;
#pragma unroll
    for (int n = 0; n < QUERIES / 8; n++) {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        int c = 8 * n + threadIdx.x % 4 * 2 + e;
        int last = i + c - j, low = first[c] - j;  // relative to the lane's first key
#pragma unroll
        for (int r = 0; r < 2 * M; r++) {
          float &x = p[r / 2][n][r % 2 * 2 + e];
          if (!mask.plain()) x = x * mask.scale - mask.slope * (static_cast<float>(last) - static_cast<float>(8 * r));
          if (8 * r < low || 8 * r > last) x = -INFINITY;
        }
      }
    }
    return mask.factor();
  }

  // weigh turns the logits, factor times p, and g = v do^T into P^T and dS^T.
  template <int M>
  DEVICE void weigh(float (&p)[M][QUERIES / 8][4], float (&g)[M][QUERIES / 8][4], float factor) const {
#pragma unroll
    for (int n = 0; n < QUERIES / 8; n++) {
      float of[4];  // lse and delta of two queries
      load4(statistics[8 * n + threadIdx.x % 4 * 2], of);
#pragma unroll
      for (int i = 0; i < 4 * M; i++) {
        float &weight = p[i / 4][n][i % 4];
        weight = exp2_fast(fmaf(weight, factor, -of[i % 2 * 2]));
        g[i / 4][n][i % 4] = weight * (g[i / 4][n][i % 4] - of[i % 2 * 2 + 1]);
      }
    }
  }
};

// add_keys adds a tile of queries' part, from query i on, to dk and dv of a warp's 16 M keys from j on. k and v are the
// warp's rows; dk and dv its columns from `column` on.
template <typename P, int D, int M, int N, int QUERIES, typename A>
DEVICE void add_keys(float (&dk)[M][N][4], float (&dv)[M][N][4], const A *k, const A *v, const Queries<A, D, QUERIES> &tile,
                     const Mask &mask, int i, int j, int column) {
  if (i + QUERIES <= j) return;  // all before the keys
  float p[M][QUERIES / 8][4], g[M][QUERIES / 8][4];  // [keys, queries]
  P::template multiply<D>(p, k, tile.q);
  float factor = tile.logits(p, mask, i, j + threadIdx.x % 32 / 4, mask.starts == nullptr && i >= j + 16 * M - 1);
  P::template multiply<D>(g, v, tile.dout);
  tile.weigh(p, g, factor);
  P::template add_product<D>(dv, p, tile.dout + column);
  P::template add_product<D>(dk, g, tile.q + column);
}

// next_tile returns the first query, from i on in steps of a tile, of a tile that sees a key up to `last`. starts are those of the
// row's tiles, or null.
template <int QUERIES>
DEVICE int next_tile(const int *starts, int seq, int i, int last) {
  while (starts != nullptr && i < seq && starts[i / QUERIES] > last) i += QUERIES;
  return i;
}

// attention_backward_keys computes dk and dv of 64 M / GROUPS keys of one row and head of keys, over the queries of all heads that
// read them, one head after another; GROUPS warps share the same keys and have a part of the columns each. A pair is one of a row
// and a head of keys; the first blocks of keys, which the most queries see, come first.
template <typename P, int D, int M, int GROUPS, int QUERIES, int STAGES, typename A>
DEVICE void attention_backward_keys(const Backward<A> &b) {
  constexpr int keys = 64 * M / GROUPS, stride = stride_of<A, D>, staged = D + 8, columns = D / GROUPS;
  DYNAMIC_SHARED(A, k_tile);  // k [keys, D], v [keys, D], STAGES tiles of queries
  A *v_tile = k_tile + keys * stride;
  Queries<A, D, QUERIES> *tiles = reinterpret_cast<Queries<A, D, QUERIES> *>(v_tile + keys * stride);
  int heads = b.heads / b.kv_heads, pair = block_pair() * heads, last = pair + heads - 1;  // the pairs that read the keys
  int begin = blockIdx.y * keys, end = min(begin + keys, b.seq), buffer = 0;
  int row = threadIdx.x / 32 / GROUPS * 16 * M, column = threadIdx.x / 32 % GROUPS * columns;  // of the warp
  Mask mask = mask_of(b.scale, b.slopes, b.starts, pair, b.seq, b.heads, 0);
  load_rotated<keys, D>(k_tile, b.rows(1, pair), begin, b.seq, b.angles);
  load_rows<keys, D>(v_tile, b.rows(2, pair), begin, b.seq);
  float dk[M][columns / 8][4], dv[M][columns / 8][4];  // [keys, columns]
  clear(dk);
  clear(dv);
  const int *starts = b.tile_starts;
  if (starts != nullptr) starts += static_cast<i64>(pair / b.heads) * ((b.seq + QUERIES - 1) / QUERIES);
  int first = next_tile<QUERIES>(starts, b.seq, begin / QUERIES * QUERIES, end - 1);
  Rows<const A> q = b.rows(0, pair), dout = b.out_gradients(pair);  // of the pair that comes; one head lies after another
  int coming = pair;  // the pair of the queries from `next` on, which are loaded while those from i on are worked on
  for (int i = -1, next = first; i < b.seq;) {
    // The first iteration only loads.
    if (i >= 0) {
      copy_async_wait<0>();
      __syncthreads();
    }
    if (STAGES == 1 && i >= 0) {
      add_keys<P, D>(dk, dv, k_tile + row * stride, v_tile + row * stride, tiles[0], mask, i, begin + row, column);
      __syncthreads();
    }
    if (next < b.seq) tiles[STAGES == 1 ? 0 : buffer].fill(b, mask, q, dout, coming, next);
    copy_async_commit();
    buffer = 1 - buffer;
    if (STAGES == 2 && i >= 0) {
      add_keys<P, D>(dk, dv, k_tile + row * stride, v_tile + row * stride, tiles[buffer], mask, i, begin + row, column);
    }
    if (coming != pair) {
      pair = coming;
      mask = mask_of(b.scale, b.slopes, b.starts, pair, b.seq, b.heads, 0);
    }
    i = next;
    if (i < b.seq) next = next_tile<QUERIES>(starts, b.seq, next + QUERIES, end - 1);
    if (next >= b.seq && i < b.seq && coming < last) coming++, next = first, q.data += b.dim, dout.data += b.dim;
  }
  float *rows = reinterpret_cast<float *>(k_tile), *own = rows + row * staged + column;  // [keys, D + 8], over k and v
  __syncthreads();
  stage<staged>(own, dk, b.scale);
  __syncthreads();
  store_rows<keys, D, staged>(b.gradients(1, pair), rows, begin, end, b.angles);
  __syncthreads();
  stage<staged>(own, dv, 1.0f);
  __syncthreads();
  store_rows<keys, D, staged>(b.gradients(2, pair), rows, begin, end, nullptr);
}

// ---- dq ----

// add_deltas sets delta of QUERIES queries of a pair from `begin` on, those before `end`, in memory and in `delta`. Eight lanes
// add up a row.
template <int QUERIES, int D, typename A>
DEVICE void add_deltas(float *delta, const Backward<A> &b, int pair, int begin, int end) {
  Rows<const A> out = b.outs(pair), dout = b.out_gradients(pair);
#pragma unroll 2
  for (int r = threadIdx.x / 8; r < QUERIES; r += attention_threads / 8) {
    int i = min(begin + r, end - 1);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < D; k += 64) {
      int c = k + threadIdx.x % 8 * 8;
      float x[8] = {}, y[8] = {};
      if (c < b.dim) {
        load8(out.row(i) + c, x);
        load8(dout.row(i) + c, y);
      }
#pragma unroll
      for (int n = 0; n < 8; n++) sum = fmaf(x[n], y[n], sum);
    }
#pragma unroll
    for (int step = 4; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 8 == 0) {
      delta[r] = sum;
      if (begin + r < end) b.delta[static_cast<i64>(pair) * b.seq + i] = sum;
    }
  }
}

// RowStatistics are lse and delta of a lane's rows of queries.
template <int M>
struct RowStatistics {
  float lse[M][2], delta[M][2];

  // The warp's rows are those of the queries from i0 on, of which delta has the sums; one beyond seq has weights 2^-infinity.
  template <typename A>
  DEVICE RowStatistics(const Backward<A> &b, const float *deltas, int pair, int i0) {
#pragma unroll
    for (int r = 0; r < 2 * M; r++) {
      int own = 8 * r + threadIdx.x % 32 / 4, i = i0 + own;
      lse[r / 2][r % 2] = i < b.seq ? b.lse[static_cast<i64>(pair) * b.seq + i] : INFINITY;
      delta[r / 2][r % 2] = deltas[own];
    }
  }

  // weigh turns the logits, factor times p, and the products g = do v^T into dS, in p.
  template <int N>
  DEVICE void weigh(float (&p)[M][N][4], const float (&g)[M][N][4], float factor) const {
#pragma unroll
    for (int i = 0; i < M * N * 4; i++) {
      int m = i / (4 * N), n = i / 4 % N, h = i % 4 / 2;
      p[m][n][i % 4] = exp2_fast(fmaf(p[m][n][i % 4], factor, -lse[m][h])) * (g[m][n][i % 4] - delta[m][h]);
    }
  }
};

// attention_backward_queries computes delta and dq of 64 M / GROUPS queries of a pair over tiles of KEYS keys; GROUPS warps share
// queries as they share keys above. The last blocks of queries come first.
template <typename P, int D, int M, int GROUPS, int KEYS, int STAGES, typename A>
DEVICE void attention_backward_queries(const Backward<A> &b) {
  constexpr int queries = 64 * M / GROUPS, columns = D / GROUPS, stride = stride_of<A, D>, staged = D + 8;
  DYNAMIC_SHARED(A, q_tile);  // q [queries, D], do [queries, D], STAGES times k [KEYS, D], v [KEYS, D]
  __shared__ float deltas[queries];
  A *do_tile = q_tile + queries * stride;
  int pair = block_pair(), begin = (gridDim.y - 1 - blockIdx.y) * queries, end = min(begin + queries, b.seq);
  int own = threadIdx.x / 32 / GROUPS * 16 * M, row = own * stride;  // the warp's first row, and where it is
  int column = threadIdx.x / 32 % GROUPS * columns;
  load_rotated<queries, D>(q_tile, b.rows(0, pair), begin, b.seq, b.angles);
  load_rows<queries, D>(do_tile, b.out_gradients(pair), begin, b.seq);
  add_deltas<queries, D>(deltas, b, pair, begin, end);
  Mask mask = mask_of(b.scale, b.slopes, b.starts, pair, b.seq, b.heads, 0);
  Sight<M> sight(mask, begin + own, b.seq);
  int first = block_first(sight);  // synchronises: deltas may be read
  RowStatistics<M> statistics(b, deltas + own, pair, begin + own);
  float dq[M][columns / 8][4];  // [queries, columns]
  clear(dq);
  auto add = [&](int j, const A *k, const A *v) {
    if (!sight.sees(j, KEYS)) return;
    float p[M][KEYS / 8][4], g[M][KEYS / 8][4];  // [queries, keys]
    P::template multiply<D>(p, q_tile + row, k);
    float factor = logits(p, mask, sight, j);
    P::template multiply<D>(g, do_tile + row, v);
    statistics.weigh(p, g, factor);
    P::template add_product<D>(dq, p, k + column);
  };
  over_key_tiles<D, KEYS, STAGES>(do_tile + queries * stride, b.rows(1, pair), b.rows(2, pair), b.angles, first, end, add);
  float *rows = reinterpret_cast<float *>(q_tile);  // [queries, D + 8], over q and do
  __syncthreads();
  stage<staged>(rows + own * staged + column, dq, b.scale);
  __syncthreads();
  store_rows<queries, D, staged>(b.gradients(0, pair), rows, begin, end, b.angles);
}

#define ATTENTION_BACKWARD_PARAMETERS(A)                                                                                      \
  (A * dqkv, const A *qkv, const A *out, const A *dout, const float *lse, float *delta, const int *starts,                    \
   const int *tile_starts, const float *slopes, const float *angles, float scale, int seq, int heads, int kv_heads, int dim)
#define ATTENTION_BACKWARD_ARGUMENTS(A) \
  Backward<A> { dqkv, qkv, out, dout, lse, delta, starts, tile_starts, slopes, angles, scale, seq, heads, kv_heads, dim }

// The kernels for heads of up to D numbers, with registers for BLOCKS blocks a multiprocessor.
#define ATTENTION_BACKWARD_KEYS(name, P, D, M, GROUPS, QUERIES, STAGES, BLOCKS)                         \
  KERNEL(attention_threads, BLOCKS) name ATTENTION_BACKWARD_PARAMETERS(P::Number) {                     \
    attention_backward_keys<P, D, M, GROUPS, QUERIES, STAGES>(ATTENTION_BACKWARD_ARGUMENTS(P::Number)); \
  }
#define ATTENTION_BACKWARD_QUERIES(name, P, D, M, GROUPS, KEYS, STAGES, BLOCKS)                         \
  KERNEL(attention_threads, BLOCKS) name ATTENTION_BACKWARD_PARAMETERS(P::Number) {                     \
    attention_backward_queries<P, D, M, GROUPS, KEYS, STAGES>(ATTENTION_BACKWARD_ARGUMENTS(P::Number)); \
  }
