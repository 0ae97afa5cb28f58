// Values summed by an attention pattern, whatever it is, and the gradients: for looking at attention, so that plain is better
// than fast. The pattern is floats, [batch * seq, heads, seq]: query, head, key; qkv is [batch * seq, heads + 2 kv_heads, dim], out
// [batch * seq, heads, dim]. A thread an element of the n of what is made.
#include "prelude.cuh"

// out_i = sum_j p_ij v_j
template <typename A>
DEVICE void attention_mix(A *out, const float *pattern, const A *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  int width = heads * dim, column = at % width;
  i64 token = at / width, begin = token - token % seq;
  const float *p = pattern + at / dim * seq;
  int stride = (heads + 2 * kv_heads) * dim, head = heads + kv_heads + column / dim / (heads / kv_heads);  // of the values
  const A *values = qkv + begin * stride + head * dim + column % dim;
  float sum = 0.0f;
  for (int j = 0; j < seq; j++) sum = fmaf(p[j], load(values + static_cast<i64>(j) * stride), sum);
  store(out + at, sum);
}

// dp_ij = dout_i.v_j
template <typename A>
DEVICE void attention_mix_pattern(float *dpattern, const A *dout, const A *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  i64 query = at / seq, token = query / heads, key = token - token % seq + at % seq;
  const A *x = dout + query * dim, *value = qkv + (key * (heads + 2 * kv_heads) + heads + kv_heads + query % heads / (heads / kv_heads)) * dim;
  float sum = 0.0f;
  for (int c = 0; c < dim; c++) sum = fmaf(load(x + c), load(value + c), sum);
  dpattern[at] = sum;
}

// dv_j = sum_i p_ij dout_i, over the heads that read v_j, and zeros for queries and keys
template <typename A>
DEVICE void attention_mix_values(A *dqkv, const float *pattern, const A *dout, i64 n, int seq, int heads, int kv_heads, int dim) {
  i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  int packed = heads + 2 * kv_heads, group = heads / kv_heads, width = heads * dim;
  int value = at / dim % packed - heads - kv_heads;  // the head of values; negative: of queries or keys
  i64 token = at / dim / packed, begin = token - token % seq;
  float sum = 0.0f;
  for (int head = value * group; value >= 0 && head < (value + 1) * group; head++) {
    const float *p = pattern + (begin * heads + head) * seq + token % seq;
    const A *x = dout + begin * width + head * dim + at % dim;
    for (int i = 0; i < seq; i++) sum = fmaf(p[static_cast<i64>(i) * heads * seq], load(x + static_cast<i64>(i) * width), sum);
  }
  store(dqkv + at, sum);
}

KERNEL(256) attention_mix_f32(float *out, const float *pattern, const float *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix(out, pattern, qkv, n, seq, heads, kv_heads, dim);
}
KERNEL(256) attention_mix_bf16(bf16 *out, const float *pattern, const bf16 *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix(out, pattern, qkv, n, seq, heads, kv_heads, dim);
}
KERNEL(256) attention_mix_pattern_f32(float *dpattern, const float *dout, const float *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix_pattern(dpattern, dout, qkv, n, seq, heads, kv_heads, dim);
}
KERNEL(256) attention_mix_pattern_bf16(float *dpattern, const bf16 *dout, const bf16 *qkv, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix_pattern(dpattern, dout, qkv, n, seq, heads, kv_heads, dim);
}
KERNEL(256) attention_mix_values_f32(float *dqkv, const float *pattern, const float *dout, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix_values(dqkv, pattern, dout, n, seq, heads, kv_heads, dim);
}
KERNEL(256) attention_mix_values_bf16(bf16 *dqkv, const float *pattern, const bf16 *dout, i64 n, int seq, int heads, int kv_heads, int dim) {
  attention_mix_values(dqkv, pattern, dout, n, seq, heads, kv_heads, dim);
}
