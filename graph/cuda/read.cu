// graph.Read, y_t = keys X_t, and the gradient of its keys (Mak & Flanigan 2025, eq. 22-23, 26).
#include "read.cuh"

// read: y [tokens, m, dv].
template <class P, typename A = typename P::Activation>
DEVICE void read(A* y, const A* x, const float* keys, i64 tokens, int m, int dk, int dv, int part, int slab) {
  ReadArguments<A> a = {};
  a.y = y, a.x = x, a.keys = keys;
  a.tokens = tokens, a.m = m, a.dk = dk, a.dv = dv, a.part = part, a.slab = slab;
  Reader<P, false, true, false>(a).run();
}

// keys_grad: dkeys [blocks, m, dk], the sums of r_t X_t^T over each block's tokens. blockIdx.y counts the slabs.
template <class P, typename A = typename P::Activation>
DEVICE void keys_grad(float* dkeys, const A* rows, const A* x, i64 tokens, int m, int dk, int dv, int part, int slab) {
  ReadArguments<A> a = {};
  a.dkeys = dkeys, a.rows = rows, a.x = x;
  a.tokens = tokens, a.m = m, a.dk = dk, a.dv = dv, a.part = part, a.slab = slab;
  Reader<P, false, false, true>(a).run();
}

// BLOCKS are how many blocks of 256 threads a multiprocessor is to hold.
#define READ_KERNELS(P, SUFFIX, BLOCKS)                                                                                                   \
  KERNEL(256, BLOCKS)                                                                                                                       \
  read##SUFFIX(P::Activation* y, const P::Activation* x, const float* keys, i64 tokens, int m, int dk, int dv, int part, int slab) {                                                                                                       \
    read<P>(y, x, keys, tokens, m, dk, dv, part, slab);                                                                    \
  }                                                                                                                                 \
  KERNEL(256, BLOCKS)                                                                                                                       \
  keys_grad##SUFFIX(float* dkeys, const P::Activation* rows, const P::Activation* x, i64 tokens, int m, int dk, int dv, int part,   \
                    int slab) {                                                                                        \
    keys_grad<P>(dkeys, rows, x, tokens, m, dk, dv, part, slab);                                                           \
  }

READ_KERNELS(Fp32, _fp32, 2)
READ_KERNELS(Tf32, _tf32, 2)
READ_KERNELS(Bf16, _bf16, 3)

// ---- for sizes that do not fit into shared memory or registers: a thread a result, of any size ----

// read_plain: y [tokens, m, dv]; a thread computes one entry.
template <typename A>
DEVICE void read_plain(A* y, const A* x, const float* keys, i64 tokens, int m, int dk, int dv) {
  i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= tokens * m * dv) return;
  int column = static_cast<int>(i % dv), key = static_cast<int>(i / dv % m);
  x += i / dv / m * dk * dv + column;
  keys += static_cast<i64>(key) * dk;
  float sum = 0.0f;
  for (int k = 0; k < dk; k++) sum = fmaf(keys[k], load(x + static_cast<i64>(k) * dv), sum);
  store(y + i, sum);
}

KERNEL(256) read_plain_f32(float* y, const float* x, const float* keys, i64 tokens, int m, int dk, int dv) {
  read_plain(y, x, keys, tokens, m, dk, dv);
}
KERNEL(256) read_plain_bf16(bf16* y, const bf16* x, const float* keys, i64 tokens, int m, int dk, int dv) {
  read_plain(y, x, keys, tokens, m, dk, dv);
}

// keys_grad_plain: dkeys [m, dk]; blockIdx.x is the entry, whose terms the block's threads share.
template <typename A>
DEVICE void keys_grad_plain(float* dkeys, const A* rows, const A* x, i64 tokens, int m, int dk, int dv) {
  int key = blockIdx.x / dk, row = blockIdx.x % dk;
  float sum = 0.0f;
  for (i64 t = 0; t < tokens; t++) {
    const A *r = rows + (t * m + key) * dv, *v = x + (t * dk + row) * dv;
    float term = 0.0f;
    for (int i = threadIdx.x; i < dv; i += 256) term = fmaf(load(r + i), load(v + i), term);
    sum += term;
  }
  sum = block_sum<256>(sum);
  if (threadIdx.x == 0) dkeys[blockIdx.x] = sum;
}

KERNEL(256)
keys_grad_plain_f32(float* dkeys, const float* rows, const float* x, i64 tokens, int m, int dk, int dv) {
  keys_grad_plain(dkeys, rows, x, tokens, m, dk, dv);
}
KERNEL(256)
keys_grad_plain_bf16(float* dkeys, const bf16* rows, const bf16* x, i64 tokens, int m, int dk, int dv) {
  keys_grad_plain(dkeys, rows, x, tokens, m, dk, dv);
}
