// SigmoidCoefficients, c = factor sigmoid(alpha z + bias) + eps of one or two groups of n logits, and the gradients. z is
// [tokens, groups n], c [tokens, n, groups]; the factor of the first group is 1. Where z is null, it and alpha are 0, of one token.
#include "gates.cuh"

// open_gate is the sigmoid of entry e of the logits at i, and rest 1 - it.
DEVICE float open_gate(const float *z, const float *alpha, const float *bias, i64 i, int e, int n, float &rest) {
  return logistic((z == nullptr ? 0.0f : __ldg(alpha + e / n) * z[i]) + __ldg(bias + e), rest);
}

KERNEL(256)
sigmoid_gates(float *c, const float *z, const float *alpha, const float *bias, i64 tokens, int n, int groups, float factor,
              float eps) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const int width = groups * n;
  if (i >= tokens * width) return;
  const int e = (int)(i % width);
  float rest;
  c[i / width * width + e % n * groups + e / n] = (e < n ? 1.0f : factor) * open_gate(z, alpha, bias, i, e, n, rest) + eps;
}

// dz, unless it is null, is the gradient of z; partial [blocks, 2, width] are sums over tokens of the gradient of alpha z + bias
// and of it times z.
KERNEL(256)
sigmoid_gates_grad(float *dz, float *partial, const float *dc, const float *z, const float *alpha, const float *bias, i64 tokens,
                   int n, int groups, float factor, int chunk) {
  const int width = groups * n;
  column_sums(partial, tokens, width, chunk, [=](i64 i, int e, float &shift, float &scaled) {
    float rest, open = open_gate(z, alpha, bias, i, e, n, rest);
    float d = dc[i / width * width + e % n * groups + e / n] * (e < n ? 1.0f : factor) * open * rest;
    shift += d;
    if (z != nullptr) scaled += d * z[i];
    if (dz != nullptr) dz[i] = d * __ldg(alpha + e / n);
  });
}
