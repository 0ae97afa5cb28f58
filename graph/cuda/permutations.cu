// PermutationCoefficients of n streams, n at most 4 (arXiv 2601.05732): a = softmax(carry), H = sum over r of a_r P_r with
// P_r[i, perm_r(i)] = 1, over the n! permutations in lexicographic order.
#include "streamgates.cuh"

template <int N>
constexpr int FACTORIAL = N * FACTORIAL<N - 1>;
template <>
constexpr int FACTORIAL<0> = 1;

// permuted is perm_r(i): digit i of r in the factorial number system counts through the numbers not yet taken. With r
// and i known to the compiler, so is the result.
template <int N>
DEVICE int permuted(int r, int i) {
  unsigned taken = 0;
  int rest = r, count = FACTORIAL<N>, found = 0;
#pragma unroll
  for (int k = 0; k < N; k++) {
    if (k > i) break;
    count /= N - k;
    int skip = rest / count;
    rest %= count;
    found = -1;
#pragma unroll
    for (int v = 0; v < N; v++) {
      if (found >= 0 || (taken >> v & 1)) continue;
      if (skip-- == 0) found = v;
    }
    taken |= 1u << found;
  }
  return found;
}

// softmax_of is a [n!] of a token.
template <int N>
DEVICE void softmax_of(float (&a)[FACTORIAL<N>], const Gated &g) {
  constexpr int COUNT = FACTORIAL<N>;
  float largest = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int r = 0; r < COUNT; r++) a[r] = g.carry(r), largest = fmaxf(largest, a[r]);
#pragma unroll
  for (int r = 0; r < COUNT; r++) a[r] = expf(a[r] - largest), sum += a[r];
  sum = 1.0f / sum;
#pragma unroll
  for (int r = 0; r < COUNT; r++) a[r] *= sum;
}

template <int N>
DEVICE void permutations(float *c, const float *z, const float *alpha, const float *bias, i64 tokens) {
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * (2 * N + FACTORIAL<N>), alpha, bias, N};
  float a[FACTORIAL<N>], h[N][N] = {};  // [n!], [n, n]
  softmax_of<N>(a, g);
#pragma unroll
  for (int r = 0; r < FACTORIAL<N>; r++) {
#pragma unroll
    for (int i = 0; i < N; i++) h[i][permuted<N>(r, i)] += a[r];
  }
  c += t * N * (N + 2);
#pragma unroll
  for (int i = 0; i < N; i++) {
    put_gates(c, g, i);
#pragma unroll
    for (int k = 0; k < N; k++) c[i * (N + 2) + 1 + k] = h[k][i];
  }
}

// da_r is the sum of dH over P_r's ones, dcarry_r = a_r (da_r - sum of a da). dz gets the gradient of zt; see
// stream_gates_sums.
template <int N>
DEVICE void permutations_grad(float *dz, const float *dc, const float *z, const float *alpha, const float *bias, i64 tokens) {
  constexpr int COUNT = FACTORIAL<N>;
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * (2 * N + COUNT), alpha, bias, N};
  dc += t * N * (N + 2);
  dz += t * (2 * N + COUNT);
  float a[COUNT], dh[N][N], sum = 0.0f;  // [n!], [n, n]
  softmax_of<N>(a, g);
#pragma unroll
  for (int i = 0; i < N; i++) {
    put_gates_grad(dz, dc, g, i);
#pragma unroll
    for (int k = 0; k < N; k++) dh[k][i] = dc[i * (N + 2) + 1 + k];
  }
  float da[COUNT] = {};
#pragma unroll
  for (int r = 0; r < COUNT; r++) {
#pragma unroll
    for (int i = 0; i < N; i++) da[r] += dh[i][permuted<N>(r, i)];
    sum = fmaf(a[r], da[r], sum);
  }
#pragma unroll
  for (int r = 0; r < COUNT; r++) dz[2 * N + r] = a[r] * (da[r] - sum);
}

#define PERMUTATIONS(N)                                                                                                \
  KERNEL(128) permutations##N(float *c, const float *z, const float *alpha, const float *bias, i64 tokens) {           \
    permutations<N>(c, z, alpha, bias, tokens);                                                                        \
  }                                                                                                                    \
  KERNEL(128)                                                                                                          \
  permutations_grad##N(float *dz, const float *dc, const float *z, const float *alpha, const float *bias,              \
                       i64 tokens) {                                                                                   \
    permutations_grad<N>(dz, dc, z, alpha, bias, tokens);                                                              \
  }

PERMUTATIONS(1)
PERMUTATIONS(2)
PERMUTATIONS(3)
PERMUTATIONS(4)
