// Several sums of the same tensors, each with weights of each token's own, up to TERMS tensors in a launch, and their gradients.
// The weights are [rows, ways, terms]; weights and their gradient are given from the first tensor of the launch on. All sums but the
// last are packed [rows, ways - 1, width], the last is [rows, width].
#include "terms.cuh"

constexpr int WAYS = 4;  // sums of a thread; blockIdx.y counts such groups

// row_of is where a row of a sum, or of its gradient, begins; null if it is not there.
template <typename A>
DEVICE A* row_of(A* packed, A* last, i64 row, int way, int ways, int width) {
  if (way < ways - 1) return packed == nullptr ? nullptr : packed + (row * (ways - 1) + way) * width;
  return last == nullptr ? nullptr : last + row * width;
}

// multiway_sum computes y[c]_t = sum over j of weights[t, c, j] x[j]_t; a tensor of weight 0 is left out. Where a sum takes several
// launches, the first is begin, the last is end, and part [rows, ways, width] has the sums between them. Four columns a thread in
// blocks of 256.
template <typename A>
DEVICE void multiway_sum(A* packed, A* last, float* part, const float* weights, const A* const (&x)[TERMS], int terms, int ways,
                         int rows, int width, int begin, int end) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  int first = WAYS * blockIdx.y;
  float sums[WAYS][4], v[4];
#pragma unroll
  for (int c = 0; c < WAYS; c++) {
#pragma unroll
    for (int k = 0; k < 4; k++) sums[c][k] = -0.0f;  // which changes no number that is added to it, not even -0
    if (!begin && first + c < ways) read4(part + (q.row * ways + first + c) * width + q.column, q.count, sums[c]);
  }
  weights += (q.row * ways + first) * terms;
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    if (x[j] == nullptr) break;
    read4(x[j] + q.row * width + q.column, q.count, v);
#pragma unroll
    for (int c = 0; c < WAYS; c++) {
      if (first + c >= ways) break;
      float weight = weights[c * terms + j];
      if (weight == 0.0f) continue;
#pragma unroll
      for (int k = 0; k < 4; k++) sums[c][k] += weight * v[k];
    }
  }
#pragma unroll
  for (int c = 0; c < WAYS; c++) {
    if (first + c >= ways) break;
    if (!end) {
      write4(part + (q.row * ways + first + c) * width + q.column, q.count, sums[c]);
      continue;
    }
    A* y = row_of(packed, last, q.row, first + c, ways, width);
    if (y != nullptr) write4(y + q.column, q.count, sums[c]);
  }
}

#define MULTIWAY_SUM(name, A)                                                                                                  \
  KERNEL(256) name(A* packed, A* last, float* part, const float* weights, TENSORS(A), int terms, int ways, int rows, int width, \
                   int begin, int end) {                                                                                       \
    const A* const x[TERMS] = LIST;                                                                                            \
    multiway_sum(packed, last, part, weights, x, terms, ways, rows, width, begin, end);                                        \
  }

MULTIWAY_SUM(multiway_sum_f32, float)
MULTIWAY_SUM(multiway_sum_bf16, bf16)

// multiway_weights computes dweights[t, c, j] (+)= dy[c]_t . x[j]_t. A warp takes a sum of a token; those of a token are in one
// block or two, which read the tensors from memory once.
template <typename A>
DEVICE void multiway_weights(float* dweights, const A* packed, const A* last, const A* const (&x)[TERMS], int terms, int ways, int rows,
                             int width, int accumulate) {
  int lane = threadIdx.x % 32;
  i64 pair = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  i64 row = pair / ways;
  if (row >= rows) return;
  const A* dy = row_of(packed, last, row, static_cast<int>(pair - row * ways), ways, width);
  float sums[TERMS] = {};
  if (dy != nullptr) {
    const A* at[TERMS];
#pragma unroll
    for (int j = 0; j < TERMS; j++) at[j] = x[j] == nullptr ? nullptr : x[j] + row * width;
    for (int column = 4 * lane; column < width; column += 4 * 32) add_products(sums, dy, at, column, width - column);
  }
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float sum = warp_sum(sums[j]);
    if (lane > 0 || x[j] == nullptr) continue;
    float* out = dweights + pair * terms + j;
    *out = accumulate ? *out + sum : sum;
  }
}

#define MULTIWAY_WEIGHTS(name, A)                                                                                                \
  KERNEL(256) name(float* dweights, const A* packed, const A* last, TENSORS(A), int terms, int ways, int rows, int width,         \
                   int accumulate) {                                                                                             \
    const A* const x[TERMS] = LIST;                                                                                              \
    multiway_weights(dweights, packed, last, x, terms, ways, rows, width, accumulate);                                           \
  }

MULTIWAY_WEIGHTS(multiway_weights_f32, float)
MULTIWAY_WEIGHTS(multiway_weights_bf16, bf16)

// multiway_term computes dx_t = addend_t + sum over c of weights[t, c, 0] dy[c]_t; addend may be null, or dx.
template <typename A>
DEVICE void multiway_term(A* dx, const A* packed, const A* last, const float* weights, const A* addend, int terms, int ways, int rows,
                          int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float v[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (addend != nullptr) read4(addend + at, q.count, sum);
  for (int c = 0; c < ways; c++) {
    const A* dy = row_of(packed, last, q.row, c, ways, width);
    if (dy == nullptr) continue;
    float weight = weights[(q.row * ways + c) * terms];
    read4(dy + q.column, q.count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += weight * v[k];
  }
  write4(dx + at, q.count, sum);
}

KERNEL(256)
multiway_term_f32(float* dx, const float* packed, const float* last, const float* weights, const float* addend, int terms, int ways,
                  int rows, int width) {
  multiway_term(dx, packed, last, weights, addend, terms, ways, rows, width);
}
KERNEL(256)
multiway_term_bf16(bf16* dx, const bf16* packed, const bf16* last, const float* weights, const bf16* addend, int terms, int ways,
                   int rows, int width) {
  multiway_term(dx, packed, last, weights, addend, terms, ways, rows, width);
}
