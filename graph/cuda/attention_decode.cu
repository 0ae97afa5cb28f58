// Attention of a few new tokens over the keys and values of earlier ones, kept in caches [rows, kv_heads, capacity, dim]. It reads
// the caches once and is as fast as memory is, so that a long row is split over several blocks (Dao et al. 2023,
// Flash-Decoding). dim is a multiple of 8.
#include "attention.cuh"
#include "cachedrow.cuh"

// load4_rotated loads the numbers c .. c + 3 of a row of dim, rotated by the angles of its position, if not null.
template <typename A>
DEVICE void load4_rotated(float x[4], const A *row, int c, int dim, const float *angles) {
  load4(row + c, x);
  if (angles == nullptr) return;
  int half = dim / 2;
  float other[4];
  load4(row + (c < half ? c + half : c - half), other);
  if (c < half) {
    rotate4(x, other, angles, c, dim, 1.0f);
  } else {
    rotate4(other, x, angles, c - half, dim, 1.0f);
  }
}

// attention_append puts the keys, rotated, and values of qkv [batch * seq, heads + 2 kv_heads, dim] into the caches, those of the
// tokens that count, after what these have of the rows. A thread four numbers of a head of a token.
template <typename A>
DEVICE void attention_append(A *keys, A *values, const A *qkv, const float *angles, i64 n, int seq, int heads, int kv_heads, int dim,
                             const CachedRow *rows, int capacity) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = i % (dim / 4) * 4, head = i / (dim / 4) % kv_heads;
  i64 token = i / (dim / 4) / kv_heads;
  CachedRow row = rows[token / seq];
  int number = token % seq, position = row.past + number;
  if (number >= row.tokens) return;
  const A *own = qkv + (token * (heads + 2 * kv_heads) + heads + head) * dim;
  i64 to = ((static_cast<i64>(row.row) * kv_heads + head) * capacity + position) * dim + c;
  float x[4];
  load4_rotated(x, own, c, dim, angles == nullptr ? nullptr : angles + static_cast<i64>(position) * dim);
  store4(keys + to, x);
  load4(own + kv_heads * dim + c, x);
  store4(values + to, x);
}

// Part is what has been summed over some of a query's keys by one lane, which has 8 numbers of every 64.
template <int D>
struct Part {
  float top, sum, o[D / 64][8];
};

// attend sums over the keys begin .. end - 1 of a pair, those of every 16th from the own group of 8 lanes on, UNROLL at a time.
// q is rotated and scaled, in units of log 2; the query stands at `last` and slope is ALiBi's in these units.
template <int UNROLL, int D, typename A>
DEVICE void attend(Part<D> &part, const float (&q)[D / 64][8], const A *keys, const A *values, int dim, int begin, int end,
                   int last, float slope) {
  int group = threadIdx.x / 8, lane = threadIdx.x % 8;
  for (int j = begin; j < end; j += 16 * UNROLL) {
    float x[UNROLL], next = part.top;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      int key = j + 16 * u + group;
      const A *row = keys + static_cast<i64>(min(key, end - 1)) * dim;
      x[u] = 0.0f;
#pragma unroll
      for (int k = 0; k < D / 64; k++) {
        float y[8];
        int c = 64 * k + 8 * lane;
        if (c >= dim) continue;
        load8(row + c, y);
#pragma unroll
        for (int i = 0; i < 8; i++) x[u] = fmaf(q[k][i], y[i], x[u]);
      }
#pragma unroll
      for (int step = 4; step > 0; step >>= 1) x[u] += __shfl_xor_sync(0xffffffffu, x[u], step);
      x[u] = key < end ? x[u] - slope * static_cast<float>(last - key) : -INFINITY;
      next = fmaxf(next, x[u]);
    }
    float base = next == -INFINITY ? 0.0f : next, shrink = exp2_fast(part.top - base);
    part.top = next, part.sum *= shrink;
#pragma unroll
    for (int i = 0; i < D / 8; i++) part.o[i / 8][i % 8] *= shrink;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      float p = exp2_fast(x[u] - base);
      const A *row = values + static_cast<i64>(min(j + 16 * u + group, end - 1)) * dim;
      part.sum += p;
#pragma unroll
      for (int k = 0; k < D / 64; k++) {
        float y[8];
        int c = 64 * k + 8 * lane;
        if (c >= dim) continue;
        load8(row + c, y);
#pragma unroll
        for (int i = 0; i < 8; i++) part.o[k][i] = fmaf(p, y[i], part.o[k][i]);
      }
    }
  }
}

// combine adds n parts, each [top, sum, o ...] `stride` apart, in their order: it returns number c of o, and the common top and
// the sum for it.
DEVICE float combine(const float *parts, int n, int stride, int c, float &top, float &sum) {
  top = -INFINITY, sum = 0.0f;
  float o = 0.0f;
  for (int i = 0; i < n; i++) top = fmaxf(top, parts[i * stride]);
  for (int i = 0; i < n && top != -INFINITY; i++) {
    float weight = exp2_fast(parts[i * stride] - top);
    sum += weight * parts[i * stride + 1];
    o += weight * parts[i * stride + 2 + c];
  }
  return o;
}

// attention_decode computes o [batch * seq, heads, dim] of the queries of qkv [batch * seq, heads + 2 kv_heads, dim], which come after
// what the caches have of their rows, 0 for tokens that count for nothing. The grid is [batch * seq * heads, splits]; with several
// splits `parts` [queries, splits, 2 + dim] gets their parts.
template <typename A, int D>
DEVICE void attention_decode(A *o, float *parts, const A *qkv, const A *keys, const A *values, const int *starts,
                             const float *slopes, const float *angles, float scale, int seq, int heads, int kv_heads, int dim,
                             const CachedRow *rows, int capacity) {
  constexpr int groups = attention_threads / 8;
  __shared__ float shared[groups * (D + 2)];
  i64 query = blockIdx.x, token = query / heads;
  CachedRow stands = rows[token / seq];
  bool counts = token % seq < stands.tokens;
  int head = query % heads, last = counts ? stands.past + token % seq : -1, lane = threadIdx.x % 8;
  const A *own = qkv + (token * (heads + 2 * kv_heads) + head) * dim;
  float q[D / 64][8];
#pragma unroll
  for (int i = 0; i < D / 32; i++) {
    int c = i / 2 * 64 + lane * 8 + i % 2 * 4;
    float *x = &q[i / 2][i % 2 * 4];
    x[0] = x[1] = x[2] = x[3] = 0.0f;
    if (c < dim) load4_rotated(x, own, c, dim, angles == nullptr ? nullptr : angles + static_cast<i64>(max(last, 0)) * dim);
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] *= scale * log2_e;
  }
  int first = starts == nullptr || !counts ? 0 : min(max(starts[token], 0), last);
  int share = (last - first) / gridDim.y + 1, begin = first + blockIdx.y * share;
  i64 pair = (static_cast<i64>(stands.row) * kv_heads + head / (heads / kv_heads)) * capacity * dim;
  Part<D> part = {-INFINITY, 0.0f, {}};
  attend<D == 256 ? 2 : 4>(part, q, keys + pair, values + pair, dim, begin, min(begin + share, last + 1), last,
                           slopes == nullptr ? 0.0f : slopes[head] * log2_e);
  float *row = shared + threadIdx.x / 8 * (D + 2);
  if (lane == 0) row[0] = part.top, row[1] = part.sum;
#pragma unroll
  for (int i = 0; i < D / 8; i++) row[2 + i / 8 * 64 + lane * 8 + i % 8] = part.o[i / 8][i % 8];
  __syncthreads();
  float *to = parts + (query * gridDim.y + blockIdx.y) * (2 + dim);
  for (int c = threadIdx.x; c < dim; c += attention_threads) {
    float top, sum, x = combine(shared, groups, D + 2, c, top, sum);
    if (gridDim.y == 1) {
      store(o + query * dim + c, counts ? x / sum : 0.0f);
      continue;
    }
    to[2 + c] = x;
    if (c == 0) to[0] = top, to[1] = sum;
  }
}

// attention_combine sums the parts of the splits into o. A block a query.
template <typename A>
DEVICE void attention_combine(A *o, const float *parts, int splits, int dim) {
  i64 query = blockIdx.x;
  for (int c = threadIdx.x; c < dim; c += blockDim.x) {
    float top, sum, x = combine(parts + query * splits * (2 + dim), splits, 2 + dim, c, top, sum);
    store(o + query * dim + c, sum > 0.0f ? x / sum : 0.0f);  // 0 without a key: a token that counts for nothing
  }
}

#define ATTENTION_DECODE(name, A, D)                                                                                     \
  KERNEL(attention_threads)                                                                                              \
  name(A *o, float *parts, const A *qkv, const A *keys, const A *values, const int *starts, const float *slopes,         \
       const float *angles, float scale, int seq, int heads, int kv_heads, int dim, const CachedRow *rows, int capacity) { \
    attention_decode<A, D>(o, parts, qkv, keys, values, starts, slopes, angles, scale, seq, heads, kv_heads, dim, rows,  \
                           capacity);                                                                                    \
  }
ATTENTION_DECODE(attention_decode_64_f32, float, 64)
ATTENTION_DECODE(attention_decode_128_f32, float, 128)
ATTENTION_DECODE(attention_decode_256_f32, float, 256)
ATTENTION_DECODE(attention_decode_64_bf16, bf16, 64)
ATTENTION_DECODE(attention_decode_128_bf16, bf16, 128)
ATTENTION_DECODE(attention_decode_256_bf16, bf16, 256)

KERNEL(256) attention_append_f32(float *keys, float *values, const float *qkv, const float *angles, i64 n, int seq, int heads,
                                 int kv_heads, int dim, const CachedRow *rows, int capacity) {
  attention_append(keys, values, qkv, angles, n, seq, heads, kv_heads, dim, rows, capacity);
}
KERNEL(256) attention_append_bf16(bf16 *keys, bf16 *values, const bf16 *qkv, const float *angles, i64 n, int seq, int heads,
                                  int kv_heads, int dim, const CachedRow *rows, int capacity) {
  attention_append(keys, values, qkv, angles, n, seq, heads, kv_heads, dim, rows, capacity);
}
KERNEL(128) attention_combine_f32(float *o, const float *parts, int splits, int dim) { attention_combine(o, parts, splits, dim); }
KERNEL(128) attention_combine_bf16(bf16 *o, const float *parts, int splits, int dim) { attention_combine(o, parts, splits, dim); }
