// The end of the gradients of Sinkhorn's and the permutations' coefficients.
#include "gates.cuh"

// dz, that of zt = alpha[group] z + bias at first, becomes that of z; partial [blocks, 2, columns] are sums over tokens of
// dzt and of dzt z. The groups are [0, n), [n, 2n) and the rest.
KERNEL(256)
stream_gates_sums(float *dz, float *partial, const float *z, const float *alpha, i64 tokens, int columns, int n, int chunk) {
  column_sums(partial, tokens, columns, chunk, [=](i64 i, int e, float &bias, float &scaled) {
    const float d = dz[i];
    bias += d;
    scaled += d * z[i];
    dz[i] = d * __ldg(alpha + min(e / n, 2));
  });
}
