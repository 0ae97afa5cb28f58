// What the device itself needs: scaling by a number that is on the device.
#include "prelude.cuh"

template <typename A>
DEVICE void scale_by(A* y, const float* factor, i64 n) {
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(y + i, load(y + i) * *factor);
}

// y *= *factor, n elements, one a thread.
KERNEL(256) scale_by_f32(float* y, const float* factor, i64 n) { scale_by(y, factor, n); }
KERNEL(256) scale_by_bf16(bf16* y, const float* factor, i64 n) { scale_by(y, factor, n); }
