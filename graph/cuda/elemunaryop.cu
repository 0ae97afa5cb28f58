// The functions of single elements that Gorgonia's own ops ask a module "elemunaryop" for: each element is replaced by its
// result, one thread an element, over up to three dimensions of blocks.
#include "prelude.cuh"

#define OP(name, of)                                                                                      \
  template <typename T>                                                                                   \
  DEVICE void apply_##name(T* a, int size) {                                                              \
    i64 block = blockIdx.x + (i64)gridDim.x * (blockIdx.y + (i64)gridDim.y * blockIdx.z);                 \
    i64 i = block * blockDim.x + threadIdx.x;                                                             \
    if (i >= size) return;                                                                                \
    T x = a[i];                                                                                           \
    a[i] = of;                                                                                            \
  }                                                                                                       \
  KERNEL(1024) name##_f32(float* a, int size) { apply_##name(a, size); }                                  \
  KERNEL(1024) name##_f64(double* a, int size) { apply_##name(a, size); }

OP(abs, fabs(x))
OP(sign, x > 0 ? T(1) : x < 0 ? T(-1) : x)
OP(ceil, ceil(x))
OP(floor, floor(x))
OP(sin, sin(x))
OP(cos, cos(x))
OP(exp, exp(x))
OP(ln, log(x))
OP(log2, log2(x))
OP(neg, -x)
OP(square, x * x)
OP(sqrt, sqrt(x))
OP(inv, 1 / x)
OP(invSqrt, 1 / sqrt(x))
OP(cube, x * x * x)
OP(tanh, tanh(x))
OP(sigmoid, 1 / (1 + exp(-x)))
OP(log1p, log1p(x))
OP(expm1, expm1(x))
OP(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
