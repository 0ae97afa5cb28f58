// The second stage of the gradients of gains, biases and keys: blocks leave the sums over their tokens, which are added here
// in their order.
#include "prelude.cuh"

constexpr int BATCH = 16;  // loads of a thread that are under way at once

// sum_partials computes out [sets, width] (+)= the sum over the blocks of partial [sets, blocks, width]. A block of 16 warps
// has 32 columns of set blockIdx.y, from 32 group on; each warp sums every 16th row.
template <typename A>
DEVICE void sum_partials(A* out, const float* partial, int blocks, int width, int accumulate, int group) {
  __shared__ float sums[16][32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = group * 32 + lane;
  partial += static_cast<i64>(blockIdx.y) * blocks * width;
  float sum = 0.0f;
  if (column < width) {
    for (int first = warp; first < blocks; first += 16 * BATCH) {
      float terms[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; i++) {
        int row = first + 16 * i;
        terms[i] = row < blocks ? partial[static_cast<i64>(row) * width + column] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < BATCH; i++) sum += terms[i];
    }
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= width) return;
  for (int w = 1; w < 16; w++) sum += sums[w][lane];
  out += static_cast<i64>(blockIdx.y) * width + column;
  store(out, accumulate ? load(out) + sum : sum);
}

KERNEL(512) sum_partials_f32(float* out, const float* partial, int blocks, int width, int accumulate) {
  sum_partials(out, partial, blocks, width, accumulate, blockIdx.x);
}
KERNEL(512) sum_partials_bf16(bf16* out, const float* partial, int blocks, int width, int accumulate) {
  sum_partials(out, partial, blocks, width, accumulate, blockIdx.x);
}

// sum_partials_of_three does it for three results of one set each, of widths that may be 0.
KERNEL(512)
sum_partials_of_three(int blocks, float* a, const float* a_partial, int a_width, int a_accumulate, float* b, const float* b_partial,
                      int b_width, int b_accumulate, float* c, const float* c_partial, int c_width, int c_accumulate) {
  int group = blockIdx.x, of_a = (a_width + 31) / 32, of_b = (b_width + 31) / 32;
  if (group < of_a) {
    sum_partials(a, a_partial, blocks, a_width, a_accumulate, group);
  } else if (group < of_a + of_b) {
    sum_partials(b, b_partial, blocks, b_width, b_accumulate, group - of_a);
  } else {
    sum_partials(c, c_partial, blocks, c_width, c_accumulate, group - of_a - of_b);
  }
}
