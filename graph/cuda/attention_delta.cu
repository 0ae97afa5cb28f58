// What the backward pass of attention wants to know of queries beforehand.
#include "prelude.cuh"

// delta [batch, heads, seq]: delta_i = do_i.o_i, for o and do [batch * seq, heads, dim]. Eight lanes a row; dim is a multiple
// of 8.
template <typename A>
DEVICE void attention_delta(float *delta, const A *out, const A *dout, i64 rows, int seq, int heads, int dim) {
  i64 row = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / 8;
  float sum = 0.0f;
  if (row < rows) {
    for (int c = threadIdx.x % 8 * 8; c < dim; c += 64) {
      float x[8], y[8];
      load8(out + row * dim + c, x);
      load8(dout + row * dim + c, y);
#pragma unroll
      for (int i = 0; i < 8; i++) sum = fmaf(x[i], y[i], sum);
    }
  }
#pragma unroll
  for (int step = 4; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (row < rows && threadIdx.x % 8 == 0) {
    i64 token = row / heads;
    delta[(token / seq * heads + row % heads) * seq + token % seq] = sum;
  }
}

KERNEL(256) attention_delta_f32(float *delta, const float *out, const float *dout, i64 rows, int seq, int heads, int dim) {
  attention_delta(delta, out, dout, rows, seq, heads, dim);
}
KERNEL(256) attention_delta_bf16(float *delta, const bf16 *out, const bf16 *dout, i64 rows, int seq, int heads, int dim) {
  attention_delta(delta, out, dout, rows, seq, heads, dim);
}

// first [batch, tiles] = the smallest of starts [batch, seq] over each tile of `tile` tokens; a start beyond its token is the
// token. A warp a tile.
KERNEL(32) attention_tile_starts(int *first, const int *starts, int seq, int tile, int tiles) {
  i64 row = blockIdx.x / tiles;
  int begin = blockIdx.x % tiles * tile, end = min(begin + tile, seq), lowest = 0x7fffffff;
  for (int i = begin + threadIdx.x; i < end; i += 32) lowest = min(lowest, min(starts[row * seq + i], i));
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) lowest = min(lowest, __shfl_xor_sync(0xffffffffu, lowest, step));
  if (threadIdx.x == 0) first[blockIdx.x] = lowest;
}
