// Where tokens stand in their rows, and where their documents begin.
#include "prelude.cuh"

// positions numbers the tokens of each row of seq tokens; one token a thread.
KERNEL(256) positions(int* y, int seq, int tokens) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < tokens) y[i] = i % seq;
}

// document_starts computes for each token the index in its row of its document's first token: the last BOS before it, or
// itself, whose previous token is no BOS; 0 before any. tokens [rows, seq]; one row a warp, 32 tokens at a time, by a running
// maximum; blocks of 256 threads.
KERNEL(256) document_starts(int* starts, const int* tokens, int bos, int seq, int rows) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  int start = 0, previous = -1;
  for (int base = 0; base < seq; base += 32) {
    int i = base + lane;
    int id = i < seq ? tokens[row * seq + i] : bos;
    int before = __shfl_up_sync(0xffffffffu, id, 1);
    if (lane == 0) before = previous;
    int begin = i < seq && id == bos && before != bos ? i : start;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      int other = __shfl_up_sync(0xffffffffu, begin, step);
      if (lane >= step) begin = max(begin, other);
    }
    if (i < seq) starts[row * seq + i] = begin;
    start = __shfl_sync(0xffffffffu, begin, 31);
    previous = __shfl_sync(0xffffffffu, id, 31);
  }
}
