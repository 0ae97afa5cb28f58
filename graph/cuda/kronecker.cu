// KroneckerCoefficients of n streams, n = 2^K at most 64 (arXiv 2601.21579): (a_k, b_k) = softmax(pair k of carry),
// H = U_1 ⊗ ... ⊗ U_K with U_k = [[a_k, b_k], [b_k, a_k]]. H[i, j] is entry i XOR j of the products of a_k and b_k, the
// first factor's digit the most significant.
#include "streamgates.cuh"

// DIGITS is log2(N).
template <int N>
constexpr int DIGITS = 1 + DIGITS<N / 2>;
template <>
constexpr int DIGITS<1> = 0;

// Factors are a token's K factors, and the products of them.
template <int N>
struct Factors {
  static constexpr int COUNT = DIGITS<N>, UNROLL = N <= 8 ? N : 1;
  float u[COUNT + 1][2];  // a_k, b_k
  float h[N];

  DEVICE explicit Factors(const Gated &g) {
    for (int k = 0; k < COUNT; k++) {
      u[k][0] = logistic(g.carry(2 * k) - g.carry(2 * k + 1), u[k][1]);
    }
#pragma unroll UNROLL
    for (int x = 0; x < N; x++) h[x] = product(x, -1);
  }

  // factor is the entry of factor k for the digits x.
  DEVICE float factor(int x, int k) const { return u[k][x >> (COUNT - 1 - k) & 1]; }

  // product is that of all factors but one for the digits x.
  DEVICE float product(int x, int without) const {
    float y = 1.0f;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
      if (k != without) y *= factor(x, k);
    }
    return y;
  }
};

template <int N>
DEVICE void kronecker(float *c, const float *z, const float *alpha, const float *bias, i64 tokens) {
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * 2 * (N + DIGITS<N>), alpha, bias, N};
  const Factors<N> f(g);
  c += t * N * (N + 2);
#pragma unroll Factors<N>::UNROLL
  for (int i = 0; i < N; i++) {
    put_gates(c, g, i);
#pragma unroll Factors<N>::UNROLL
    for (int k = 0; k < N; k++) c[i * (N + 2) + 1 + k] = f.h[k ^ i];
  }
}

// du_k[bit] is the sum over the digits x with that bit of dh[x] times the other factors; d(pair k) = a b (da - db), and that
// negated. dz gets the gradient of zt; see stream_gates_sums.
template <int N>
DEVICE void kronecker_grad(float *dz, const float *dc, const float *z, const float *alpha, const float *bias, i64 tokens) {
  constexpr int COUNT = DIGITS<N>;
  const i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const Gated g{z + t * 2 * (N + COUNT), alpha, bias, N};
  const Factors<N> f(g);
  dc += t * N * (N + 2);
  dz += t * 2 * (N + COUNT);
  float dh[N] = {};
#pragma unroll Factors<N>::UNROLL
  for (int i = 0; i < N; i++) {
    put_gates_grad(dz, dc, g, i);
#pragma unroll Factors<N>::UNROLL
    for (int k = 0; k < N; k++) dh[k ^ i] += dc[i * (N + 2) + 1 + k];
  }
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    float difference = 0.0f;
#pragma unroll Factors<N>::UNROLL
    for (int x = 0; x < N; x++) {
      const float term = dh[x] * f.product(x, k);
      difference += x >> (COUNT - 1 - k) & 1 ? -term : term;
    }
    difference *= f.u[k][0] * f.u[k][1];
    dz[2 * N + 2 * k] = difference;
    dz[2 * N + 2 * k + 1] = -difference;
  }
}

#define KRONECKER(N)                                                                                                   \
  KERNEL(128) kronecker##N(float *c, const float *z, const float *alpha, const float *bias, i64 tokens) {              \
    kronecker<N>(c, z, alpha, bias, tokens);                                                                           \
  }                                                                                                                    \
  KERNEL(128)                                                                                                          \
  kronecker_grad##N(float *dz, const float *dc, const float *z, const float *alpha, const float *bias, i64 tokens) {   \
    kronecker_grad<N>(dz, dc, z, alpha, bias, tokens);                                                                 \
  }

KRONECKER(1)
KRONECKER(2)
KRONECKER(4)
KRONECKER(8)
KRONECKER(16)
KRONECKER(32)
KRONECKER(64)
