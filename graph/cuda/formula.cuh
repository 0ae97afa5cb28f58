// Functions that formulas call (graph/kernel/internal/formula/functions.go), and what their kernels need beyond in_pieces.
#pragma once
#include "fastmath.cuh"

// decay_of is exp(-x), and finite: where exp(-x) overflows, 1/(1 + decay_of(x)) is 0.
DEVICE float decay_of(float x) { return expf(at_most(-x, 88.7f)); }

// tanhparts_of sets t to tanh(x), below to 1 - t and above to 1 + t.
DEVICE void tanhparts_of(float x, float& t, float& below, float& above) {
  t = tanhf(x);
  below = 1.0f - t;
  above = 1.0f + t;
}

// read_or_zero reads like read; null reads as zeros.
template <typename A, int N>
DEVICE void read_or_zero(const A* x, i64 i, float (&v)[N]) {
  if (x != nullptr) {
    read(x + i, v);
    return;
  }
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = 0.0f;
}
