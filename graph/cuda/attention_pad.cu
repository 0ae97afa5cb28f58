// Heads of any size in the form that the attention kernels want: each half of a head's numbers followed by zeros, up to a
// multiple of 4, so that the pairs of rotary positions stay half a head apart. A head of an odd size has the longer half first.
#include "prelude.cuh"

// y [rows, padded] from x [rows, dim]; a thread an element of y.
template <typename A>
DEVICE void attention_pad(A *y, const A *x, i64 n, int dim, int padded) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = i % padded, half = (dim + 1) / 2, side = c / (padded / 2), at = c % (padded / 2);
  int from = side * half + at;
  store(y + i, at < half && from < dim ? load(x + i / padded * dim + from) : 0.0f);
}

// y [rows, dim] from x [rows, padded]; a thread an element of y.
template <typename A>
DEVICE void attention_unpad(A *y, const A *x, i64 n, int dim, int padded) {
  i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = i % dim, half = (dim + 1) / 2;
  y[i] = x[i / dim * padded + (c < half ? c : padded / 2 + c - half)];
}

KERNEL(256) attention_pad_f32(float *y, const float *x, i64 n, int dim, int padded) { attention_pad(y, x, n, dim, padded); }
KERNEL(256) attention_pad_bf16(bf16 *y, const bf16 *x, i64 n, int dim, int padded) { attention_pad(y, x, n, dim, padded); }
KERNEL(256) attention_unpad_f32(float *y, const float *x, i64 n, int dim, int padded) { attention_unpad(y, x, n, dim, padded); }
KERNEL(256) attention_unpad_bf16(bf16 *y, const bf16 *x, i64 n, int dim, int padded) { attention_unpad(y, x, n, dim, padded); }
