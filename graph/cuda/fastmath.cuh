// Functions that a GPU has an instruction for: to two units in the last place, with 0 for what is smaller than all normal numbers.
#pragma once
#include "prelude.cuh"

#ifdef __CUDACC__

// exp2_of is 2^x.
DEVICE float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// reciprocal is 1/x.
DEVICE float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// at_least is the larger of x and bound, at_most the smaller; NaN stays NaN.
DEVICE float at_least(float x, float bound) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(bound));
  return y;
}
DEVICE float at_most(float x, float bound) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(bound));
  return y;
}

#else

DEVICE float exp2_of(float x) { return exp2f(x); }
DEVICE float reciprocal(float x) { return 1.0f / x; }
DEVICE float at_least(float x, float bound) { return x < bound ? bound : x; }
DEVICE float at_most(float x, float bound) { return x > bound ? bound : x; }

#endif
