// What the backward pass of attention wants to know of documents beforehand.
#include "prelude.cuh"

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
