// What happens to packed queries, keys and values before they attend: QK-norm and a value residual. qkv is [tokens,
// heads + 2 kv_heads, dim]; a warp has a head of a token, which is row number `row` of all.
#include "prelude.cuh"

// prepare_qkv computes, with the gains and first null where they are not wanted, and weights null for 0.5 and 0.5,
//   q <- q / sqrt(mean(q^2) + eps) qgain, k likewise, v <- weights[0] v + weights[1] first
// y may be x; first is [tokens, kv_heads, dim].
template <typename A>
DEVICE void prepare_qkv(A *y, const A *x, const float *qgain, const float *kgain, const A *first, const float *weights, i64 rows,
                        int heads, int kv_heads, int dim, float eps) {
  i64 row = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  int lane = threadIdx.x % 32, packed = heads + 2 * kv_heads, head = row % packed;
  x += row * dim, y += row * dim;
  if (head >= heads + kv_heads) {
    float own = 1.0f, other = 0.0f;
    if (first != nullptr) {
      first += (row / packed * kv_heads + head - heads - kv_heads) * dim;
      own = weights == nullptr ? 0.5f : weights[0], other = weights == nullptr ? 0.5f : weights[1];
    }
    for (int c = lane; c < dim; c += 32) store(y + c, first == nullptr ? load(x + c) : own * load(x + c) + other * load(first + c));
    return;
  }
  const float *gain = head < heads ? qgain : kgain;
  float sum = 0.0f;
  for (int c = lane; gain != nullptr && c < dim; c += 32) sum = fmaf(load(x + c), load(x + c), sum);
  float scale = 1.0f / sqrtf(warp_sum(sum) / dim + eps);
  for (int c = lane; c < dim; c += 32) store(y + c, gain == nullptr ? load(x + c) : load(x + c) * scale * gain[c]);
}

// prepare_qkv_grad computes dx from dy, and where they are wanted leaves of each block sums over its rows: dqgain and dkgain
// [blocks, dim], dweights [blocks, 2]. A block of 8 warps has the rows from blockIdx.x * chunk on; mixed says that values were.
// dx may be dy.
template <typename A>
DEVICE void prepare_qkv_grad(A *dx, float *dqgain, float *dkgain, float *dweights, const A *dy, const A *x, const float *qgain,
                             const float *kgain, const A *first, const float *weights, i64 rows, i64 chunk, int heads, int kv_heads,
                             int dim, float eps, int mixed) {
  DYNAMIC_SHARED(float, sums);  // of each warp the gradients of qgain and kgain [8, 2, dim]
  __shared__ float weight_sums[8][2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, packed = heads + 2 * kv_heads;
  float *own = sums + warp * 2 * dim, own_weight = 0.0f, first_weight = 0.0f;
  for (int c = lane; c < 2 * dim; c += 32) own[c] = 0.0f;
  __syncwarp();
  i64 end = min((blockIdx.x + 1) * chunk, rows);
  for (i64 row = blockIdx.x * chunk + warp; row < end; row += 8) {
    int head = row % packed;
    const A *g = dy + row * dim, *v = x + row * dim;  // x may be null where it is not read
    A *to = dx + row * dim;
    if (head >= heads + kv_heads) {
      if (dweights != nullptr) {
        const A *other = first + (row / packed * kv_heads + head - heads - kv_heads) * dim;
        for (int c = lane; c < dim; c += 32) {
          own_weight = fmaf(load(g + c), load(v + c), own_weight);
          first_weight = fmaf(load(g + c), load(other + c), first_weight);
        }
      }
      float factor = !mixed ? 1.0f : weights == nullptr ? 0.5f : weights[0];
      for (int c = lane; c < dim; c += 32) store(to + c, factor * load(g + c));
      continue;
    }
    const float *gain = head < heads ? qgain : kgain;
    if (gain == nullptr) {
      for (int c = lane; c < dim; c += 32) store(to + c, load(g + c));
      continue;
    }
    float square = 0.0f, product = 0.0f, *dgain = head < heads ? own : own + dim;
    for (int c = lane; c < dim; c += 32) {
      square = fmaf(load(v + c), load(v + c), square);
      product = fmaf(load(g + c) * gain[c], load(v + c), product);
    }
    float scale = 1.0f / sqrtf(warp_sum(square) / dim + eps);
    float mean = warp_sum(product) * scale / dim;  // of dy gain n, with n = x scale
    for (int c = lane; c < dim; c += 32) {
      float n = load(v + c) * scale, d = load(g + c);
      dgain[c] += d * n;
      store(to + c, (d * gain[c] - n * mean) * scale);
    }
  }
  own_weight = warp_sum(own_weight), first_weight = warp_sum(first_weight);
  if (lane == 0) weight_sums[warp][0] = own_weight, weight_sums[warp][1] = first_weight;
  __syncthreads();
  for (int c = threadIdx.x; c < 2 * dim; c += blockDim.x) {
    float sum = 0.0f, *out = c < dim ? dqgain : dkgain;
    for (int w = 0; w < 8; w++) sum += sums[w * 2 * dim + c];
    if (out != nullptr) out[static_cast<i64>(blockIdx.x) * dim + c % dim] = sum;
  }
  if (threadIdx.x < 2 && dweights != nullptr) {
    float sum = 0.0f;
    for (int w = 0; w < 8; w++) sum += weight_sums[w][threadIdx.x];
    dweights[static_cast<i64>(blockIdx.x) * 2 + threadIdx.x] = sum;
  }
}

// values_copy copies the values of qkv to v [tokens, kv_heads, dim]; a thread one of the n of v.
template <typename A>
DEVICE void values_copy(A *v, const A *qkv, i64 n, int heads, int kv_heads, int dim) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  int width = kv_heads * dim;
  if (i < n) v[i] = qkv[i / width * (heads + 2 * kv_heads) * dim + (heads + kv_heads) * dim + i % width];
}

// values_grad sets dqkv to addend, or 0 where that is null, and adds dv to its values; a thread one of the n of dqkv.
template <typename A>
DEVICE void values_grad(A *dqkv, const A *dv, const A *addend, i64 n, int heads, int kv_heads, int dim) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int stride = (heads + 2 * kv_heads) * dim, at = static_cast<int>(i % stride) - (heads + kv_heads) * dim;
  float x = addend == nullptr ? 0.0f : load(addend + i);
  store(dqkv + i, at < 0 ? x : x + load(dv + i / stride * kv_heads * dim + at));
}

// values_first computes dfirst = addend + weights[1] dv of the mixed values' gradient dy; a thread one of the n of dfirst.
template <typename A>
DEVICE void values_first(A *dfirst, const A *dy, const float *weights, const A *addend, i64 n, int heads, int kv_heads, int dim) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int width = kv_heads * dim;
  float d = load(dy + i / width * (heads + 2 * kv_heads) * dim + (heads + kv_heads) * dim + i % width);
  float weight = weights == nullptr ? 0.5f : weights[1];
  store(dfirst + i, addend == nullptr ? weight * d : load(addend + i) + weight * d);
}

#define PREPARE_QKV(A, suffix)                                                                                                 \
  KERNEL(256)                                                                                                                  \
  prepare_qkv_##suffix(A *y, const A *x, const float *qgain, const float *kgain, const A *first, const float *weights, i64 rows, \
                       int heads, int kv_heads, int dim, float eps) {                                                          \
    prepare_qkv(y, x, qgain, kgain, first, weights, rows, heads, kv_heads, dim, eps);                                          \
  }                                                                                                                            \
  KERNEL(256)                                                                                                                  \
  prepare_qkv_grad_##suffix(A *dx, float *dqgain, float *dkgain, float *dweights, const A *dy, const A *x, const float *qgain, \
                            const float *kgain, const A *first, const float *weights, i64 rows, i64 chunk, int heads,          \
                            int kv_heads, int dim, float eps, int mixed) {                                                    \
    prepare_qkv_grad(dx, dqgain, dkgain, dweights, dy, x, qgain, kgain, first, weights, rows, chunk, heads, kv_heads, dim,     \
                     eps, mixed);                                                                                              \
  }                                                                                                                            \
  KERNEL(256) values_copy_##suffix(A *v, const A *qkv, i64 n, int heads, int kv_heads, int dim) {                              \
    values_copy(v, qkv, n, heads, kv_heads, dim);                                                                              \
  }                                                                                                                            \
  KERNEL(256)                                                                                                                  \
  values_grad_##suffix(A *dqkv, const A *dv, const A *addend, i64 n, int heads, int kv_heads, int dim) {                       \
    values_grad(dqkv, dv, addend, n, heads, kv_heads, dim);                                                                    \
  }                                                                                                                            \
  KERNEL(256)                                                                                                                  \
  values_first_##suffix(A *dfirst, const A *dy, const float *weights, const A *addend, i64 n, int heads, int kv_heads,         \
                        int dim) {                                                                                             \
    values_first(dfirst, dy, weights, addend, n, heads, kv_heads, dim);                                                        \
  }

PREPARE_QKV(float, f32)
PREPARE_QKV(bf16, bf16)
