// What the coefficients of n streams constrained to a manifold share (arXiv 2512.24880, section 4.2). For each token, with
// zt = alpha[group] z + bias over the groups pre [n], post [n] and carry,
//
//	c_i = [ sigmoid(pre_i) | H_1i ... H_ni | 2 sigmoid(post_i) ],   H made of carry
//
// z [tokens, columns], alpha [3], bias [columns], c [tokens, n, n+2]. A thread takes a token.
#pragma once
#include "gates.cuh"

// Gated is a token's logits.
struct Gated {
  const float *__restrict__ z;  // [columns] of the token
  const float *__restrict__ alpha, *__restrict__ bias;
  int n;

  // pre, post and carry are entries of zt.
  DEVICE float pre(int i) const { return __ldg(alpha) * z[i] + __ldg(bias + i); }
  DEVICE float post(int i) const { return __ldg(alpha + 1) * z[n + i] + __ldg(bias + n + i); }
  DEVICE float carry(int e) const { return __ldg(alpha + 2) * z[2 * n + e] + __ldg(bias + 2 * n + e); }
};

// put_gates writes row i's first and last coefficient to c [n, n+2].
DEVICE void put_gates(float *c, const Gated &g, int i) {
  c[i * (g.n + 2)] = logistic(g.pre(i));
  c[i * (g.n + 2) + g.n + 1] = 2.0f * logistic(g.post(i));
}

// put_gates_grad writes the gradients of pre_i and post_i to dzt [columns], from dc [n, n+2].
DEVICE void put_gates_grad(float *dzt, const float *dc, const Gated &g, int i) {
  float rest, y = logistic(g.pre(i), rest);
  dzt[i] = dc[i * (g.n + 2)] * y * rest;
  y = logistic(g.post(i), rest);
  dzt[g.n + i] = 2.0f * dc[i * (g.n + 2) + g.n + 1] * y * rest;
}
