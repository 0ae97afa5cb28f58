// The elementwise product of a matrix's rows with a vector, and its gradients.
#include "vector.cuh"

// hadamard computes y_t = gain x_t, elementwise, with x [rows, width] and gain [width]; y may be x. Four columns a thread in
// blocks of 256.
template <typename A>
DEVICE void hadamard(A* y, const A* x, const float* gain, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float v[4], g[4];
  read4(x + at, q.count, v);
  read4(gain + q.column, q.count, g);
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] *= g[k];
  write4(y + at, q.count, v);
}

KERNEL(256) hadamard_f32(float* y, const float* x, const float* gain, int rows, int width) { hadamard(y, x, gain, rows, width); }
KERNEL(256) hadamard_bf16(bf16* y, const bf16* x, const float* gain, int rows, int width) { hadamard(y, x, gain, rows, width); }

// add_scaled computes y_t = x_t + gain z_t, elementwise; y may be x or z.
template <typename A>
DEVICE void add_scaled(A* y, const A* x, const A* z, const float* gain, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float u[4], v[4], g[4];
  read4(x + at, q.count, u);
  read4(z + at, q.count, v);
  read4(gain + q.column, q.count, g);
#pragma unroll
  for (int k = 0; k < 4; k++) u[k] += g[k] * v[k];
  write4(y + at, q.count, u);
}

KERNEL(256) add_scaled_f32(float* y, const float* x, const float* z, const float* gain, int rows, int width) {
  add_scaled(y, x, z, gain, rows, width);
}
KERNEL(256) add_scaled_bf16(bf16* y, const bf16* x, const bf16* z, const float* gain, int rows, int width) {
  add_scaled(y, x, z, gain, rows, width);
}

// hadamard_grad computes dx_t = gain dy_t + addend_t and, into partial[slab], the sum of dy_t x_t over the rows [slab * length,
// (slab + 1) * length), with partial [slabs, width]. partial and addend may be null; dx may be dy or addend. A block has 32
// threads side by side, of four columns each, and eight below each other that share the rows; their sums are added from top to
// bottom. blockIdx.x is the group of 128 columns, blockIdx.y the slab.
template <typename A>
DEVICE void hadamard_grad(A* dx, float* partial, const A* dy, const A* x, const float* gain, const A* addend, int rows, int width,
                          int length) {
  __shared__ float sums[8][128];
  int lane = threadIdx.x % 32, level = threadIdx.x / 32;
  int column = blockIdx.x * 128 + 4 * lane, count = width - column;
  int end = min(rows, (static_cast<int>(blockIdx.y) + 1) * length);
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (count > 0) {
    float g[4];
    read4(gain + column, count, g);
    for (int row = blockIdx.y * length + level; row < end; row += 8) {
      i64 at = static_cast<i64>(row) * width + column;
      float d[4], v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      read4(dy + at, count, d);
      if (partial != nullptr) read4(x + at, count, v);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        sum[k] += d[k] * v[k];
        d[k] *= g[k];
      }
      if (addend != nullptr) {
        read4(addend + at, count, v);
#pragma unroll
        for (int k = 0; k < 4; k++) d[k] += v[k];
      }
      write4(dx + at, count, d);
    }
  }
  if (partial == nullptr) return;
#pragma unroll
  for (int k = 0; k < 4; k++) sums[level][4 * lane + k] = sum[k];
  __syncthreads();
  if (threadIdx.x >= 128) return;
  column = blockIdx.x * 128 + threadIdx.x;
  float total = 0.0f;
#pragma unroll
  for (int l = 0; l < 8; l++) total += sums[l][threadIdx.x];
  if (column < width) partial[static_cast<i64>(blockIdx.y) * width + column] = total;
}

KERNEL(256)
hadamard_grad_f32(float* dx, float* partial, const float* dy, const float* x, const float* gain, const float* addend, int rows,
                  int width, int length) {
  hadamard_grad(dx, partial, dy, x, gain, addend, rows, width, length);
}
KERNEL(256)
hadamard_grad_bf16(bf16* dx, float* partial, const bf16* dy, const bf16* x, const float* gain, const bf16* addend, int rows,
                   int width, int length) {
  hadamard_grad(dx, partial, dy, x, gain, addend, rows, width, length);
}
