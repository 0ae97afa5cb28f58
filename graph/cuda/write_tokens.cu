// graph.Write in bfloat16, X'_t = X_t + keys^T y_t, and its gradients, dy_t = keys G_t and dkeys = sum over tokens of y_t G_t^T, for
// the sizes of the RMT presets and at most 16 keys (see write.cu for others): a token a warp, the keys in its registers.
#include "write_tokens.cuh"

template <int DK, int DV>
DEVICE void write_tokens(TokenWriter<DK, DV>& writer, const float* keys) {
  DYNAMIC_SHARED(bf16, memory);
  writer.ring.start(memory);
  writer.keep_keys(keys);
  for (; writer.ring.more(); writer.ring.next()) writer.write(writer.ring.take());
}

template <int DK, int DV>
struct TokenWriterGradients {
  static constexpr int DEEP = DK / 16, ACROSS = DV / 16;
  typedef TokenRing<DK, DV, 16> Ring;

  Ring ring;
  bf16* dy;
  u32 keys[DEEP][4];
  float dkeys[DEEP][8];  // of 16 columns each, as fragment_row and fragment_column have them

  DEVICE void run(float* to, const float* of_global) {
    DYNAMIC_SHARED(bf16, memory);
    ring.start(memory);
#pragma unroll
    for (int i = 0; i < DEEP * 4; i++) {
      int key = fragment_row(i % 4), column = i / 4 * 16 + fragment_column(i % 4);
      keys[i / 4][i % 4] = key_pair(of_global, ring.m, DK, key, column, key, column + 1);
      dkeys[i / 4][i % 4 * 2] = dkeys[i / 4][i % 4 * 2 + 1] = 0.0f;
    }
    for (; ring.more(); ring.next()) {
      bf16 *matrix = ring.take(), *y = matrix + Ring::MATRIX;
      add_keys(matrix, y);
      __syncwarp();
      multiply(y, matrix);
      __syncwarp();
      warp_copy_out<DV>(dy + ring.token * ring.m * DV, y, ring.m);
    }
    put_keys(to);
  }

  // add_keys adds y_t G_t^T.
  DEVICE void add_keys(const bf16* matrix, const bf16* y) {
#pragma unroll
    for (int c = 0; c < ACROSS; c++) {
      u32 left[4];
      ldmatrix4(left, y + 16 * c + fragment_place(Ring::STRIDE));
#pragma unroll
      for (int k = 0; k < DEEP; k++) {
        u32 r[4];
        ldmatrix4(r, matrix + 16 * k * Ring::STRIDE + 16 * c + fragment_place(Ring::STRIDE));
        u32 upper[2] = {r[0], r[2]}, lower[2] = {r[1], r[3]};
        mma_bf16(dkeys[k], left, upper);
        mma_bf16(dkeys[k] + 4, left, lower);
      }
    }
  }

  // multiply computes dy_t and leaves it where y_t was: beyond its m rows there are zeros, too.
  DEVICE void multiply(bf16* to, const bf16* matrix) const {
#pragma unroll
    for (int c = 0; c < ACROSS; c++) {
      float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int k = 0; k < DEEP; k++) {
        u32 right[4];
        ldmatrix4_transposed(right, matrix + 16 * k * Ring::STRIDE + 16 * c + fragment_place(Ring::STRIDE));
        mma_bf16(sums, keys[k], right);
        mma_bf16(sums + 4, keys[k], right + 2);
      }
      put_fragments(to + 16 * c, Ring::STRIDE, sums);
    }
  }

  // put_keys adds up what the warps have summed, in their order.
  DEVICE void put_keys(float* to) {
    DYNAMIC_SHARED(float, memory);
    copy_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < DEEP * 4; i++) {
      int at = (threadIdx.x / 32 * 16 + fragment_row(i % 4)) * DK + i / 4 * 16 + fragment_column(i % 4);
      store2(memory + at, dkeys[i / 4] + i % 4 * 2);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ring.m * DK; i += blockDim.x) {
      float sum = 0.0f;
      for (int w = 0; w < TOKEN_WARPS; w++) sum += memory[w * 16 * DK + i];
      to[static_cast<i64>(blockIdx.x) * ring.m * DK + i] = sum;
    }
  }
};

// write: out [tokens, DK, DV] may be x. write_grad: dkeys [blocks, m, DK], the sums over each block's tokens.
// BLOCKS are how many a multiprocessor is to hold.
#define WRITE_TOKENS(DK, DV, BLOCKS)                                                                                                 \
  KERNEL(32 * TOKEN_WARPS, BLOCKS)                                                                                                   \
  write_##DK##x##DV##_bf16(bf16* out, const bf16* x, const float* keys, const bf16* y, i64 tokens, int m) {                          \
    TokenWriter<DK, DV> w;                                                                                                           \
    w.ring.x = x, w.ring.y = y, w.ring.tokens = tokens, w.ring.m = m, w.out = out;                                                   \
    write_tokens(w, keys);                                                                                                           \
  }                                                                                                                                  \
  KERNEL(32 * TOKEN_WARPS, BLOCKS)                                                                                                   \
  write_grad_##DK##x##DV##_bf16(bf16* dy, float* dkeys, const bf16* g, const float* keys, const bf16* y, i64 tokens, int m) {        \
    TokenWriterGradients<DK, DV> w;                                                                                                  \
    w.ring.x = g, w.ring.y = y, w.ring.tokens = tokens, w.ring.m = m, w.dy = dy;                                                     \
    w.run(dkeys, keys);                                                                                                              \
  }

WRITE_TOKENS(32, 32, 4)
WRITE_TOKENS(32, 64, 4)
WRITE_TOKENS(48, 64, 3)
WRITE_TOKENS(64, 64, 2)
