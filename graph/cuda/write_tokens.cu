// graph.Write in bfloat16, X'_t = X_t + keys^T y_t, and its gradients, dy_t = keys G_t and dkeys = sum over tokens of y_t G_t^T, for
// the sizes of the RMT presets and at most 16 keys (see write.cu for others): a token a warp, the keys in its registers.
#include "tokens.cuh"

constexpr int WRITE_WARPS = 4;  // a block's

// TokenRing is a warp's tokens in shared memory: X_t [DK, DV] or its gradient, and y_t [m, DV], whose other rows are zero.
template <int DK, int DV>
struct TokenRing {
  static constexpr int STRIDE = row_stride(DV), MATRIX = DK * STRIDE, SLOT = MATRIX + 16 * STRIDE;

  const bf16 *x, *y;  // [tokens, DK, DV], null: none; [tokens, m, DV]
  i64 tokens;
  int m;
  bf16* slots;

  DEVICE void start(i64 first, i64 step) {
    DYNAMIC_SHARED(bf16, memory);
    slots = memory + threadIdx.x / 32 * STAGES * SLOT;
    for (int s = 0; s < STAGES; s++) {
      for (int i = m * STRIDE / 8 + static_cast<int>(threadIdx.x % 32); i < 16 * STRIDE / 8; i += 32) {
        reinterpret_cast<uint4*>(slots + s * SLOT + MATRIX)[i] = make_uint4(0, 0, 0, 0);
      }
      begin(first + s * step, s);
    }
  }

  DEVICE void begin(i64 token, int slot) {
    if (token < tokens) {
      if (x != nullptr) warp_copy_begin<DK, DV>(slots + slot * SLOT, x + token * (DK * DV));
      warp_copy_rows_begin<DV>(slots + slot * SLOT + MATRIX, y + token * m * DV, m);
    }
    copy_async_commit();
  }

  // take waits for the token that was begun first.
  DEVICE bf16* take(int slot) {
    copy_async_wait<STAGES - 1>();
    __syncwarp();
    return slots + slot * SLOT;
  }
};

// token_of_warp is a warp's first token, token_step how far its tokens are apart.
DEVICE i64 token_of_warp() { return static_cast<i64>(blockIdx.x) * WRITE_WARPS + threadIdx.x / 32; }
DEVICE i64 token_step() { return static_cast<i64>(gridDim.x) * WRITE_WARPS; }

// key_pair is two neighbours of a fragment of keys [m, dk]: keys there are none of are zero.
DEVICE u32 key_pair(const float* keys, int m, int dk, int key, int column, int next_key, int next_column) {
  return pack_bf16(key < m ? keys[key * dk + column] : 0.0f, next_key < m ? keys[next_key * dk + next_column] : 0.0f);
}

template <int DK, int DV>
struct TokenWriter {
  static constexpr int DEEP = DK / 16, ACROSS = DV / 16;
  typedef TokenRing<DK, DV> Ring;

  Ring ring;
  bf16* out;
  u32 keys[DEEP][4];  // keys^T

  DEVICE void run(const float* of_global) {
    i64 token = token_of_warp(), step = token_step();
    ring.start(token, step);
#pragma unroll
    for (int i = 0; i < DEEP * 4; i++) {
      int row = i / 4 * 16 + fragment_row(i % 4), key = fragment_column(i % 4);
      keys[i / 4][i % 4] = key_pair(of_global, ring.m, DK, key, row, key + 1, row);
    }
    for (int slot = 0; token < ring.tokens; token += step, slot = (slot + 1) % STAGES) {
      bf16* matrix = ring.take(slot);
      add(matrix, matrix + Ring::MATRIX);
      __syncwarp();
#pragma unroll
      for (int k = 0; k < DEEP; k++) warp_copy_out<DV>(out + (token * DK + 16 * k) * DV, matrix + 16 * k * Ring::STRIDE, 16);
      __syncwarp();
      ring.begin(token + STAGES * step, slot);
    }
  }

  // add makes X'_t of X_t in shared memory.
  DEVICE void add(bf16* matrix, const bf16* y) const {
    u32 right[ACROSS][4];
#pragma unroll
    for (int c = 0; c < ACROSS; c++) ldmatrix4_transposed(right[c], y + 16 * c + fragment_place(Ring::STRIDE));
#pragma unroll
    for (int k = 0; k < DEEP; k++, matrix += 16 * Ring::STRIDE) {
      u32 old[ACROSS][4] = {};
#pragma unroll
      for (int c = 0; c < ACROSS && ring.x != nullptr; c++) ldmatrix4(old[c], matrix + 16 * c + fragment_place(Ring::STRIDE));
      __syncwarp();
#pragma unroll
      for (int c = 0; c < ACROSS; c++) {
        float sums[8];
#pragma unroll
        for (int i = 0; i < 4; i++) unpack_bf16(old[c][i], sums[2 * i], sums[2 * i + 1]);
        mma_bf16(sums, keys[k], right[c]);
        mma_bf16(sums + 4, keys[k], right[c] + 2);
        put_fragments(matrix + 16 * c, Ring::STRIDE, sums);
      }
    }
  }
};

template <int DK, int DV>
struct TokenWriterGradients {
  static constexpr int DEEP = DK / 16, ACROSS = DV / 16;
  typedef TokenRing<DK, DV> Ring;

  Ring ring;
  bf16* dy;
  u32 keys[DEEP][4];
  float dkeys[DEEP][8];  // of 16 columns each, as fragment_row and fragment_column have them

  DEVICE void run(float* to, const float* of_global) {
    i64 token = token_of_warp(), step = token_step();
    ring.start(token, step);
#pragma unroll
    for (int i = 0; i < DEEP * 4; i++) {
      int key = fragment_row(i % 4), column = i / 4 * 16 + fragment_column(i % 4);
      keys[i / 4][i % 4] = key_pair(of_global, ring.m, DK, key, column, key, column + 1);
      dkeys[i / 4][i % 4 * 2] = dkeys[i / 4][i % 4 * 2 + 1] = 0.0f;
    }
    for (int slot = 0; token < ring.tokens; token += step, slot = (slot + 1) % STAGES) {
      bf16 *matrix = ring.take(slot), *y = matrix + Ring::MATRIX;
      add_keys(matrix, y);
      __syncwarp();
      multiply(y, matrix);
      __syncwarp();
      warp_copy_out<DV>(dy + token * ring.m * DV, y, ring.m);
      __syncwarp();
      ring.begin(token + STAGES * step, slot);
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
      for (int w = 0; w < WRITE_WARPS; w++) sum += memory[w * 16 * DK + i];
      to[static_cast<i64>(blockIdx.x) * ring.m * DK + i] = sum;
    }
  }
};

// write: out [tokens, DK, DV] may be x. write_grad: dkeys [blocks, m, DK], the sums over each block's tokens.
// BLOCKS are how many a multiprocessor is to hold.
#define WRITE_TOKENS(DK, DV, BLOCKS)                                                                                                 \
  KERNEL(32 * WRITE_WARPS, BLOCKS)                                                                                                   \
  write_##DK##x##DV##_bf16(bf16* out, const bf16* x, const float* keys, const bf16* y, i64 tokens, int m) {                          \
    TokenWriter<DK, DV> w;                                                                                                           \
    w.ring.x = x, w.ring.y = y, w.ring.tokens = tokens, w.ring.m = m, w.out = out;                                                   \
    w.run(keys);                                                                                                                     \
  }                                                                                                                                  \
  KERNEL(32 * WRITE_WARPS, BLOCKS)                                                                                                   \
  write_grad_##DK##x##DV##_bf16(bf16* dy, float* dkeys, const bf16* g, const float* keys, const bf16* y, i64 tokens, int m) {        \
    TokenWriterGradients<DK, DV> w;                                                                                                  \
    w.ring.x = g, w.ring.y = y, w.ring.tokens = tokens, w.ring.m = m, w.dy = dy;                                                     \
    w.run(dkeys, keys);                                                                                                              \
  }

WRITE_TOKENS(32, 32, 4)
WRITE_TOKENS(32, 64, 4)
WRITE_TOKENS(48, 64, 3)
WRITE_TOKENS(64, 64, 2)
