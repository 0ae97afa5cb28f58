// What the device itself needs: scaling by a number that is on the device.
#include "eights.cuh"

template <typename A>
DEVICE void scale_by(A* y, const float* factor, i64 n) {
  float by = *factor;
  map(y, y, n, [=](float v) { return v * by; });
}

// y *= *factor, n elements, eight a thread.
KERNEL(256) scale_by_f32(float* y, const float* factor, i64 n) { scale_by(y, factor, n); }
KERNEL(256) scale_by_bf16(bf16* y, const float* factor, i64 n) { scale_by(y, factor, n); }
