// A stream of n rows a token that is written by the delta rule and read through a causal convolution over positions, as one row,
// and the gradients.
#include "cachedrow.cuh"
#include "vector.cuh"

// inverse_norm is 1 / sqrt(|y|^2 + eps^2).
DEVICE float inverse_norm(float squares, float eps) { return 1.0f / sqrtf(squares + eps * eps); }

// delta_write computes out_t[c] = x_t[c] + 2 gate_t (scale values_t[c] - k . x_t[c]) k with k = y_t / sqrt(|y_t|^2 + eps^2), x
// [tokens, n, width], y [tokens, width]; out may be x. A warp takes one row of a token.
template <typename A>
DEVICE void delta_write(A* out, const A* x, const A* y, const float* gate, const float* values, float eps, float scale, int tokens,
                        int n, int width) {
  int lane = threadIdx.x % 32;
  i64 row = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= static_cast<i64>(tokens) * n) return;
  i64 token = row / n;
  x += row * width, out += row * width, y += token * width;
  float squares = 0.0f, product = 0.0f, a[4], b[4];
  for (int column = 4 * lane; column < width; column += 4 * 32) {
    read4(y + column, width - column, a);
    read4(x + column, width - column, b);
#pragma unroll
    for (int k = 0; k < 4; k++) squares += a[k] * a[k], product += a[k] * b[k];
  }
  float inverse = inverse_norm(warp_sum(squares), eps);
  float factor = 2.0f * gate[token] * (scale * values[row] - warp_sum(product) * inverse) * inverse;
  for (int column = 4 * lane; column < width; column += 4 * 32) {
    read4(y + column, width - column, a);
    read4(x + column, width - column, b);
#pragma unroll
    for (int k = 0; k < 4; k++) b[k] += factor * a[k];
    write4(out + column, width - column, b);
  }
}

#define DELTA_WRITE(name, A)                                                                                                  \
  KERNEL(256) name(A* out, const A* x, const A* y, const float* gate, const float* values, float eps, float scale, int tokens, \
                   int n, int width) {                                                                                        \
    delta_write(out, x, y, gate, values, eps, scale, tokens, n, width);                                                       \
  }

DELTA_WRITE(delta_write_f32, float)
DELTA_WRITE(delta_write_bf16, bf16)

// delta_write_grad computes the gradients of delta_write's x, y, gate and values from dout. dx may be dout; dy, dgate and dvalues
// may be null, add says for each (1, 2, 4) to add to what it holds. A warp takes a token, whose row c is lane c's: n is at most 32.
template <typename A>
DEVICE void delta_write_grad(A* dx, A* dy, float* dgate, float* dvalues, const A* dout, const A* x, const A* y, const float* gate,
                             const float* values, float eps, float scale, int tokens, int n, int width, int add) {
  int lane = threadIdx.x % 32;
  i64 token = static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (token >= tokens) return;
  i64 first = token * n * width;
  dx += first, dout += first, x += first, y += token * width;
  float squares = 0.0f, of_dout = 0.0f, of_x = 0.0f, v[4], d[4], u[4];
  for (int c = 0; c < n; c++) {
    float squared = 0.0f, with_dout = 0.0f, with_x = 0.0f;
    for (int column = 4 * lane; column < width; column += 4 * 32) {
      read4(y + column, width - column, v);
      read4(dout + static_cast<i64>(c) * width + column, width - column, d);
      read4(x + static_cast<i64>(c) * width + column, width - column, u);
#pragma unroll
      for (int k = 0; k < 4; k++) squared += v[k] * v[k], with_dout += v[k] * d[k], with_x += v[k] * u[k];
    }
    if (c == 0) squares = warp_sum(squared);
    with_dout = warp_sum(with_dout), with_x = warp_sum(with_x);
    if (lane == c) of_dout = with_dout, of_x = with_x;
  }
  float inverse = inverse_norm(squares, eps), beta = 2.0f * gate[token];
  float a = of_dout * inverse, s = of_x * inverse;  // k . dout[c], k . x[c]
  float rest = lane < n ? scale * values[token * n + lane] - s : 0.0f;
  float dbeta = warp_sum(a * rest), along = warp_sum(beta * (rest * a - a * s));  // k . dk
  if (lane < n && dvalues != nullptr) {
    float* to = dvalues + token * n + lane;
    *to = (add & 4 ? *to : 0.0f) + scale * beta * a;
  }
  if (lane == 0 && dgate != nullptr) dgate[token] = (add & 2 ? dgate[token] : 0.0f) + 2.0f * dbeta;
  of_dout = beta * rest * inverse, of_x = -beta * a * inverse;
  float of_y = -along * inverse * inverse;
  for (int base = 0; base < width; base += 4 * 32) {
    int column = base + 4 * lane, count = width - column;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (dy != nullptr && (add & 1)) read4(dy + token * width + column, count, sum);
    read4(y + column, count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += of_y * v[k];
    for (int c = 0; c < n; c++) {
      float times_dout = __shfl_sync(0xffffffffu, of_dout, c), times_x = __shfl_sync(0xffffffffu, of_x, c);
      i64 at = static_cast<i64>(c) * width + column;
      read4(dout + at, count, d);
      read4(x + at, count, u);
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += times_dout * d[k] + times_x * u[k], d[k] += times_x * v[k];
      write4(dx + at, count, d);
    }
    if (dy != nullptr) write4(dy + token * width + column, count, sum);
  }
}

#define DELTA_WRITE_GRAD(name, A)                                                                                              \
  KERNEL(256) name(A* dx, A* dy, float* dgate, float* dvalues, const A* dout, const A* x, const A* y, const float* gate,       \
                   const float* values, float eps, float scale, int tokens, int n, int width, int add) {                       \
    delta_write_grad(dx, dy, dgate, dvalues, dout, x, y, gate, values, eps, scale, tokens, n, width, add);                     \
  }

DELTA_WRITE_GRAD(delta_write_grad_f32, float)
DELTA_WRITE_GRAD(delta_write_grad_bf16, bf16)

// carried_row is where [cached rows, 2, back] have a position of a row before the run's first token.
DEVICE i64 carried_row(const CachedRow& row, int position, int back) {
  return (static_cast<i64>(row.row) * 2 + row.turn) * back + position % back;
}

// delta_read computes u_t = sum over lags j from first to last, and rows c, of r[c] f[taps - 1 - j, c] x_(t-j)[c], elementwise,
// with x [tokens, n, width], f [taps, n, width] or null (1), u [tokens, width]. Token t is number t mod seq of its row; positions
// before starts[t] (null: 0) are left out. r may be null (1); residual adds 1 to the last tap of f. With `rows`, not null, what
// is before a row's first token comes from carried [cached rows, 2, back, n, width], where position p is in slot p mod back.
// Tokens of x and carried are x_pitch elements apart, those of u u_pitch. Four columns a thread in blocks of 256.
template <typename A>
DEVICE void delta_read(A* u, const A* x, const float* f, const float* r, const int* starts, int tokens, int seq, int n, int width,
                       int taps, int first, int last, int residual, int x_pitch, int u_pitch, const A* carried,
                       const CachedRow* rows, int back) {
  Quad q = quad_of(tokens, width);
  if (q.count <= 0) return;
  int number = static_cast<int>(q.row % seq), position = number;
  CachedRow stands = {0, 0, 0, 0};
  if (rows != nullptr) stands = rows[q.row / seq], position += stands.past;
  last = min(last, position - (starts == nullptr ? 0 : starts[q.row]));
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  for (int lag = first; lag <= last; lag++) {
    const A* from = x + (q.row - lag) * x_pitch + q.column;
    if (lag > number) from = carried + carried_row(stands, position - lag, back) * x_pitch + q.column;
    for (int c = 0; c < n; c++) {
      read4(from + static_cast<i64>(c) * width, q.count, v);
      if (f != nullptr) read4(f + (static_cast<i64>(taps - 1 - lag) * n + c) * width + q.column, q.count, w);
      float factor = r == nullptr ? 1.0f : r[c], own = residual && lag == 0 ? 1.0f : 0.0f;
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += (factor * w[k] + own) * v[k];
    }
  }
  write4(u + q.row * u_pitch + q.column, q.count, sum);
}

#define DELTA_READ(name, A)                                                                                                   \
  KERNEL(256) name(A* u, const A* x, const float* f, const float* r, const int* starts, int tokens, int seq, int n, int width, \
                   int taps, int first, int last, int residual, int x_pitch, int u_pitch, const A* carried,                   \
                   const CachedRow* rows, int back) {                                                                         \
    delta_read(u, x, f, r, starts, tokens, seq, n, width, taps, first, last, residual, x_pitch, u_pitch, carried, rows, back); \
  }

DELTA_READ(delta_read_f32, float)
DELTA_READ(delta_read_bf16, bf16)

// delta_carry keeps the last `back` positions of each row for the next run, of x [batch * seq, size] and of what came before. A row of
// the grid a position. Four entries a thread in blocks of 256.
template <typename A>
DEVICE void delta_carry(A* carried, const A* x, const CachedRow* rows, int batch, int seq, int size, int back) {
  Quad q = quad_of(batch * back, size);
  if (q.count <= 0) return;
  i64 row = q.row / back;
  CachedRow stands = rows[row], next = stands;
  next.turn = 1 - stands.turn;
  int position = stands.past + stands.tokens - 1 - static_cast<int>(q.row % back), number = position - stands.past;
  if (stands.tokens == 0 || position < 0) return;
  float v[4];
  const A* from = number >= 0 ? x + (row * seq + number) * size : carried + carried_row(stands, position, back) * size;
  read4(from + q.column, q.count, v);
  write4(carried + carried_row(next, position, back) * size + q.column, q.count, v);
}

KERNEL(256) delta_carry_f32(float* carried, const float* x, const CachedRow* rows, int batch, int seq, int size, int back) {
  delta_carry(carried, x, rows, batch, seq, size, back);
}
KERNEL(256) delta_carry_bf16(bf16* carried, const bf16* x, const CachedRow* rows, int batch, int seq, int size, int back) {
  delta_carry(carried, x, rows, batch, seq, size, back);
}

// delta_read_grad computes dx_t[c] = addend_t[c] + the sum over lags j of r[c] f[taps - 1 - j, c] du_(t+j), of the terms of
// delta_read. addend may be null, or dx. Tokens of dx and addend are x_pitch elements apart, those of du u_pitch. Four columns a
// thread in blocks of 256.
template <typename A>
DEVICE void delta_read_grad(A* dx, const A* du, const float* f, const float* r, const int* starts, const A* addend, int tokens,
                            int seq, int n, int width, int taps, int first, int last, int residual, int x_pitch, int u_pitch) {
  Quad q = quad_of(tokens, width);
  if (q.count <= 0) return;
  int position = static_cast<int>(q.row % seq);
  last = min(last, seq - 1 - position);
  float v[4], w[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  for (int c = 0; c < n; c++) {
    i64 at = q.row * x_pitch + static_cast<i64>(c) * width + q.column;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (addend != nullptr) read4(addend + at, q.count, sum);
    for (int lag = first; lag <= last; lag++) {
      if (starts != nullptr && starts[q.row + lag] > position) continue;
      read4(du + (q.row + lag) * u_pitch + q.column, q.count, v);
      if (f != nullptr) read4(f + (static_cast<i64>(taps - 1 - lag) * n + c) * width + q.column, q.count, w);
      float factor = r == nullptr ? 1.0f : r[c], own = residual && lag == 0 ? 1.0f : 0.0f;
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += (factor * w[k] + own) * v[k];
    }
    write4(dx + at, q.count, sum);
  }
}

#define DELTA_READ_GRAD(name, A)                                                                                             \
  KERNEL(256) name(A* dx, const A* du, const float* f, const float* r, const int* starts, const A* addend, int tokens, int seq, \
                   int n, int width, int taps, int first, int last, int residual, int x_pitch, int u_pitch) {                \
    delta_read_grad(dx, du, f, r, starts, addend, tokens, seq, n, width, taps, first, last, residual, x_pitch, u_pitch);     \
  }

DELTA_READ_GRAD(delta_read_grad_f32, float)
DELTA_READ_GRAD(delta_read_grad_bf16, bf16)

// delta_filter_grad leaves in partial [slabs, taps, n, width] the sums of du_t x_(t-j)[c] over the tokens of a slab, chunk of
// them, 0 for lags that are no terms. blockIdx.y is the slab. Tokens of x are x_pitch elements apart, those of du u_pitch. Four
// columns a thread in blocks of 256.
template <typename A>
DEVICE void delta_filter_grad(float* partial, const A* du, const A* x, const int* starts, int tokens, int seq, int n, int width,
                              int taps, int first, int last, int x_pitch, int u_pitch, int chunk) {
  Quad q = quad_of(taps * n, width);
  if (q.count <= 0) return;
  int lag = taps - 1 - static_cast<int>(q.row / n);
  i64 c = q.row % n;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, d[4], v[4];
  if (lag >= first && lag <= last) {
    int end = min(tokens, static_cast<int>(blockIdx.y + 1) * chunk);
    for (int t = blockIdx.y * chunk; t < end; t++) {
      if (t % seq - (starts == nullptr ? 0 : starts[t]) < lag) continue;
      read4(du + static_cast<i64>(t) * u_pitch + q.column, q.count, d);
      read4(x + static_cast<i64>(t - lag) * x_pitch + c * width + q.column, q.count, v);
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += d[k] * v[k];
    }
  }
  write4(partial + (static_cast<i64>(blockIdx.y) * taps * n + q.row) * width + q.column, q.count, sum);
}

#define DELTA_FILTER_GRAD(name, A)                                                                                       \
  KERNEL(256) name(float* partial, const A* du, const A* x, const int* starts, int tokens, int seq, int n, int width,    \
                   int taps, int first, int last, int x_pitch, int u_pitch, int chunk) {                                 \
    delta_filter_grad(partial, du, x, starts, tokens, seq, n, width, taps, first, last, x_pitch, u_pitch, chunk);        \
  }

DELTA_FILTER_GRAD(delta_filter_grad_f32, float)
DELTA_FILTER_GRAD(delta_filter_grad_bf16, bf16)

// delta_read_sums makes df[j, c] (+)= r[c] dw[j, c] and dr[c] (+)= the sum over taps j of dw[j, c] . f[j, c] of the sums dw [taps,
// n, width]. f, r, df and dr may be null. blockIdx.x is the row c.
KERNEL(256)
delta_read_sums(float* df, float* dr, const float* dw, const float* f, const float* r, int n, int width, int taps, int add_f,
                int add_r) {
  int c = blockIdx.x;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < taps * width; i += 256) {
    i64 at = static_cast<i64>(i / width * n + c) * width + i % width;
    sum += f == nullptr ? dw[at] : dw[at] * f[at];
    if (df != nullptr) df[at] = (add_f ? df[at] : 0.0f) + (r == nullptr ? 1.0f : r[c]) * dw[at];
  }
  sum = block_sum<256>(sum);
  if (threadIdx.x == 0 && dr != nullptr) dr[c] = (add_r ? dr[c] : 0.0f) + sum;
}
