// Lists of up to TERMS tensors that a launch takes.
#pragma once
#include "vector.cuh"

constexpr int TERMS = 8;

// Tensors that are not there are null; they come last.
#define TENSORS(A) const A *x0, const A *x1, const A *x2, const A *x3, const A *x4, const A *x5, const A *x6, const A *x7
#define LIST {x0, x1, x2, x3, x4, x5, x6, x7}

// add_products adds the products of four elements of dy with those of each tensor to the sums.
template <typename A>
DEVICE void add_products(float (&sums)[TERMS], const A* dy, const A* const (&x)[TERMS], i64 at, i64 count) {
  float d[4], v[4];
  read4(dy + at, count, d);
#pragma unroll
  for (int j = 0; j < TERMS; j++) {
    if (x[j] == nullptr) break;
    read4(x[j] + at, count, v);
#pragma unroll
    for (int k = 0; k < 4; k++) sums[j] += d[k] * v[k];
  }
}
