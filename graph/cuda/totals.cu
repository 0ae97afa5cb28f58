// The second stage of sums over tokens: blocks leave partial sums, which are added here in a fixed order.
#include "prelude.cuh"

// put_total writes or adds a total, by one thread.
DEVICE void put_total(float *out, float x, int accumulate) { *out = accumulate ? *out + x : x; }

// out[e] = sum over r of partial[r, e], e < columns, plus addend[e] unless that is null, plus out[e] where it
// accumulates. partial [rows, stride]. A warp takes a column.
KERNEL(256)
totals(float *out, const float *partial, const float *addend, int rows, int columns, int stride, int accumulate) {
  const int e = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (e >= columns) return;
  float sum = 0.0f;
#pragma unroll 4
  for (int r = lane; r < rows; r += 32) sum += partial[(i64)r * stride + e];
  sum = warp_sum(sum);
  if (lane == 0) put_total(out + e, addend ? sum + addend[e] : sum, accumulate);
}

// out[g] = the sum over all rows of the columns of group g, which are [0, first), [first, second) and [second, columns).
// A block takes a group.
KERNEL(256)
totals_groups(float *out, const float *partial, int rows, int columns, int stride, int first, int second, int accumulate) {
  const int g = blockIdx.x, begin = g == 0 ? 0 : g == 1 ? first : second;
  const int width = (g == 0 ? first : g == 1 ? second : columns) - begin;
  float sum = 0.0f;
#pragma unroll 4
  for (i64 i = threadIdx.x; i < (i64)rows * width; i += 256) sum += partial[i / width * stride + begin + i % width];
  sum = block_sum<256>(sum);
  if (threadIdx.x == 0) put_total(out + g, sum, accumulate);
}

// out[1] = the sum over all rows of the columns k-1, 2k-1, ..., out[0] = that of all others. columns is a multiple of k.
// A block takes one.
KERNEL(256)
totals_pair(float *out, const float *partial, int rows, int columns, int stride, int k, int accumulate) {
  const int last = blockIdx.x, width = last ? columns / k : columns / k * (k - 1);
  float sum = 0.0f;
#pragma unroll 4
  for (i64 i = threadIdx.x; i < (i64)rows * width; i += 256) {
    const int e = (int)(i % width);
    sum += partial[i / width * stride + (last ? e * k + k - 1 : e + e / (k - 1))];
  }
  sum = block_sum<256>(sum);
  if (threadIdx.x == 0) put_total(out + last, sum, accumulate);
}
