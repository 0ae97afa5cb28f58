// The embedding's table: rows gathered by token id, and their gradient.
#include "vector.cuh"

// gather computes y_t = factor table[ids_t], with table [vocab, width], y [tokens, width]; four columns a thread in blocks
// of 256. An id outside [0, vocab) gives a row of NaN.
template <typename A>
DEVICE void gather(A* y, const float* table, const int* ids, float factor, int tokens, int vocab, int width) {
  Quad q = quad_of(tokens, width);
  if (q.count <= 0) return;
  int id = ids[q.row];
  float v[4] = {NAN, NAN, NAN, NAN};
  if (id >= 0 && id < vocab) read4(table + static_cast<i64>(id) * width + q.column, q.count, v);
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] *= factor;
  write4(y + q.row * width + q.column, q.count, v);
}

KERNEL(256) gather_f32(float* y, const float* table, const int* ids, float factor, int tokens, int vocab, int width) {
  gather(y, table, ids, factor, tokens, vocab, width);
}
KERNEL(256) gather_bf16(bf16* y, const float* table, const int* ids, float factor, int tokens, int vocab, int width) {
  gather(y, table, ids, factor, tokens, vocab, width);
}

// order_tokens sorts token positions by id, those of one id in their order: order[r] is the position of rank r, sorted[r]
// its id. The rank is counted, that is T^2 comparisons, which a GPU makes faster than it starts the many small kernels of a
// real sort. A block ranks 32 positions: each of its eight warps compares them with an eighth of the tokens.
KERNEL(256) order_tokens(int* order, int* sorted, const int* ids, int tokens) {
  __shared__ int ranks[8][32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int position = blockIdx.x * 32 + lane;
  int id = position < tokens ? ids[position] : 0;
  int part = (tokens + 7) / 8;
  int from = warp * part, end = min(tokens, from + part);
  int rank = 0;
#pragma unroll 8
  for (int t = from; t < end; t++) {
    int other = ids[t];
    rank += other < id || (other == id && t < position);
  }
  ranks[warp][lane] = rank;
  __syncthreads();
  if (warp > 0 || position >= tokens) return;
  rank = 0;
#pragma unroll
  for (int w = 0; w < 8; w++) rank += ranks[w][lane];
  order[rank] = position;
  sorted[rank] = id;
}

// gather_grad computes dtable[v] += factor * the sum of dy_t over the t with ids_t = v, with dy [tokens, width], from the
// tokens' order by order_tokens. Block (r, c) sums for the id of rank r, if r is that id's first, the columns from 512 c on,
// 128 at a time, four a thread; its eight warps share the rows of dy, and their sums are added in the warps' order.
template <typename A>
DEVICE void gather_grad(float* dtable, const A* dy, const int* order, const int* sorted, float factor, int tokens, int vocab,
                        int width) {
  __shared__ float sums[8][128];
  int first = blockIdx.x, id = sorted[first];
  if (id < 0 || id >= vocab || (first > 0 && sorted[first - 1] == id)) return;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int end = min(width, (static_cast<int>(blockIdx.y) + 1) * 512);
  for (int group = blockIdx.y * 512; group < end; group += 128) {
    int column = group + 4 * lane, count = width - column;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int base = first;; base += 256) {
      // lane l of warp w looks at rank base + w + 8 l: the ranks of the id are the first of them
      int rank = base + warp + 8 * lane;
      bool mine = rank < tokens && sorted[rank] == id;
      int position = mine ? order[rank] : 0;
      u32 found = __ballot_sync(0xffffffffu, mine);
#pragma unroll 4
      for (int l = 0; l < 32; l++) {
        if ((found >> l & 1) == 0) break;
        int t = __shfl_sync(0xffffffffu, position, l);
        float v[4];
        read4(dy + static_cast<i64>(t) * width + column, count, v);
#pragma unroll
        for (int k = 0; k < 4; k++) sum[k] += v[k];
      }
      if (found != 0xffffffffu) break;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) sums[warp][4 * lane + k] = sum[k];
    __syncthreads();
    column = group + threadIdx.x;
    if (threadIdx.x < 128 && column < width) {
      float total = 0.0f;
#pragma unroll
      for (int w = 0; w < 8; w++) total += sums[w][threadIdx.x];
      dtable[static_cast<i64>(id) * width + column] += factor * total;
    }
    __syncthreads();
  }
}

KERNEL(256)
gather_grad_f32(float* dtable, const float* dy, const int* order, const int* sorted, float factor, int tokens, int vocab,
                int width) {
  gather_grad(dtable, dy, order, sorted, factor, tokens, vocab, width);
}
KERNEL(256)
gather_grad_bf16(float* dtable, const bf16* dy, const int* order, const int* sorted, float factor, int tokens, int vocab,
                 int width) {
  gather_grad(dtable, dy, order, sorted, factor, tokens, vocab, width);
}
