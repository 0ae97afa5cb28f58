// Nonlinearities and their derivatives, as graph/kernel/activation.go, gelu.go define them.
#pragma once
#include "formulas.cuh"

// GELU_LIMIT is an |x| beyond which gelu(x) is 0 or x to the last place.
#define GELU_LIMIT 15.0f

// gelu_clamp limits x to [-GELU_LIMIT, GELU_LIMIT]; NaN stays NaN.
DEVICE float gelu_clamp(float x) { return at_most(at_least(x, -GELU_LIMIT), GELU_LIMIT); }

// The tanh form is x/2 (1 + tanh(u)) = x/(1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3), which keeps the precision of
// small results; -2u = x (GELU_LINEAR + GELU_CUBIC x^2).
#define GELU_LINEAR -1.5957691216057308f
#define GELU_CUBIC (0.044715f * GELU_LINEAR)

// gelu_share is 1/(1 + exp(-2u)); what is left of it far below 0 is 0, far above 1.
DEVICE float gelu_share(float x) { return reciprocal(1.0f + expf(x * (GELU_LINEAR + GELU_CUBIC * (x * x)))); }

DEVICE float gelu_tanh(float x) {
  float c = at_least(x, -GELU_LIMIT);
  return c * gelu_share(c);
}

// With s = 1/(1 + exp(-2u)) the derivative is s + x s (1 - s) 2u'.
DEVICE float gelu_tanh_slope(float x) {
  float c = gelu_clamp(x), s = gelu_share(c);
  return s - fmaf(-s, s, s) * (c * (GELU_LINEAR + 3.0f * GELU_CUBIC * (c * c)));
}

// normal_below is Phi(x), the standard normal distribution function.
DEVICE float normal_below(float x) { return 0.5f * erfcf(x * -0.70710678118654752f); }

// The exact form is x Phi(x).
DEVICE float gelu_exact(float x) {
  float c = gelu_clamp(x);
  return at_least(x, -GELU_LIMIT) * normal_below(c);
}

// Its derivative is Phi(x) + x phi(x), phi being the normal density.
DEVICE float gelu_exact_slope(float x) {
  float c = gelu_clamp(x);
  return normal_below(c) + c * 0.39894228040143268f * expf(-0.5f * c * c);
}

// relu_squared is max(x, 0)^2; NaN stays NaN.
DEVICE float relu_squared(float x) { return x < 0.0f ? 0.0f : x * x; }
DEVICE float relu_squared_slope(float x) { return x < 0.0f ? 0.0f : 2.0f * x; }

// gelu and gelu_slope choose the form.
DEVICE float gelu(float x, bool exact) { return exact ? gelu_exact(x) : gelu_tanh(x); }
DEVICE float gelu_slope(float x, bool exact) { return exact ? gelu_exact_slope(x) : gelu_tanh_slope(x); }
