// SinkhornCoefficients (mHC, arXiv 2512.24880, section 4.2): M = exp(logits - the column's largest), then iterations times
// its columns and then its rows are divided by their sums (Sinkhorn & Knopp 1967).
//
// A step back needs M after it. The forward pass of the gradient keeps the sums that M was divided by, in steps
// [2 iterations, n, slots], and the way back multiplies M by them again. There g = dM ⊙ M, the gradient of log M: where
// y = x / sum(x), that of log x is g - y sum(g), without quotients that could overflow.
#include "streamgates.cuh"

// LOWEST is the least that a logit can lie below its column's largest: no row of M vanishes.
constexpr float LOWEST = -80.0f;

// ---- n <= N, in registers: a thread takes a token. Entries beyond n are zero. ----

template <int N>
struct Matrix {
  float m[N][N];

  // start makes M of the logits.
  DEVICE void start(const Gated &g) {
#pragma unroll
    for (int j = 0; j < N; j++) {
      float largest = -INFINITY;
#pragma unroll
      for (int i = 0; i < N; i++) {
        m[i][j] = i < g.n && j < g.n ? g.carry(i * g.n + j) : 0.0f;
        if (i < g.n) largest = fmaxf(largest, m[i][j]);
      }
#pragma unroll
      for (int i = 0; i < N; i++) m[i][j] = i < g.n && j < g.n ? expf(fmaxf(m[i][j] - largest, LOWEST)) : 0.0f;
    }
  }

  // sums adds up each column, or row.
  DEVICE void sums(float (&s)[N], bool rows) const {
#pragma unroll
    for (int j = 0; j < N; j++) {
      s[j] = 0.0f;
#pragma unroll
      for (int i = 0; i < N; i++) s[j] += rows ? m[j][i] : m[i][j];
    }
  }

  // scale multiplies each column, or row, by its factor.
  DEVICE void scale(const float (&s)[N], bool rows) {
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
      for (int j = 0; j < N; j++) m[i][j] *= s[rows ? i : j];
    }
  }

  // normalize divides each column, or row, by its sum; the sums are left in s.
  DEVICE void normalize(float (&s)[N], bool rows, int n) {
    float inverse[N];
    sums(s, rows);
#pragma unroll
    for (int j = 0; j < N; j++) inverse[j] = j < n ? 1.0f / s[j] : 0.0f;
    scale(inverse, rows);
  }

  // back takes g, the gradient of log y, to that of log x, y being x with its columns, or rows, normalised.
  DEVICE void back(const Matrix &y, bool rows) {
    float s[N];
    sums(s, rows);
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
      for (int j = 0; j < N; j++) m[i][j] = fmaf(-y.m[i][j], s[rows ? i : j], m[i][j]);
    }
  }
};

template <int N>
DEVICE void sinkhorn(float *c, const float *z, const float *alpha, const float *bias, i64 tokens, int n, int iterations) {
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * n * (n + 2), alpha, bias, n};
  Matrix<N> m;
  float s[N];
  m.start(g);
  for (int step = 0; step < iterations; step++) {
    m.normalize(s, false, n);
    m.normalize(s, true, n);
  }
  c += t * n * (n + 2);
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (i >= n) break;
    put_gates(c, g, i);
#pragma unroll
    for (int k = 0; k < N; k++) {
      if (k < n) c[i * (n + 2) + 1 + k] = m.m[k][i];
    }
  }
}

// keep writes the sums of a step, take reads them: steps [2 iterations, n, slots] from the token's slot on.
template <int N>
DEVICE void keep(float *steps, const float (&s)[N], int step, int n, i64 slots) {
#pragma unroll
  for (int j = 0; j < N; j++) {
    if (j < n) steps[((i64)step * n + j) * slots] = s[j];
  }
}

template <int N>
DEVICE void take(float (&s)[N], const float *steps, int step, int n, i64 slots) {
#pragma unroll
  for (int j = 0; j < N; j++) s[j] = j < n ? steps[((i64)step * n + j) * slots] : 0.0f;
}

// dz gets the gradient of zt; see stream_gates_sums.
template <int N>
DEVICE void sinkhorn_grad(float *dz, float *steps, const float *dc, const float *z, const float *alpha, const float *bias,
                          i64 tokens, int n, int iterations) {
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * n * (n + 2), alpha, bias, n};
  dc += t * n * (n + 2);
  dz += t * n * (n + 2);
  steps += t;
  Matrix<N> m, dm;  // dm is the gradient of log M
  float s[N];
  m.start(g);
  for (int step = 0; step < 2 * iterations; step += 2) {
    m.normalize(s, false, n);
    keep(steps, s, step, n, tokens);
    m.normalize(s, true, n);
    keep(steps, s, step + 1, n, tokens);
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
    if (k < n) put_gates_grad(dz, dc, g, k);
#pragma unroll
    for (int i = 0; i < N; i++) dm.m[k][i] = k < n && i < n ? dc[i * (n + 2) + 1 + k] * m.m[k][i] : 0.0f;
  }
  for (int step = 2 * iterations - 2; step >= 0; step -= 2) {
    dm.back(m, true);
    take(s, steps, step + 1, n, tokens);
    m.scale(s, true);
    dm.back(m, false);
    take(s, steps, step, n, tokens);
    m.scale(s, false);
  }
#pragma unroll
  for (int k = 0; k < N; k++) {
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (k < n && i < n) dz[2 * n + k * n + i] = dm.m[k][i];
    }
  }
}

// ---- n up to 64, in shared memory: a block of 64 threads takes a token, a thread a column or a row. ----

constexpr int WIDE = 64;

// Wide is a matrix [n, n] with rows of WIDE + 1 entries.
struct Wide {
  float m[WIDE][WIDE + 1];

  // at is entry e of line j, a row or a column.
  DEVICE float &at(int j, int e, bool rows) { return rows ? m[j][e] : m[e][j]; }

  DEVICE float sum(int j, bool rows, int n) {
    float s = 0.0f;
    for (int e = 0; e < n; e++) s += at(j, e, rows);
    return s;
  }

  DEVICE void scale(int j, bool rows, int n, float factor) {
    for (int e = 0; e < n; e++) at(j, e, rows) *= factor;
  }

  // start makes M of the logits, column j by its thread.
  DEVICE void start(int j, const Gated &g) {
    float largest = -INFINITY;
    for (int i = 0; i < g.n; i++) largest = fmaxf(largest, m[i][j] = g.carry(i * g.n + j));
    for (int i = 0; i < g.n; i++) m[i][j] = expf(fmaxf(m[i][j] - largest, LOWEST));
  }

  // normalize divides line j by its sum, which it returns.
  DEVICE float normalize(int j, bool rows, int n) {
    const float s = sum(j, rows, n);
    scale(j, rows, n, 1.0f / s);
    return s;
  }

  // back is Matrix's, of line j.
  DEVICE void back(int j, Wide &y, bool rows, int n) {
    const float s = sum(j, rows, n);
    for (int e = 0; e < n; e++) at(j, e, rows) -= y.at(j, e, rows) * s;
  }
};

// c [tokens, n, n+2]; blocks take every gridDim.x-th token.
KERNEL(64)
sinkhorn_wide(float *c, const float *z, const float *alpha, const float *bias, i64 tokens, int n, int iterations) {
  __shared__ Wide m;
  const int j = threadIdx.x;
  for (i64 t = blockIdx.x; t < tokens; t += gridDim.x) {
    const Gated g{z + t * n * (n + 2), alpha, bias, n};
    if (j < n) m.start(j, g);
    for (int step = 0; step < 2 * iterations; step++) {
      if (j < n) m.normalize(j, step % 2 == 1, n);
      __syncthreads();
    }
    float *to = c + t * n * (n + 2);
    if (j < n) put_gates(to, g, j);
    for (int e = j; e < n * n; e += WIDE) to[e / n * (n + 2) + 1 + e % n] = m.m[e % n][e / n];
    __syncthreads();
  }
}

// steps [2 iterations, n, gridDim.x].
KERNEL(64)
sinkhorn_grad_wide(float *dz, float *steps, const float *dc, const float *z, const float *alpha, const float *bias,
                   i64 tokens, int n, int iterations) {
  __shared__ Wide m, dm;
  const int j = threadIdx.x;
  steps += blockIdx.x + (i64)j * gridDim.x;
  const i64 stride = (i64)n * gridDim.x;
  for (i64 t = blockIdx.x; t < tokens; t += gridDim.x) {
    const Gated g{z + t * n * (n + 2), alpha, bias, n};
    const float *from = dc + t * n * (n + 2);
    float *to = dz + t * n * (n + 2);
    if (j < n) m.start(j, g);
    for (int step = 0; step < 2 * iterations; step++) {
      if (j < n) steps[step * stride] = m.normalize(j, step % 2 == 1, n);
      __syncthreads();
    }
    if (j < n) put_gates_grad(to, from, g, j);
    for (int e = j; e < n * n; e += WIDE) dm.m[e % n][e / n] = from[e / n * (n + 2) + 1 + e % n] * m.m[e % n][e / n];
    __syncthreads();
    for (int step = 2 * iterations - 1; step >= 0; step--) {
      if (j < n) {
        dm.back(j, m, step % 2 == 1, n);
        m.scale(j, step % 2 == 1, n, steps[step * stride]);
      }
      __syncthreads();
    }
    for (int e = j; e < n * n; e += WIDE) to[2 * n + e] = dm.m[e / n][e % n];
    __syncthreads();
  }
}

#define SINKHORN(N)                                                                                                    \
  KERNEL(128)                                                                                                          \
  sinkhorn##N(float *c, const float *z, const float *alpha, const float *bias, i64 tokens, int n, int iterations) {    \
    sinkhorn<N>(c, z, alpha, bias, tokens, n, iterations);                                                             \
  }                                                                                                                    \
  KERNEL(128)                                                                                                          \
  sinkhorn_grad##N(float *dz, float *steps, const float *dc, const float *z, const float *alpha, const float *bias,    \
                   i64 tokens, int n, int iterations) {                                                                \
    sinkhorn_grad<N>(dz, steps, dc, z, alpha, bias, tokens, n, iterations);                                            \
  }

// n at most N.
SINKHORN(4)
SINKHORN(8)
