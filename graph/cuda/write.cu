// graph.Write, X'_t = X_t + keys^T y_t (Mak & Flanigan 2025, eq. 18-20, 25), and its gradients: with G_t that of X'_t,
//
//	dy_t = keys G_t;   dkeys = sum over tokens of y_t G_t^T
//
// A token costs its y, X and X' in memory traffic forward, its G, y and dy backward: each once.
#include "read.cuh"

template <typename A>
struct WriteArguments {
  A* out;             // [tokens, dk, dv]
  const A* x;         // the same, may be out; null: zeros
  const float* keys;  // [m, dk]
  const A* y;         // [tokens, m, dv]
  i64 tokens;
  int m, dk, dv;
  int slab, batch;  // rows of X that a block has, blockIdx.y counts them; tokens that it has at once
};

// Writer is a block's work: the y of a batch of tokens is on its way to shared memory while the last batch is multiplied.
// dv is a multiple of 8, and all arrays begin at multiples of 16 bytes.
template <class P>
struct Writer {
  typedef typename P::Activation A;

  const WriteArguments<A>& a;
  int first_row, rows;  // of the block's slab of X
  int key_stride, stride, token_size, across, tiles;
  A *shared_keys, *shared_y;  // keys^T [slab, m]; y [batch, m, dv] twice

  DEVICE explicit Writer(const WriteArguments<A>& a) : a(a), first_row(blockIdx.y * a.slab) {
    rows = min(a.slab, a.dk - first_row);
    key_stride = padded(a.m) + P::KEY_PAD, stride = padded(a.dv) + P::PAD;
    token_size = padded(a.m) * stride;
    across = padded(a.dv) / TILE, tiles = padded(rows) / TILE * across;
    DYNAMIC_SHARED(A, memory);
    shared_keys = memory;
    shared_y = shared_keys + a.slab * key_stride;
  }

  DEVICE void run() {
    int size = a.slab * key_stride + 2 * a.batch * token_size;
    clear_shared(shared_keys, size * static_cast<int>(sizeof(A)));
    keep_keys_turned(shared_keys, key_stride, a.keys + first_row, a.m, rows, a.dk);
    i64 step = static_cast<i64>(gridDim.x) * a.batch;
    int buffer = 0;
    begin(static_cast<i64>(blockIdx.x) * a.batch, buffer);
    for (i64 first = static_cast<i64>(blockIdx.x) * a.batch; first < a.tokens; first += step, buffer ^= 1) {
      copy_async_wait<0>();
      __syncthreads();
      begin(first + step, buffer ^ 1);
      int work = count(first) * tiles;
      for (int i = threadIdx.x / 32; i < work; i += blockDim.x / 32) {
        int token = i / tiles;
        write_tile(first + token, shared_y + (buffer * a.batch + token) * token_size, i - token * tiles);
      }
    }
  }

  // count is the number of tokens in the batch that begins with first.
  DEVICE int count(i64 first) const { return static_cast<int>(min(static_cast<i64>(a.batch), a.tokens - first)); }

  // begin starts to fetch y of a batch.
  DEVICE void begin(i64 first, int buffer) {
    constexpr int VECTOR = 16 / static_cast<int>(sizeof(A));
    if (first >= a.tokens) return;
    const A* y = a.y + first * a.m * a.dv;
    A* to = shared_y + buffer * a.batch * token_size;
    int vectors = a.dv / VECTOR, all = count(first) * a.m * vectors;
    for (int i = threadIdx.x; i < all; i += blockDim.x) {
      int row = i / vectors, token = row / a.m;
      copy_async16(to + token * token_size + (row - token * a.m) * stride + (i - row * vectors) * VECTOR, y + i * VECTOR);
    }
    copy_async_commit();
  }

  // write_tile computes a tile of a token's X', by one warp.
  DEVICE void write_tile(i64 token, const A* y, int tile) {
    int row = tile / across * TILE, column = tile % across * TILE;
    int at = (row + lane_row()) * a.dv + column + lane_column();
    i64 matrix = (token * a.dk + first_row) * a.dv;
    bool is[2] = {column + lane_column() < a.dv && row + lane_row() < rows, column + lane_column() < a.dv && row + lane_row() + 8 < rows};
    Four<A> old[2];
#pragma unroll
    for (int h = 0; h < 2; h++) old[h] = fetch4(a.x + matrix + at + 8 * h * a.dv, a.x != nullptr && is[h]);
    float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, r[2][4];
    P::template add<false>(sums, shared_keys + row * key_stride, key_stride, y + column, stride, padded(a.m));
    P::results(r, sums);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float x[4];
      unpack(x, old[h]);
#pragma unroll
      for (int e = 0; e < 4; e++) x[e] += r[h][e];
      if (is[h]) store4(a.out + matrix + at + 8 * h * a.dv, x);
    }
  }
};

// write_grad: dy [tokens, m, dv] from g [tokens, dk, dv]; dkeys [blocks, m, dk], the sums over each block's tokens.
template <class P, typename A = typename P::Activation>
DEVICE void write_grad(A* dy, float* dkeys, const A* g, const float* keys, const A* y, i64 tokens, int m, int dk, int dv, int slab) {
  ReadArguments<A> a = {};
  a.y = dy, a.dkeys = dkeys, a.x = g, a.keys = keys, a.rows = y;
  a.tokens = tokens, a.m = m, a.dk = dk, a.dv = dv, a.part = m, a.slab = slab;
  Reader<P, false, true, true>(a).run();
}

#define WRITE_KERNELS(P, SUFFIX, WRITE_BLOCKS, GRAD_BLOCKS)                                                                      \
  KERNEL(256, WRITE_BLOCKS)                                                                                                      \
  write##SUFFIX(P::Activation* out, const P::Activation* x, const float* keys, const P::Activation* y, i64 tokens, int m,        \
                int dk, int dv, int slab, int batch) {                                                                           \
    WriteArguments<P::Activation> a = {out, x, keys, y, tokens, m, dk, dv, slab, batch};                                         \
    Writer<P>(a).run();                                                                                                          \
  }                                                                                                                              \
  KERNEL(256, GRAD_BLOCKS)                                                                                                       \
  write_grad##SUFFIX(P::Activation* dy, float* dkeys, const P::Activation* g, const float* keys, const P::Activation* y,         \
                     i64 tokens, int m, int dk, int dv, int slab) {                                                              \
    write_grad<P>(dy, dkeys, g, keys, y, tokens, m, dk, dv, slab);                                                               \
  }

WRITE_KERNELS(Fp32, _fp32, 3, 2)
WRITE_KERNELS(Tf32, _tf32, 3, 2)
WRITE_KERNELS(Bf16, _bf16, 4, 2)

// ---- for sizes that do not fit into shared memory or registers: a thread a result, of any size ----

// write_plain: out [tokens, dk, dv]; a thread computes one entry.
template <typename A>
DEVICE void write_plain(A* out, const A* x, const float* keys, const A* y, i64 tokens, int m, int dk, int dv) {
  i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= tokens * dk * dv) return;
  int column = static_cast<int>(i % dv), row = static_cast<int>(i / dv % dk);
  y += i / dv / dk * m * dv + column;
  float sum = x == nullptr ? 0.0f : load(x + i);
  for (int r = 0; r < m; r++) sum = fmaf(keys[static_cast<i64>(r) * dk + row], load(y + static_cast<i64>(r) * dv), sum);
  store(out + i, sum);
}

KERNEL(256) write_plain_f32(float* out, const float* x, const float* keys, const float* y, i64 tokens, int m, int dk, int dv) {
  write_plain(out, x, keys, y, tokens, m, dk, dv);
}
KERNEL(256) write_plain_bf16(bf16* out, const bf16* x, const float* keys, const bf16* y, i64 tokens, int m, int dk, int dv) {
  write_plain(out, x, keys, y, tokens, m, dk, dv);
}
