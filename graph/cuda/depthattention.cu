// Attention over depth (Kimi 2026, arXiv 2603.15031), up to TERMS sources in a launch, and its gradients. For each token, with
// q = query ⊙ gain,
//
//	scores_i = r_i (q . v_i), r_i = 1 / sqrt(mean(v_i^2) + eps);   weights = softmax(scores)
//	c_i = weights_i (da_i - sum over j of weights_j da_j) r_i;   own_i = -c_i r_i^2 (q . v_i) / width
//	dv_i = addend_i + weights_i du + c_i q + own_i v_i;   dq = sum over tokens and i of c_i v_i
//
// where da_i = du . v_i. What is of a token and a source is [rows, terms], given from the first source of a launch on. The sum itself is
// weighted_sum.
#include "terms.cuh"

// read_query reads four entries of q.
DEVICE void read_query(const float* query, const float* gain, int column, int count, float q[4]) {
  float g[4];
  read4(query + column, count, q);
  read4(gain + column, count, g);
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] *= g[k];
}

// depth_scores makes scores and r. A warp takes a token.
template <typename A>
DEVICE void depth_scores(float* scores, float* rstd, const float* query, const float* gain, const A* const (&v)[TERMS], int terms, int rows,
                         int width, float eps) {
  int lane = threadIdx.x % 32;
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  float squares[TERMS] = {}, dots[TERMS] = {};
  for (int column = 4 * lane; column < width; column += 4 * 32) {
    float q[4], x[4];
    read_query(query, gain, column, width - column, q);
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
      if (v[j] == nullptr) break;
      read4(v[j] + row * width + column, width - column, x);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        squares[j] += x[k] * x[k];
        dots[j] += q[k] * x[k];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float square = warp_sum(squares[j]), dot = warp_sum(dots[j]);
    if (lane > 0 || v[j] == nullptr) continue;
    float r = 1.0f / sqrtf(square / static_cast<float>(width) + eps);
    rstd[row * terms + j] = r;
    scores[row * terms + j] = r * dot;
  }
}

#define DEPTH_SCORES(name, A)                                                                                              \
  KERNEL(256) name(float* scores, float* rstd, const float* query, const float* gain, TENSORS(A), int terms, int rows, int width, \
                   float eps) {                                                                                            \
    const A* const x[TERMS] = LIST;                                                                                        \
    depth_scores(scores, rstd, query, gain, x, terms, rows, width, eps);                                                   \
  }

DEPTH_SCORES(depth_scores_f32, float)
DEPTH_SCORES(depth_scores_bf16, bf16)

// depth_softmax makes weights of scores, in place. A thread takes a token.
KERNEL(64) depth_softmax(float* scores, int terms, int rows) {
  i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  scores += row * terms;
  float largest = scores[0], sum = 0.0f;
  for (int j = 1; j < terms; j++) largest = fmaxf(largest, scores[j]);
  for (int j = 0; j < terms; j++) {
    scores[j] = expf(scores[j] - largest);
    sum += scores[j];
  }
  for (int j = 0; j < terms; j++) scores[j] /= sum;
}

// depth_dots makes da, unless du is null, and along_i = q . v_i. A warp takes a token.
template <typename A>
DEVICE void depth_dots(float* da, float* along, const A* du, const float* query, const float* gain, const A* const (&v)[TERMS], int terms,
                       int rows, int width) {
  int lane = threadIdx.x % 32;
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  float gradients[TERMS] = {}, dots[TERMS] = {};
  for (int column = 4 * lane; column < width; column += 4 * 32) {
    float q[4], x[4], d[4] = {};
    read_query(query, gain, column, width - column, q);
    if (du != nullptr) read4(du + row * width + column, width - column, d);
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
      if (v[j] == nullptr) break;
      read4(v[j] + row * width + column, width - column, x);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        gradients[j] += d[k] * x[k];
        dots[j] += q[k] * x[k];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float gradient = warp_sum(gradients[j]), dot = warp_sum(dots[j]);
    if (lane > 0 || v[j] == nullptr) continue;
    if (du != nullptr) da[row * terms + j] = gradient;
    along[row * terms + j] = dot;
  }
}

#define DEPTH_DOTS(name, A)                                                                                                \
  KERNEL(256) name(float* da, float* along, const A* du, const float* query, const float* gain, TENSORS(A), int terms, int rows, \
                   int width) {                                                                                            \
    const A* const x[TERMS] = LIST;                                                                                        \
    depth_dots(da, along, du, query, gain, x, terms, rows, width);                                                         \
  }

DEPTH_DOTS(depth_dots_f32, float)
DEPTH_DOTS(depth_dots_bf16, bf16)

// depth_coefficients makes c, and own in the place of along. A thread takes a token.
KERNEL(64) depth_coefficients(float* c, float* along, const float* da, const float* weights, const float* rstd, int terms, int rows, int width) {
  i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float mean = 0.0f;
  for (i64 i = row * terms; i < (row + 1) * terms; i++) mean += weights[i] * da[i];
  for (i64 i = row * terms; i < (row + 1) * terms; i++) {
    float r = rstd[i], each = weights[i] * (da[i] - mean) * r;
    c[i] = each;
    along[i] *= -each * r * r / static_cast<float>(width);
  }
}

// depth_source makes dv of one source; du and addend may be null, dv may be addend.
template <typename A>
DEVICE void depth_source(A* dv, const A* addend, const A* du, const A* v, const float* query, const float* gain, const float* weights,
                         const float* c, const float* own, int terms, int rows, int width) {
  Quad at = quad_of(rows, width);
  if (at.count <= 0) return;
  i64 i = at.row * width + at.column;
  float q[4], x[4], d[4] = {}, sum[4] = {};
  read_query(query, gain, at.column, at.count, q);
  read4(v + i, at.count, x);
  if (du != nullptr) read4(du + i, at.count, d);
  if (addend != nullptr) read4(addend + i, at.count, sum);
  float of_du = weights[at.row * terms], of_q = c[at.row * terms], of_v = own[at.row * terms];
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += of_du * d[k] + of_q * q[k] + of_v * x[k];
  write4(dv + i, at.count, sum);
}

#define DEPTH_SOURCE(name, A)                                                                                                    \
  KERNEL(256) name(A* dv, const A* addend, const A* du, const A* v, const float* query, const float* gain, const float* weights, \
                   const float* c, const float* own, int terms, int rows, int width) {                                           \
    depth_source(dv, addend, du, v, query, gain, weights, c, own, terms, rows, width);                                           \
  }

DEPTH_SOURCE(depth_source_f32, float)
DEPTH_SOURCE(depth_source_bf16, bf16)

// depth_query adds the part of dq that chunk tokens have, or begins with it, to partial [blocks, width]. A thread takes a column.
template <typename A>
DEVICE void depth_query(float* partial, const float* c, const A* const (&v)[TERMS], int terms, int rows, int width, int chunk, int begin) {
  int column = blockIdx.y * 256 + threadIdx.x;
  if (column >= width) return;
  i64 first = static_cast<i64>(blockIdx.x) * chunk, end = min(first + chunk, static_cast<i64>(rows));
  float sum = 0.0f;
  for (i64 row = first; row < end; row++) {
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
      if (v[j] == nullptr) break;
      sum += c[row * terms + j] * load(v[j] + row * width + column);
    }
  }
  partial += static_cast<i64>(blockIdx.x) * width + column;
  *partial = begin ? sum : *partial + sum;
}

#define DEPTH_QUERY(name, A)                                                                                         \
  KERNEL(256) name(float* partial, const float* c, TENSORS(A), int terms, int rows, int width, int chunk, int begin) { \
    const A* const x[TERMS] = LIST;                                                                                  \
    depth_query(partial, c, x, terms, rows, width, chunk, begin);                                                    \
  }

DEPTH_QUERY(depth_query_f32, float)
DEPTH_QUERY(depth_query_bf16, bf16)

// depth_parameters makes to (+)= by ⊙ dq, of the query by the gain and the other way round.
KERNEL(256) depth_parameters(float* to, const float* dq, const float* by, int width, int accumulate) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= width) return;
  float x = by[column] * dq[column];
  to[column] = accumulate ? to[column] + x : x;
}
