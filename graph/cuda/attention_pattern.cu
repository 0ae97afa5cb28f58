// The softmax of attention as a whole tensor, and its gradient: for looking at attention, so that plain is better than fast.
// qkv is [batch * seq, heads + 2 kv_heads, dim]; patterns are floats, [batch * seq, heads, seq]: query, head, key.
#include "prelude.cuh"

// rotated [batch * seq, heads + kv_heads, dim] = the queries and keys, rotated by rotary positions: angles [seq, 2, padded / 2] holds the
// cosines, then the sines, of a position's angles; null: nothing is rotated. A thread an element of the n.
template <typename A>
DEVICE void attention_rotate(float *rotated, const A *qkv, const float *angles, i64 n, int seq, int heads, int kv_heads, int dim, int padded) {
  i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  int width = (heads + kv_heads) * dim, c = at % dim, half = dim / 2;
  i64 token = at / width;
  const A *x = qkv + token * (width + kv_heads * dim) + at % width;
  float y = load(x);
  if (angles != nullptr) {
    const float *cosine = angles + token % seq * padded + c % half, *sine = cosine + padded / 2;
    y = c < half ? y * *cosine - load(x + half) * *sine : y * *cosine + load(x - half) * *sine;
  }
  rotated[at] = y;
}

// first_seen is the first key that query i of its row sees.
DEVICE int first_seen(const int *starts, i64 token, int i) { return starts == nullptr ? 0 : min(max(starts[token], 0), i); }

// attention_pattern makes the probabilities of a query: a block. A warp takes a key's logit.
KERNEL(256)
attention_pattern(float *pattern, const float *rotated, const int *starts, const float *slopes, float scale, int seq, int heads,
                  int kv_heads, int dim) {
  i64 query = blockIdx.x, token = query / heads;
  int head = query % heads, i = token % seq, first = first_seen(starts, token, i), stride = (heads + kv_heads) * dim;
  const float *q = rotated + token * stride + head * dim, *keys = rotated + (token - i) * stride + (heads + head / (heads / kv_heads)) * dim;
  float slope = slopes == nullptr ? 0.0f : slopes[head], top = -INFINITY, sum = 0.0f;
  float *p = pattern + query * seq;
  for (int j = first + threadIdx.x / 32; j <= i; j += 8) {
    float x = 0.0f;
    for (int c = threadIdx.x % 32; c < dim; c += 32) x = fmaf(q[c], keys[static_cast<i64>(j) * stride + c], x);
    x = scale * warp_sum(x) - slope * static_cast<float>(i - j);
    if (threadIdx.x % 32 == 0) p[j] = x;
    top = fmaxf(top, x);
  }
  top = block_max<256>(top);
  for (int j = threadIdx.x; j < seq; j += 256) {
    float e = j < first || j > i ? 0.0f : expf(p[j] - top);
    p[j] = e;
    sum += e;
  }
  float factor = 1.0f / block_sum<256>(sum);
  for (int j = threadIdx.x; j < seq; j += 256) p[j] *= factor;
}

// attention_pattern_logits makes the gradient of a query's logits: a block.
//   ds_ij = p_ij (dp_ij - sum_k p_ik dp_ik)
KERNEL(256)
attention_pattern_logits(float *dlogits, const float *pattern, const float *dpattern, const int *starts, int seq, int heads) {
  i64 query = blockIdx.x, token = query / heads;
  int i = token % seq, first = first_seen(starts, token, i);
  const float *p = pattern + query * seq, *dp = dpattern + query * seq;
  float sum = 0.0f;
  for (int j = first + threadIdx.x; j <= i; j += 256) sum = fmaf(p[j], dp[j], sum);
  sum = block_sum<256>(sum);
  for (int j = threadIdx.x; j < seq; j += 256) dlogits[query * seq + j] = j < first || j > i ? 0.0f : p[j] * (dp[j] - sum);
}

// attention_pattern_grad makes dqkv, 0 for values.
//   dq_i = scale sum_j ds_ij k_j, dk_j = scale sum_i ds_ij q_i, rotated back
// A thread the elements c and c + half of a head; n of them.
template <typename A>
DEVICE void attention_pattern_grad(A *dqkv, const float *dlogits, const float *rotated, const float *angles, float scale, i64 n,
                                   int seq, int heads, int kv_heads, int dim, int padded) {
  i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  int half = (dim + 1) / 2, c = at % half, packed = heads + 2 * kv_heads, own = at / half % packed, group = heads / kv_heads;
  int part = own < heads ? 0 : own < heads + kv_heads ? 1 : 2;
  i64 token = at / half / packed, begin = token - token % seq;
  int i = token % seq, from = part == 1 ? i : 0, end = part == 0 ? i + 1 : part == 1 ? seq : 0;
  int first = part == 0 ? own : (own - heads) * group, count = part == 0 ? 1 : part == 1 ? group : 0;  // heads that read it
  bool pair = c + half < dim;
  float x = 0.0f, y = 0.0f;
  for (int head = first; head < first + count; head++) {
    for (int j = from; j < end; j++) {
      float weight = part == 0 ? dlogits[(token * heads + head) * seq + j] : dlogits[((begin + j) * heads + head) * seq + i];
      const float *other = rotated + ((begin + j) * (heads + kv_heads) + (part == 0 ? heads + head / group : head)) * dim;
      x = fmaf(weight, other[c], x);
      if (pair) y = fmaf(weight, other[c + half], y);
    }
  }
  x *= scale;
  y *= scale;
  if (angles != nullptr && part < 2) {
    float cosine = angles[i * padded + c], sine = angles[i * padded + padded / 2 + c], back = x * cosine + y * sine;
    y = y * cosine - x * sine;
    x = back;
  }
  A *to = dqkv + (token * packed + own) * dim + c;
  store(to, x);
  if (pair) store(to + half, y);
}

KERNEL(256)
attention_rotate_f32(float *rotated, const float *qkv, const float *angles, i64 n, int seq, int heads, int kv_heads, int dim, int padded) {
  attention_rotate(rotated, qkv, angles, n, seq, heads, kv_heads, dim, padded);
}
KERNEL(256)
attention_rotate_bf16(float *rotated, const bf16 *qkv, const float *angles, i64 n, int seq, int heads, int kv_heads, int dim, int padded) {
  attention_rotate(rotated, qkv, angles, n, seq, heads, kv_heads, dim, padded);
}
KERNEL(256)
attention_pattern_grad_f32(float *dqkv, const float *dlogits, const float *rotated, const float *angles, float scale, i64 n, int seq,
                           int heads, int kv_heads, int dim, int padded) {
  attention_pattern_grad(dqkv, dlogits, rotated, angles, scale, n, seq, heads, kv_heads, dim, padded);
}
KERNEL(256)
attention_pattern_grad_bf16(bf16 *dqkv, const float *dlogits, const float *rotated, const float *angles, float scale, i64 n, int seq,
                            int heads, int kv_heads, int dim, int padded) {
  attention_pattern_grad(dqkv, dlogits, rotated, angles, scale, n, seq, heads, kv_heads, dim, padded);
}
