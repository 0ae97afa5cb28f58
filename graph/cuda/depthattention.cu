// Attention over depth (Kimi 2026, arXiv 2603.15031), up to TERMS sources in a launch, and its
// gradients. With several heads (arXiv 2607.27230) each has a part of the columns. For each token
// and head, with q = query ⊙ gain and the products of the head's columns,
//
//	scores_i = r_i (q . v_i), r_i = 1 / sqrt(mean(v_i^2) + eps);   weights = softmax(scores)
//	c_i = weights_i (da_i - sum over j of weights_j da_j) r_i
//	dv_i = addend_i + weights_i du + c_i q + own_i v_i;   dq = sum over tokens and i of c_i v_i
//
// where da_i = du . v_i. The mean and own_i = -r_i^2 / width * sum over heads of c_i (q . v_i) are
// of the whole row. What is of a token, a head and a source is [rows, heads, terms], r is
// [rows, terms], all given from the first source of a launch on. The sum itself is weighted_sum,
// to which a head is a row.
#include "terms.cuh"

// read_query reads four entries of q.
DEVICE void read_query(const float* query, const float* gain, int column, int count, float q[4]) {
  float g[4];
  read4(query + column, count, q);
  read4(gain + column, count, g);
#pragma unroll
  for (int k = 0; k < 4; k++) q[k] *= g[k];
}

// Share is what a lane takes of a token: four columns of a head at a time. A head is shared by as
// many lanes as it keeps busy, a power of two. So a warp takes one wide head or several narrow ones
// at once, then the heads after them.
struct Share {
  int columns;  // of a head
  int lanes;    // that share a head
  int at_once;  // heads that a warp takes at once
  int head;     // the lane's, of those
  int first;    // the lane's first column of its head
};

DEVICE Share share_of(int width, int heads) {
  int columns = width / heads, bits = 5, lane = threadIdx.x % 32;
  while (bits > 0 && 2 << bits >= columns) bits--;
  return Share{columns, 1 << bits, 32 >> bits, lane >> bits, 4 * (lane & ((1 << bits) - 1))};
}

// sum_lanes adds each x over the lanes that share a head. All lanes of a warp must call it.
DEVICE void sum_lanes(float (&x)[TERMS], int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (int j = 0; j < TERMS; j++) x[j] += __shfl_xor_sync(0xffffffffu, x[j], step);
  }
}

// add_head adds the products of a head's columns that a lane takes: of q with each source, and of
// each source with itself.
template <typename A>
DEVICE void add_head(float (&dots)[TERMS], float (&squares)[TERMS], const float* query, const float* gain, const A* const (&v)[TERMS], i64 row,
                     int head, int width, const Share& s) {
  int end = (head + 1) * s.columns;
  for (int column = head * s.columns + s.first; column < end; column += 4 * s.lanes) {
    float q[4], x[4];
    read_query(query, gain, column, end - column, q);
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
      if (v[j] == nullptr) break;
      read4(v[j] + row * width + column, end - column, x);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        squares[j] += x[k] * x[k];
        dots[j] += q[k] * x[k];
      }
    }
  }
}

// depth_scores makes r, and q . v_i in the place of scores. A warp takes a token; registers are
// limited so that five blocks run on a multiprocessor at once.
template <typename A>
DEVICE void depth_scores(float* scores, float* rstd, const float* query, const float* gain, const A* const (&v)[TERMS], int terms, int heads,
                         int rows, int width, float eps) {
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  Share s = share_of(width, heads);
  float squares[TERMS] = {};
  for (int head = s.head; head - s.head < heads; head += s.at_once) {
    float dots[TERMS] = {};
    if (head < heads) add_head(dots, squares, query, gain, v, row, head, width, s);
    sum_lanes(dots, s.lanes);
    if (s.first > 0 || head >= heads) continue;
#pragma unroll
    for (int j = 0; j < TERMS; j++)
      if (v[j] != nullptr) scores[(row * heads + head) * terms + j] = dots[j];
  }
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    float square = warp_sum(squares[j]);
    if (threadIdx.x % 32 == 0 && v[j] != nullptr) rstd[row * terms + j] = 1.0f / sqrtf(square / static_cast<float>(width) + eps);
  }
}

#define DEPTH_SCORES(name, A)                                                                                              \
  KERNEL(256, 5) name(float* scores, float* rstd, const float* query, const float* gain, TENSORS(A), int terms, int heads, \
                   int rows, int width, float eps) {                                                                       \
    const A* const x[TERMS] = LIST;                                                                                        \
    depth_scores(scores, rstd, query, gain, x, terms, heads, rows, width, eps);                                            \
  }

DEPTH_SCORES(depth_scores_f32, float)
DEPTH_SCORES(depth_scores_bf16, bf16)

// depth_softmax makes weights of what depth_scores makes, in place. A thread takes a token's head.
KERNEL(64) depth_softmax(float* scores, const float* rstd, int terms, int heads, int rows) {
  i64 index = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  i64 row = index / heads;
  if (row >= rows) return;
  scores += index * terms;
  rstd += row * terms;
  float largest = -INFINITY, sum = 0.0f;
  for (int j = 0; j < terms; j++) {
    scores[j] *= rstd[j];
    largest = fmaxf(largest, scores[j]);
  }
  for (int j = 0; j < terms; j++) {
    scores[j] = expf(scores[j] - largest);
    sum += scores[j];
  }
  for (int j = 0; j < terms; j++) scores[j] /= sum;
}

// depth_dots makes da, unless du is null, and along_i = q . v_i. A warp takes a token; five blocks
// run on a multiprocessor at once.
template <typename A>
DEVICE void depth_dots(float* da, float* along, const A* du, const float* query, const float* gain, const A* const (&v)[TERMS], int terms,
                       int heads, int rows, int width) {
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  Share s = share_of(width, heads);
  for (int head = s.head; head - s.head < heads; head += s.at_once) {
    float gradients[TERMS] = {}, dots[TERMS] = {};
    int end = head < heads ? (head + 1) * s.columns : 0;
    for (int column = head * s.columns + s.first; column < end; column += 4 * s.lanes) {
      float q[4], x[4], d[4] = {};
      read_query(query, gain, column, end - column, q);
      if (du != nullptr) read4(du + row * width + column, end - column, d);
#pragma unroll
      for (int j = 0; j < TERMS; j++) {
        if (v[j] == nullptr) break;
        read4(v[j] + row * width + column, end - column, x);
#pragma unroll
        for (int k = 0; k < 4; k++) {
          gradients[j] += d[k] * x[k];
          dots[j] += q[k] * x[k];
        }
      }
    }
    sum_lanes(gradients, s.lanes);
    sum_lanes(dots, s.lanes);
    if (s.first > 0 || head >= heads) continue;
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
      if (v[j] == nullptr) break;
      if (du != nullptr) da[(row * heads + head) * terms + j] = gradients[j];
      along[(row * heads + head) * terms + j] = dots[j];
    }
  }
}

#define DEPTH_DOTS(name, A)                                                                                                \
  KERNEL(256, 5) name(float* da, float* along, const A* du, const float* query, const float* gain, TENSORS(A), int terms, int heads, \
                   int rows, int width) {                                                                                  \
    const A* const x[TERMS] = LIST;                                                                                        \
    depth_dots(da, along, du, query, gain, x, terms, heads, rows, width);                                                  \
  }

DEPTH_DOTS(depth_dots_f32, float)
DEPTH_DOTS(depth_dots_bf16, bf16)

// depth_coefficients makes c, and own in place of the first head's along. A thread takes a token.
KERNEL(64)
depth_coefficients(float* c, float* along, const float* da, const float* weights, const float* rstd, int terms, int heads, int rows, int width) {
  i64 row = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* own = along + row * heads * terms;
  rstd += row * terms;
  for (int head = 0; head < heads; head++) {
    i64 first = (row * heads + head) * terms;
    float mean = 0.0f;
    for (i64 i = first; i < first + terms; i++) mean += weights[i] * da[i];
    for (int j = 0; j < terms; j++) {
      i64 i = first + j;
      float r = rstd[j], each = weights[i] * (da[i] - mean) * r;
      c[i] = each;
      float term = along[i] * (-each * r * r / static_cast<float>(width));
      own[j] = head == 0 ? term : own[j] + term;
    }
  }
}

// depth_source makes dv of one source; du and addend may be null, dv may be addend. A head of a
// token is a row: rows counts them, and width is a head's.
template <typename A>
DEVICE void depth_source(A* dv, const A* addend, const A* du, const A* v, const float* query, const float* gain, const float* weights,
                         const float* c, const float* own, int terms, int heads, int rows, int width) {
  Quad at = quad_of(rows, width);
  if (at.count <= 0) return;
  i64 i = at.row * width + at.column, first = at.row;  // the row of the token's first head
  int column = at.column;                              // of the token's row
  if (heads > 1) {
    int head = static_cast<u32>(at.row) % heads;
    first -= head;
    column += head * width;
  }
  float q[4], x[4], d[4] = {}, sum[4] = {};
  read_query(query, gain, column, at.count, q);
  read4(v + i, at.count, x);
  if (du != nullptr) read4(du + i, at.count, d);
  if (addend != nullptr) read4(addend + i, at.count, sum);
  float of_du = weights[at.row * terms], of_q = c[at.row * terms], of_v = own[first * terms];
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += of_du * d[k] + of_q * q[k] + of_v * x[k];
  write4(dv + i, at.count, sum);
}

#define DEPTH_SOURCE(name, A)                                                                                                    \
  KERNEL(256) name(A* dv, const A* addend, const A* du, const A* v, const float* query, const float* gain, const float* weights, \
                   const float* c, const float* own, int terms, int heads, int rows, int width) {                                \
    depth_source(dv, addend, du, v, query, gain, weights, c, own, terms, heads, rows, width);                                    \
  }

DEPTH_SOURCE(depth_source_f32, float)
DEPTH_SOURCE(depth_source_bf16, bf16)

// depth_query adds the part of dq that chunk tokens have, or begins with it, to partial [blocks, width]. A thread takes a column.
template <typename A>
DEVICE void depth_query(float* partial, const float* c, const A* const (&v)[TERMS], int terms, int heads, int rows, int width, int chunk,
                        int begin) {
  int column = blockIdx.y * 256 + threadIdx.x;
  if (column >= width) return;
  c += column / (width / heads) * terms;
  terms *= heads;
  i64 first = static_cast<i64>(blockIdx.x) * chunk, end = min(first + chunk, static_cast<i64>(rows));
  float sum = 0.0f;
#pragma unroll 2
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
  KERNEL(256) name(float* partial, const float* c, TENSORS(A), int terms, int heads, int rows, int width, int chunk, \
                   int begin) {                                                                                      \
    const A* const x[TERMS] = LIST;                                                                                  \
    depth_query(partial, c, x, terms, heads, rows, width, chunk, begin);                                             \
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
