// The sums that Gorgonia asks a module "elembinop" for when it adds up gradients with its own ops: A += B, one thread an
// element, over up to three dimensions of blocks. The name's middle says what A and B are, vectors or scalars.
#include "prelude.cuh"

// element is the number of this thread in the whole grid.
DEVICE i64 element() {
  i64 block = blockIdx.x + (i64)gridDim.x * (blockIdx.y + (i64)gridDim.y * blockIdx.z);
  return block * blockDim.x + threadIdx.x;
}

template <typename T>
DEVICE void add_vv(T* a, const T* b, int size) {
  i64 i = element();
  if (i < size) a[i] += b[i];
}

template <typename T>
DEVICE void add_ss(T* a, const T* b) {
  if (element() == 0) a[0] += b[0];
}

// Gorgonia's engine takes blocks of as many threads as the GPU allows.
KERNEL(1024) add_vv_f32(float* a, float* b, int size) { add_vv(a, b, size); }
KERNEL(1024) add_vv_f64(double* a, double* b, int size) { add_vv(a, b, size); }
KERNEL(1024) add_ss_f32(float* a, float* b, int size) { add_ss(a, b); }
KERNEL(1024) add_ss_f64(double* a, double* b, int size) { add_ss(a, b); }
