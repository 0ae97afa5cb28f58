// Ops that move features: columns side by side, rows repeated and summed. Four columns a thread in blocks of 256.
#include "vector.cuh"

// columns copies a matrix [rows, width] from x, whose rows are x_stride apart, to y, whose rows are y_stride apart.
template <typename A>
DEVICE void columns(A* y, int y_stride, const A* x, int x_stride, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  float v[4];
  read4(x + q.row * x_stride + q.column, q.count, v);
  write4(y + q.row * y_stride + q.column, q.count, v);
}

KERNEL(256) columns_f32(float* y, int y_stride, const float* x, int x_stride, int rows, int width) {
  columns(y, y_stride, x, x_stride, rows, width);
}
KERNEL(256) columns_bf16(bf16* y, int y_stride, const bf16* x, int x_stride, int rows, int width) {
  columns(y, y_stride, x, x_stride, rows, width);
}

// slice_grad computes x [rows, width] = addend, and adds y [rows, fewer] to its columns from number from on. A null addend
// is zero; x may be addend.
template <typename A>
DEVICE void slice_grad(A* x, const A* addend, const A* y, int rows, int width, int fewer, int from) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (addend != nullptr) read4(addend + at, q.count, v);
  int column = q.column - from;
  const A* row = y + q.row * fewer;
  if (column >= 0 && column + 4 <= fewer) {
    float u[4];
    read4(row + column, 4, u);
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] += u[k];
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (column + k >= 0 && column + k < fewer) v[k] += load(row + column + k);
  }
  write4(x + at, q.count, v);
}

KERNEL(256) slice_grad_f32(float* x, const float* addend, const float* y, int rows, int width, int fewer, int from) {
  slice_grad(x, addend, y, rows, width, fewer, from);
}
KERNEL(256) slice_grad_bf16(bf16* x, const bf16* addend, const bf16* y, int rows, int width, int fewer, int from) {
  slice_grad(x, addend, y, rows, width, fewer, from);
}

// copies computes y_t[i] = x_t + addend_t[i], i < n, with x [tokens, width], the others [tokens, n, width]. A null addend is
// zero; y may be addend.
template <typename A>
DEVICE void copies(A* y, const A* x, const A* addend, int tokens, int n, int width) {
  Quad q = quad_of(tokens, width);
  if (q.count <= 0) return;
  float v[4];
  read4(x + q.row * width + q.column, q.count, v);
  for (int i = 0; i < n; i++) {
    i64 at = (q.row * n + i) * width + q.column;
    float u[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (addend != nullptr) read4(addend + at, q.count, u);
#pragma unroll
    for (int k = 0; k < 4; k++) u[k] += v[k];
    write4(y + at, q.count, u);
  }
}

KERNEL(256) copies_f32(float* y, const float* x, const float* addend, int tokens, int n, int width) {
  copies(y, x, addend, tokens, n, width);
}
KERNEL(256) copies_bf16(bf16* y, const bf16* x, const bf16* addend, int tokens, int n, int width) {
  copies(y, x, addend, tokens, n, width);
}

// sum_copies computes y_t = h_t[0] + h_t[1] + ... + addend_t, with h [tokens, n, width], the others [tokens, width]. A null
// addend is zero; y may be addend.
template <typename A>
DEVICE void sum_copies(A* y, const A* h, const A* addend, int tokens, int n, int width) {
  Quad q = quad_of(tokens, width);
  if (q.count <= 0) return;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, v[4];
#pragma unroll 4
  for (int i = 0; i < n; i++) {
    read4(h + (q.row * n + i) * width + q.column, q.count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += v[k];
  }
  i64 at = q.row * width + q.column;
  if (addend != nullptr) {
    read4(addend + at, q.count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += v[k];
  }
  write4(y + at, q.count, sum);
}

KERNEL(256) sum_copies_f32(float* y, const float* h, const float* addend, int tokens, int n, int width) {
  sum_copies(y, h, addend, tokens, n, width);
}
KERNEL(256) sum_copies_bf16(bf16* y, const bf16* h, const bf16* addend, int tokens, int n, int width) {
  sum_copies(y, h, addend, tokens, n, width);
}
