// The sums, differences, products, quotients and powers that Gorgonia's own ops ask a module "elembinop" for, one thread an
// element, over up to three dimensions of blocks. The name's middle says what A and B are, vectors or scalars. The result
// replaces A, or B where that alone is a vector.
#include "prelude.cuh"

// element is the number of this thread in the whole grid.
DEVICE i64 element() {
  i64 block = blockIdx.x + (i64)gridDim.x * (blockIdx.y + (i64)gridDim.y * blockIdx.z);
  return block * blockDim.x + threadIdx.x;
}

template <typename T>
DEVICE T sum(T x, T y) { return x + y; }
template <typename T>
DEVICE T difference(T x, T y) { return x - y; }
template <typename T>
DEVICE T product(T x, T y) { return x * y; }
template <typename T>
DEVICE T quotient(T x, T y) { return x / y; }
DEVICE float power(float x, float y) { return powf(x, y); }
DEVICE double power(double x, double y) { return pow(x, y); }

// Gorgonia's engine takes blocks of as many threads as the GPU allows.
#define FORMS(name, type, T, of)                                                       \
  KERNEL(1024) name##_vv_##type(T* a, const T* b, int size) {                          \
    i64 i = element();                                                                 \
    if (i < size) a[i] = of(a[i], b[i]);                                               \
  }                                                                                    \
  KERNEL(1024) name##_vs_##type(T* a, const T* b, int size) {                          \
    i64 i = element();                                                                 \
    if (i < size) a[i] = of(a[i], b[0]);                                               \
  }                                                                                    \
  KERNEL(1024) name##_sv_##type(const T* a, T* b, int size) {                          \
    i64 i = element();                                                                 \
    if (i < size) b[i] = of(a[0], b[i]);                                               \
  }                                                                                    \
  KERNEL(1024) name##_ss_##type(T* a, const T* b, int size) {                          \
    if (element() == 0) a[0] = of(a[0], b[0]);                                         \
  }

#define OP(name, of)            \
  FORMS(name, f32, float, of)   \
  FORMS(name, f64, double, of)

OP(add, sum)
OP(sub, difference)
OP(mul, product)
OP(div, quotient)
OP(pow, power)
