// Sums over tokens of what the gradients of gated coefficients are made of.
#pragma once
#include "prelude.cuh"

// GATE_THREADS are the threads of a block of column_sums.
constexpr int GATE_THREADS = 256;

// logistic is sigmoid(x), and rest 1 - sigmoid(x), each to the last places of float also where it is small.
DEVICE float logistic(float x, float &rest) {
  const float small = expf(-fabsf(x)), large = 1.0f / (1.0f + small);
  rest = x < 0.0f ? large : small * large;
  return x < 0.0f ? small * large : large;
}

DEVICE float logistic(float x) {
  float rest;
  return logistic(x, rest);
}

// column_sums goes through chunk tokens of width entries, of which a block takes those from 256 blockIdx.y on:
// terms(token * width + e, e, a, b) computes entry e's two terms, whose sums over the block's tokens go to
// partial [blocks, 2, width]. Threads that share an entry take every other token; their sums are added in order.
template <typename Terms>
DEVICE void column_sums(float *partial, i64 tokens, int width, int chunk, Terms terms) {
  __shared__ float sums[2][GATE_THREADS];
  const int first = blockIdx.y * GATE_THREADS, entries = min(width - first, GATE_THREADS);
  const int groups = GATE_THREADS / entries, group = threadIdx.x / entries, e = threadIdx.x % entries;
  const i64 begin = (i64)blockIdx.x * chunk, end = min(begin + chunk, tokens);
  float a = 0.0f, b = 0.0f;
  if (group < groups) {
    for (i64 t = begin + group; t < end; t += groups) terms(t * width + first + e, first + e, a, b);
  }
  sums[0][threadIdx.x] = a;
  sums[1][threadIdx.x] = b;
  __syncthreads();
  if (group > 0) return;
  for (int g = 1; g < groups; g++) {
    a += sums[0][g * entries + e];
    b += sums[1][g * entries + e];
  }
  partial += 2 * (i64)blockIdx.x * width + first + e;
  partial[0] = a;
  partial[width] = b;
}
