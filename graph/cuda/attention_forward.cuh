// The forward pass of causal attention with the softmax taken online over tiles of keys (Dao et al. 2022, FlashAttention,
// algorithm 1; 2023, FlashAttention-2, algorithm 1):
//
//   o_i = sum_j P_ij v_j,   P_ij = 2^(logit(i, j) - lse_i),   logit and lse in units of log 2
//
// A block computes 64 M queries of one (row, head) pair over the tiles of keys that any of them sees.
#pragma once
#include "attention_products.cuh"
#include "cachedrow.cuh"

// clear_rows sets the rows first .. first + ROWS - 1 of y, those before `end`, to 0.
template <int ROWS, typename A>
DEVICE void clear_rows(Rows<A> y, int first, int end) {
  float zeros[4] = {};
  int quads = y.dim / 4;
  for (int i = threadIdx.x; i < ROWS * quads; i += attention_threads) {
    if (first + i / quads < end) store4(y.row(first + i / quads) + i % quads * 4, zeros);
  }
}

// Softmax is the state of the rows' online softmax: a number near their largest logit, which weights are relative to, and this
// lane's part of the sums.
template <int M>
struct Softmax {
  static constexpr float slack = 8.0f;  // how far a logit may be above top; a weight is at most 2^slack
  float top[M][2], sum[M][2];

  DEVICE Softmax() {
#pragma unroll
    for (int i = 0; i < 2 * M; i++) top[i / 2][i % 2] = -INFINITY, sum[i / 2][i % 2] = 0.0f;
  }

  // raise brings what was summed so far to a new top.
  template <int C>
  DEVICE void raise(const float (&next)[M][2], float (&o)[M][C][4]) {
#pragma unroll
    for (int i = 0; i < 2 * M; i++) {
      int m = i / 2, h = i % 2;
      float shrink = next[m][h] == -INFINITY ? 1.0f : exp2_fast(top[m][h] - next[m][h]);  // 1: the row has seen nothing yet
      top[m][h] = next[m][h];
      sum[m][h] *= shrink;
#pragma unroll
      for (int c = 0; c < 2 * C; c++) o[m][c / 2][2 * h + c % 2] *= shrink;
    }
  }

  // weigh turns a tile's logits, which are factor times x, into 2^(logit - top). It raises top only where a logit is far above
  // it: then for all of the warp's rows.
  template <int N, int C>
  DEVICE void weigh(float (&x)[M][N][4], float (&o)[M][C][4], float factor) {
    float next[M][2];
    bool far = false;
#pragma unroll
    for (int i = 0; i < 2 * M; i++) {
      int m = i / 2, h = i % 2;
      float most = x[m][0][2 * h];
#pragma unroll
      for (int c = 1; c < 2 * N; c++) most = fmaxf(most, x[m][c / 2][2 * h + c % 2]);
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      next[m][h] = fmaxf(top[m][h], factor * most);
      far |= next[m][h] > top[m][h] + slack;
    }
    if (__any_sync(0xffffffffu, far)) raise(next, o);
#pragma unroll
    for (int i = 0; i < 2 * M; i++) {
      int m = i / 2, h = i % 2;
      float base = top[m][h] == -INFINITY ? 0.0f : top[m][h];
#pragma unroll
      for (int c = 0; c < 2 * N; c++) {
        float &p = x[m][c / 2][2 * h + c % 2];
        p = exp2_fast(fmaf(p, factor, -base));
        sum[m][h] += p;
      }
    }
  }

  // finish divides the rows by their sums and writes lse of the queries i0 + ... before seq.
  template <int C>
  DEVICE void finish(float (&o)[M][C][4], float *lse, int i0, int seq) {
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float all = sum[m][h];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        float factor = 1.0f / all;
#pragma unroll
        for (int i = 0; i < 2 * C; i++) o[m][i / 2][2 * h + i % 2] *= factor;
        int i = i0 + 16 * m + 8 * h + threadIdx.x % 32 / 4;
        if (lse != nullptr && threadIdx.x % 4 == 0 && i < seq) lse[i] = top[m][h] + log2f(all);
      }
    }
  }
};

// attention_forward computes o [batch * seq, heads, dim] and lse [batch, heads, seq], if not null, from qkv [batch * seq,
// heads + 2 kv_heads, dim]. With keys and values [cached rows, kv_heads, capacity, dim], not null, it attends
// over these instead, rotated already: `cached` [batch] says which row of them is whose, how many of its positions come before the
// queries, and how many of these count. The others' o may be anything finite.
// The last blocks of queries, which see the most keys, come first.
template <typename P, int D, int M, int KEYS, int STAGES, typename A>
DEVICE void attention_forward(A *o, float *lse, const A *qkv, const A *keys, const A *values, const int *starts, const float *slopes,
                              const float *angles, float scale, int seq, int heads, int kv_heads, int dim, const CachedRow *cached,
                              int capacity) {
  DYNAMIC_SHARED(A, tiles);  // q [64 M, D], STAGES times k [KEYS, D], v [KEYS, D]
  constexpr int queries = 64 * M, staged = D + 8;
  int pair = block_pair(), first = (gridDim.y - 1 - blockIdx.y) * queries, warp = threadIdx.x / 32;
  Rows<const A> q = packed_rows(qkv, 0, pair, seq, heads, kv_heads, dim);
  Rows<const A> k = packed_rows(qkv, 1, pair, seq, heads, kv_heads, dim), v = packed_rows(qkv, 2, pair, seq, heads, kv_heads, dim);
  const float *key_angles = angles;
  int past = 0, tokens = seq;
  if (keys != nullptr) {
    CachedRow stands = cached[pair / heads];
    past = stands.past, tokens = stands.tokens;
    i64 at = (static_cast<i64>(stands.row) * kv_heads + pair % heads / (heads / kv_heads)) * capacity * dim;
    k = Rows<const A>{keys + at, dim, dim}, v = Rows<const A>{values + at, dim, dim};
    key_angles = nullptr;
    if (angles != nullptr) angles += static_cast<i64>(past) * dim;
  }
  if (first >= tokens) {
    clear_rows<queries>(out_rows(o, pair, seq, heads, dim), first, seq);
    return;
  }
  Mask mask = mask_of(scale, slopes, starts, pair, seq, heads, past);
  Sight<M> sight(mask, first + warp * 16 * M, tokens);
  Softmax<M> softmax;
  float out[M][D / 8][4];  // [queries, D]
  clear(out);
  load_rotated<queries, D>(tiles, q, first, tokens, angles);
  const A *own = tiles + warp * 16 * M * stride_of<A, D>;  // the warp's queries
  auto attend = [&](int j, const A *keys, const A *values) {
    if (!sight.sees(j, KEYS)) return;
    float p[M][KEYS / 8][4];  // [queries, keys]
    P::template multiply<D>(p, own, keys);
    softmax.weigh(p, out, logits(p, mask, sight, j));
    P::template add_product<D>(out, p, values);
  };
  over_key_tiles<D, KEYS, STAGES>(tiles + queries * stride_of<A, D>, k, v, key_angles, block_first(sight),
                                  past + min(first + queries, tokens), attend);
  softmax.finish(out, lse == nullptr ? nullptr : lse + static_cast<i64>(pair) * seq, first + warp * 16 * M, seq);
  __syncthreads();
  float *rows = reinterpret_cast<float *>(tiles);  // [64 M, D + 8], over all tiles
  stage<staged>(rows + warp * 16 * M * staged, out, 1.0f);
  __syncthreads();
  store_rows<queries, D, staged>(out_rows(o, pair, seq, heads, dim), rows, first, seq, nullptr);
}

// ATTENTION_FORWARD defines the kernel for heads of up to D numbers, with registers for BLOCKS blocks a multiprocessor.
#define ATTENTION_FORWARD(name, P, D, M, KEYS, STAGES, BLOCKS)                                                             \
  KERNEL(attention_threads, BLOCKS)                                                                                        \
  name(P::Number *o, float *lse, const P::Number *qkv, const P::Number *keys, const P::Number *values, const int *starts,  \
       const float *slopes, const float *angles, float scale, int seq, int heads, int kv_heads, int dim,                   \
       const CachedRow *cached, int capacity) {                                                                            \
    attention_forward<P, D, M, KEYS, STAGES>(o, lse, qkv, keys, values, starts, slopes, angles, scale, seq, heads,         \
                                             kv_heads, dim, cached, capacity);                                             \
  }
