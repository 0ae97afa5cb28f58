// Sums of tensors, each times a weight, up to TERMS of them in a launch, and their gradients. The weights of a token begin stride
// floats after those of the token before it; with a stride of 0 all tokens have the same.
#include "terms.cuh"

// weighted_sum computes y_t = base_t + sum over j of weights_t[j] x[j]_t, with all of them [rows, width]; base may be null, or
// y. A tensor of weight 0 is left out. Four columns a thread in blocks of 256.
template <typename Y, typename X>
DEVICE void weighted_sum(Y* y, const float* base, const float* weights, const X* const (&x)[TERMS], int stride, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float sum[4] = {-0.0f, -0.0f, -0.0f, -0.0f}, v[4];  // which changes no number that is added to it, not even -0
  if (base != nullptr) read4(base + at, q.count, sum);
  weights += q.row * stride;
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    if (x[j] == nullptr) break;
    float weight = weights[j];
    if (weight == 0.0f) continue;
    read4(x[j] + at, q.count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += weight * v[k];
  }
  write4(y + at, q.count, sum);
}

#define WEIGHTED_SUM(name, Y, X)                                                                              \
  KERNEL(256) name(Y* y, const float* base, const float* weights, TENSORS(X), int stride, int rows, int width) { \
    const X* const x[TERMS] = LIST;                                                                           \
    weighted_sum(y, base, weights, x, stride, rows, width);                                                   \
  }

WEIGHTED_SUM(weighted_sum_f32, float, float)
WEIGHTED_SUM(weighted_sum_bf16, bf16, bf16)
WEIGHTED_SUM(weighted_sum_part_bf16, float, bf16)  // not the last launch of a sum of more tensors

// weights_grad computes the gradient of weights for all tokens: partial [blocks, terms], of which block b leaves in row b the
// products of dy with each tensor over the elements [b * chunk, (b + 1) * chunk) of n.
template <typename A>
DEVICE void weights_grad(float* partial, const A* dy, const A* const (&x)[TERMS], int terms, i64 n, i64 chunk) {
  float sums[TERMS] = {};
  i64 begin = blockIdx.x * chunk, end = min(begin + chunk, n);
  for (i64 i = begin + 4 * threadIdx.x; i < end; i += 4 * 256) add_products(sums, dy, x, i, end - i);
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float sum = block_sum<256>(sums[j]);
    if (threadIdx.x == 0 && x[j] != nullptr) partial[static_cast<i64>(blockIdx.x) * terms + j] = sum;
  }
}

#define WEIGHTS_GRAD(name, A)                                                                    \
  KERNEL(256) name(float* partial, const A* dy, TENSORS(A), int terms, i64 n, i64 chunk) { \
    const A* const x[TERMS] = LIST;                                                              \
    weights_grad(partial, dy, x, terms, n, chunk);                                               \
  }

WEIGHTS_GRAD(weights_grad_f32, float)
WEIGHTS_GRAD(weights_grad_bf16, bf16)

// weights_grad_each computes that of weights of each token's own, dweights_t[j] (+)= dy_t . x[j]_t, with dweights [rows, terms].
// A warp takes a token.
template <typename A>
DEVICE void weights_grad_each(float* dweights, const A* dy, const A* const (&x)[TERMS], int terms, int rows, int width,
                              int accumulate) {
  int lane = threadIdx.x % 32;
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  float sums[TERMS] = {};
  for (int column = 4 * lane; column < width; column += 4 * 32) add_products(sums, dy, x, row * width + column, width - column);
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float sum = warp_sum(sums[j]);
    if (lane > 0 || x[j] == nullptr) continue;
    float* out = dweights + row * terms + j;
    *out = accumulate ? *out + sum : sum;
  }
}

#define WEIGHTS_GRAD_EACH(name, A)                                                                                 \
  KERNEL(256) name(float* dweights, const A* dy, TENSORS(A), int terms, int rows, int width, int accumulate) { \
    const A* const x[TERMS] = LIST;                                                                                \
    weights_grad_each(dweights, dy, x, terms, rows, width, accumulate);                                            \
  }

WEIGHTS_GRAD_EACH(weights_grad_each_f32, float)
WEIGHTS_GRAD_EACH(weights_grad_each_bf16, bf16)

// weighted_term computes dx_t = addend_t + weights_t[0] dy_t, with all of them [rows, width]; addend may be null, dx may be dy
// or addend.
template <typename A>
DEVICE void weighted_term(A* dx, const A* dy, const float* weights, const A* addend, int stride, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float weight = weights[q.row * stride], v[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  read4(dy + at, q.count, v);
  if (addend != nullptr) read4(addend + at, q.count, sum);
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += weight * v[k];
  write4(dx + at, q.count, sum);
}

KERNEL(256)
weighted_term_f32(float* dx, const float* dy, const float* weights, const float* addend, int stride, int rows, int width) {
  weighted_term(dx, dy, weights, addend, stride, rows, width);
}
KERNEL(256)
weighted_term_bf16(bf16* dx, const bf16* dy, const float* weights, const bf16* addend, int stride, int rows, int width) {
  weighted_term(dx, dy, weights, addend, stride, rows, width);
}
