// TanhCoefficients, c = static + scale tanh(tau z), and its gradients. z and c [tokens, size], static [size]; scale is
// [size], or where pair is set [2], of all columns of a row of k coefficients but the last, and of the last.
#include "formulas.cuh"
#include "gates.cuh"

DEVICE float scale_of(const float *__restrict__ scale, int e, int k, int pair) {
  return __ldg(scale + (pair ? (e % k == k - 1) : e));
}

// c may be z.
KERNEL(256)
tanh_gates(float *c, const float *z, const float *fixed, const float *scale, i64 n, int size, int k, int pair, float tau) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int e = (int)(i % size);
  c[i] = tanhgates(z[i], scale_of(scale, e, k, pair), __ldg(fixed + e), tau);
}

// dz = dc scale tau tanh'(tau z); partial [blocks, 2, size] are sums over tokens of dc and of dc tanh(tau z). dz may be dc.
KERNEL(256)
tanh_gates_grad(float *dz, float *partial, const float *dc, const float *z, const float *scale, i64 tokens, int size, int k,
                int pair, float tau, int chunk) {
  column_sums(partial, tokens, size, chunk, [=](i64 i, int e, float &fixed, float &scaled) {
    const float d = dc[i];
    float term;
    tanhgates_grad(d, z[i], scale_of(scale, e, k, pair), tau, dz[i], term);
    fixed += d;
    scaled += term;
  });
}
