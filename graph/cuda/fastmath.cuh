// Functions that a GPU has an instruction for, and C++ none.
#pragma once
#include "prelude.cuh"

#ifdef __CUDACC__

// reciprocal is 1/x to one unit in the last place; what is smaller than all normal numbers is 0.
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

DEVICE float reciprocal(float x) { return 1.0f / x; }
DEVICE float at_least(float x, float bound) { return x < bound ? bound : x; }
DEVICE float at_most(float x, float bound) { return x > bound ? bound : x; }

#endif
