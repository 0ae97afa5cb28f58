// The reads and writes of gated residuals (graph/ops/mix: GatedRead and GatedWrite) and their gradients. A token's
// stream has n rows of width columns; x [rows, wide] is its projection, of which the write uses the last n columns.
#include "activations.cuh"
#include "vector.cuh"

// gated_read computes u_t = 1/n sum over i of sigmoid(a_t[i]) z_t[i], with u [rows, width], z and a [rows, n, width]. Four
// columns a thread in blocks of 256.
template <typename A>
DEVICE void gated_read(A* u, const A* z, const A* a, int n, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < n; i++) {
    i64 at = (q.row * n + i) * width + q.column;
    float gate[4], value[4];
    read4(a + at, q.count, gate);
    read4(z + at, q.count, value);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += sigmoid(gate[k]) * value[k];
  }
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] /= n;
  write4(u + q.row * width + q.column, q.count, sum);
}

KERNEL(256) gated_read_f32(float* u, const float* z, const float* a, int n, int rows, int width) { gated_read(u, z, a, n, rows, width); }
KERNEL(256) gated_read_bf16(bf16* u, const bf16* z, const bf16* a, int n, int rows, int width) { gated_read(u, z, a, n, rows, width); }

// gated_read_grad computes da = du z s (1 - s) / n and dz (+)= du s / n, s = sigmoid(a), of rows [rows * n, width], of which n
// share a row of du; dz may be null, da may be a.
template <typename A>
DEVICE void gated_read_grad(A* da, A* dz, const A* du, const A* z, const A* a, int accumulate, int n, int rows, int width) {
  Quad q = quad_of(rows * n, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float gate[4], value[4], d[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  read4(a + at, q.count, gate);
  read4(z + at, q.count, value);
  read4(du + q.row / n * width + q.column, q.count, d);
  if (accumulate) read4(dz + at, q.count, sum);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float through = d[k] / n * sigmoid(gate[k]);
    gate[k] = value[k] * through * sigmoid(-gate[k]);
    sum[k] += through;
  }
  write4(da + at, q.count, gate);
  if (dz != nullptr) write4(dz + at, q.count, sum);
}

KERNEL(256)
gated_read_grad_f32(float* da, float* dz, const float* du, const float* z, const float* a, int accumulate, int n, int rows, int width) {
  gated_read_grad(da, dz, du, z, a, accumulate, n, rows, width);
}
KERNEL(256)
gated_read_grad_bf16(bf16* da, bf16* dz, const bf16* du, const bf16* z, const bf16* a, int accumulate, int n, int rows, int width) {
  gated_read_grad(da, dz, du, z, a, accumulate, n, rows, width);
}

// gated_hidden computes h = silu(x / n) of the first rank columns of x, with h [rows, rank].
template <typename A>
DEVICE void gated_hidden(A* h, const A* x, int n, int rows, int rank, int wide) {
  Quad q = quad_of(rows, rank);
  if (q.count <= 0) return;
  float v[4];
  read4(x + q.row * wide + q.column, q.count, v);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    v[k] /= n;
    v[k] *= sigmoid(v[k]);
  }
  write4(h + q.row * rank + q.column, q.count, v);
}

KERNEL(256) gated_hidden_f32(float* h, const float* x, int n, int rows, int rank, int wide) { gated_hidden(h, x, n, rows, rank, wide); }
KERNEL(256) gated_hidden_bf16(bf16* h, const bf16* x, int n, int rows, int rank, int wide) { gated_hidden(h, x, n, rows, rank, wide); }

// gated_hidden_grad computes dx = addend + dh silu'(x / n) / n, of which only the first rank columns have the second term;
// addend may be null, or dx.
template <typename A>
DEVICE void gated_hidden_grad(A* dx, const A* dh, const A* x, const A* addend, int n, int rows, int rank, int wide) {
  Quad q = quad_of(rows, wide);
  if (q.count <= 0) return;
  i64 at = q.row * wide + q.column;
  float v[4], d[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (addend != nullptr) read4(addend + at, q.count, sum);
  read4(x + at, q.count, v);
  read4(dh + q.row * rank + q.column, rank - q.column, d);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    v[k] /= n;
    sum[k] += d[k] / n * sigmoid(v[k]) * (1.0f + v[k] * sigmoid(-v[k]));
  }
  write4(dx + at, q.count, sum);
}

KERNEL(256)
gated_hidden_grad_f32(float* dx, const float* dh, const float* x, const float* addend, int n, int rows, int rank, int wide) {
  gated_hidden_grad(dx, dh, x, addend, n, rows, rank, wide);
}
KERNEL(256)
gated_hidden_grad_bf16(bf16* dx, const bf16* dh, const bf16* x, const bf16* addend, int n, int rows, int rank, int wide) {
  gated_hidden_grad(dx, dh, x, addend, n, rows, rank, wide);
}

// gated_write computes out_t[i] = r_t[i] + 2 sigmoid(x_t[wide - n + i] / n) y_t, with out and r [rows, n, width], y [rows, width].
// out may be r.
template <typename A>
DEVICE void gated_write(A* out, const A* r, const A* y, const A* x, int n, int rows, int width, int wide) {
  Quad q = quad_of(rows * n, width);
  if (q.count <= 0) return;
  i64 t = q.row / n, at = q.row * width + q.column;
  float factor = 2.0f * sigmoid(load(x + (t + 1) * wide - n + (q.row - t * n)) / n), v[4], sum[4];
  read4(r + at, q.count, sum);
  read4(y + t * width + q.column, q.count, v);
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += factor * v[k];
  write4(out + at, q.count, sum);
}

KERNEL(256)
gated_write_f32(float* out, const float* r, const float* y, const float* x, int n, int rows, int width, int wide) {
  gated_write(out, r, y, x, n, rows, width, wide);
}
KERNEL(256)
gated_write_bf16(bf16* out, const bf16* r, const bf16* y, const bf16* x, int n, int rows, int width, int wide) {
  gated_write(out, r, y, x, n, rows, width, wide);
}

// TOGETHER are the rows of a stream that a pass of gated_write_grad takes.
constexpr int TOGETHER = 8;

// gated_write_grad computes dy_t = sum over i of s_t[i] dout_t[i] and, of the last n columns, dx_t[i] (+)= dout_t[i] . y_t times
// the slope of s; the others get zeros. dx may be null. A warp takes a token, TOGETHER rows at a time.
template <typename A>
DEVICE void gated_write_grad(A* dy, A* dx, const A* dout, const A* y, const A* x, int accumulate, int n, int rows, int width, int wide) {
  const int lane = threadIdx.x % 32;
  const i64 t = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (t >= rows) return;
  const A* logits = x + (t + 1) * wide - n;
  if (dx != nullptr && !accumulate) {
    for (int column = lane; column < wide - n; column += 32) store(dx + t * wide + column, 0.0f);
  }
  for (int first = 0; first < n; first += TOGETHER) {
    float open[TOGETHER], dots[TOGETHER] = {};
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) open[i] = first + i < n ? sigmoid(load(logits + first + i) / n) : 0.0f;
    for (int column = 4 * lane; column < width; column += 128) {
      const int count = width - column;
      float v[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      read4(y + t * width + column, count, v);
      if (first > 0) read4(dy + t * width + column, count, sum);
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) {
        if (first + i >= n) break;
        float d[4];
        read4(dout + (t * n + first + i) * width + column, count, d);
#pragma unroll
        for (int k = 0; k < 4; k++) {
          sum[k] += 2.0f * open[i] * d[k];
          dots[i] += d[k] * v[k];
        }
      }
      write4(dy + t * width + column, count, sum);
    }
    if (dx == nullptr) continue;
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      float dot = warp_sum(dots[i]) * 2.0f * open[i] * (1.0f - open[i]) / n;
      if (lane > 0 || first + i >= n) continue;
      A* out = dx + (t + 1) * wide - n + first + i;
      store(out, accumulate ? load(out) + dot : dot);
    }
  }
}

KERNEL(256)
gated_write_grad_f32(float* dy, float* dx, const float* dout, const float* y, const float* x, int accumulate, int n, int rows, int width,
                     int wide) {
  gated_write_grad(dy, dx, dout, y, x, accumulate, n, rows, width, wide);
}
KERNEL(256)
gated_write_grad_bf16(bf16* dy, bf16* dx, const bf16* dout, const bf16* y, const bf16* x, int accumulate, int n, int rows, int width,
                      int wide) {
  gated_write_grad(dy, dx, dout, y, x, accumulate, n, rows, width, wide);
}
