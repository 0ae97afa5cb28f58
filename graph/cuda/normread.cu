// graph.NormRead, y_t = keys N(X_t), with N the norm over all entries of X_t [dk, dv] (Mak & Flanigan 2025, section 3.2 and
// eq. 22-23), and its gradients. With dXn_t = keys^T dy_t, n_t = (X_t - mean) rstd and h_t = dXn_t * gain
//
//	dX_t = addend_t + (h_t - mean(h_t) - n_t mean(h_t * n_t)) rstd        (RMSNorm: without mean(h_t))
//	dgain = sum over tokens of dXn_t * n_t;   dkeys = sum over tokens of dy_t (n_t * gain)^T
//
// N(X_t) is never stored but in shared memory. Forward, a token costs its X and y in memory traffic; backward, its X, dy,
// addend and dX: each once.
#include "read.cuh"

// normread_forward: y [tokens, m, dv], mean and rstd [tokens].
template <class P, typename A = typename P::Activation>
DEVICE void normread_forward(A* y, const A* x, const float* gain, const float* keys, float* mean, float* rstd, i64 tokens, int m, int dk,
                             int dv, int part, int slab, int rms, int given, float eps) {
  ReadArguments<A> a = {};
  a.y = y, a.x = x, a.gain = gain, a.keys = keys, a.mean = mean, a.rstd = rstd;
  a.tokens = tokens, a.m = m, a.dk = dk, a.dv = dv, a.part = part, a.slab = slab;
  a.rms = rms, a.given = given, a.eps = eps;
  Reader<P, true, true, false>(a).run();
}

// ---- backward ----

// How a backward pass comes by the two sums of a token, of h and of h * n: a block that has all of X_t sums them itself;
// otherwise a first pass writes those of each slab, and a second one adds these.
enum Sums { OWN, FIRST_PASS, SECOND_PASS };

template <typename A>
struct NormReadGradients {
  A* dx;               // [tokens, dk, dv]
  float *dgain, *dkeys;  // [blocks, dk, dv] and [blocks, m, dk]; null: not wanted
  float2* sums;        // [slabs, tokens], in two passes
  const A *dy, *x, *addend;
  const float *gain, *keys, *mean, *rstd;
  i64 tokens;
  int m, dk, dv, slab, rms;
};

template <class P, int SUMS>
struct NormReadBackward {
  typedef typename P::Activation A;
  static constexpr int N = READ_TILES;
  static constexpr bool EARLY = sizeof(A) == 2;  // the addend is fetched before the products: there are registers for it

  const NormReadGradients<A>& a;
  int first_row, in_rows;  // of the block's slab of X
  Tiles<N> in, keys;    // of the slab and of dkeys
  int key_stride, stride, rows_size;
  A *shared_keys, *shared_x, *shared_dy;  // keys^T [slab, m], N(X_t) [slab, dv], dy_t [m, dv] twice
  Four<A> x[N][2], next[N][2], addend[N][2];  // of a token, the next one, what is added
  float first, mean, rstd, next_first, next_mean, next_rstd;  // n = (x - first - mean) rstd
  float dgain[N][2][4], dkeys[N][8];

  DEVICE explicit NormReadBackward(const NormReadGradients<A>& a)
      : a(a), first_row(blockIdx.y * a.slab), in(min(a.slab, a.dk), a.dv), keys(a.m, min(a.slab, a.dk)) {
    in_rows = min(a.slab, a.dk - first_row);
    in.limit(in_rows, a.dv);
    keys.limit(a.m, in_rows);
    key_stride = padded(a.m) + P::KEY_PAD, stride = padded(a.dv) + P::PAD;
    rows_size = padded(a.m) * stride;
    DYNAMIC_SHARED(A, memory);
    shared_keys = memory;
    shared_x = shared_keys + a.slab * key_stride;
    shared_dy = shared_x + a.slab * stride;
#pragma unroll
    for (int i = 0; i < N * 8; i++) dgain[i / 8][i % 8 / 4][i % 4] = dkeys[i / 8][i % 8] = 0.0f;
  }

  DEVICE void run() {
    int size = a.slab * (key_stride + stride) + 2 * rows_size;
    clear_shared(shared_keys, size * static_cast<int>(sizeof(A)));
    keep_keys_turned(shared_keys, key_stride, a.keys + first_row, a.m, in_rows, a.dk);
    int buffer = 0;
    begin(blockIdx.x, buffer);
    for (i64 token = blockIdx.x; token < a.tokens; token += gridDim.x, buffer ^= 1) {
      take_next();
      if (SUMS != FIRST_PASS && a.dkeys != nullptr) keep_normalised();
      copy_async_wait<0>();
      __syncthreads();
      begin(token + gridDim.x, buffer ^ 1);
      if (EARLY) fetch_addend(token);
      float dxn[N][2][4];
      multiply(dxn, buffer);
      float2 means = find_means(dxn, token);
      if (!EARLY) fetch_addend(token);
      if (SUMS != FIRST_PASS) put_gradients(dxn, means, token);
    }
    if (SUMS != FIRST_PASS) put_totals();
  }

  // at is where the block's slab of a token begins in X.
  DEVICE i64 at(i64 token) const { return (token * a.dk + first_row) * a.dv; }

  // begin starts to fetch a token's slab of X, its statistics and dy.
  DEVICE void begin(i64 token, int buffer) {
    if (token >= a.tokens) return;
    fetch_tiles(next, a.x + at(token), in, a.dv);
    next_rstd = a.rstd[token];
    next_first = a.rms ? 0.0f : load(a.x + token * a.dk * a.dv);
    next_mean = a.rms ? 0.0f : a.mean[token];
    begin_rows(shared_dy + buffer * rows_size, stride, a.dy + token * a.m * a.dv, a.m, a.dv);
    copy_async_commit();
  }

  DEVICE void fetch_addend(i64 token) {
    if (SUMS != FIRST_PASS && a.addend != nullptr) fetch_tiles(addend, a.addend + at(token), in, a.dv);
  }

  DEVICE void take_next() {
    first = next_first, mean = next_mean, rstd = next_rstd;
#pragma unroll
    for (int i = 0; i < N * 2; i++) x[i / 2][i % 2] = next[i / 2][i % 2];
  }

  DEVICE void gain_of(float g[4], int i, int h) const {
    unpack(g, fetch4(a.gain + first_row * a.dv + in.at(i, h, a.dv), in.is(i, h)));
  }

  // keep_normalised stores N(X_t).
  DEVICE void keep_normalised() {
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!in.has(i)) continue;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float v[4], g[4];
        unpack(v, x[i][h]);
        gain_of(g, i, h);
#pragma unroll
        for (int e = 0; e < 4; e++) v[e] = (v[e] - first - mean) * rstd * g[e];
        store4(shared_x + in.at(i, h, stride), v);
      }
    }
  }

  // multiply computes dXn_t and adds to dkeys.
  DEVICE void multiply(float (&dxn)[N][2][4], int buffer) {
    const A* dy = shared_dy + buffer * rows_size;
#pragma unroll
    for (int i = 0; i < N; i++) {
      float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
      if (in.has(i)) {
        P::template add<false>(sums, shared_keys + in.first_row(i) * key_stride, key_stride, dy + in.first_column(i), stride, padded(a.m));
      }
      P::results(dxn[i], sums);
      if (SUMS != FIRST_PASS && a.dkeys != nullptr && keys.has(i)) {
        P::template add<true>(dkeys[i], dy + keys.first_row(i) * stride, stride, shared_x + keys.first_column(i) * stride, stride,
                              padded(a.dv));
      }
    }
  }

  // find_means makes h of dXn, adds dXn * n to dgain, and returns the means of h and of h * n over the token. It ends with
  // the block synchronised.
  DEVICE float2 find_means(float (&dxn)[N][2][4], i64 token) {
    float h_sum = 0.0f, hn_sum = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float v[4], g[4];
        unpack(v, x[i][h]);
        gain_of(g, i, h);
#pragma unroll
        for (int e = 0; e < 4; e++) {
          float n = (v[e] - first - mean) * rstd;
          dgain[i][h][e] = fmaf(dxn[i][h][e], n, dgain[i][h][e]);
          dxn[i][h][e] *= g[e];
          h_sum += dxn[i][h][e];
          hn_sum = fmaf(dxn[i][h][e], n, hn_sum);
        }
      }
    return means_of(make_float2(warp_sum(h_sum), warp_sum(hn_sum)), token);
  }

  // means_of adds the sums of the warps.
  DEVICE float2 means_of(float2 own, i64 token) {
    __shared__ float2 of_warp[32];
    if (SUMS != SECOND_PASS && threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    float2 sum = make_float2(0.0f, 0.0f);
    int slabs = (a.dk + a.slab - 1) / a.slab, terms = SUMS == SECOND_PASS ? slabs : blockDim.x / 32;
    for (int i = 0; i < terms; i++) {
      float2 term = SUMS == SECOND_PASS ? a.sums[i * a.tokens + token] : of_warp[i];
      sum.x += term.x, sum.y += term.y;
    }
    if (SUMS == FIRST_PASS && threadIdx.x == 0) a.sums[blockIdx.y * a.tokens + token] = sum;
    float entries = static_cast<float>(a.dk) * static_cast<float>(a.dv);
    return make_float2(a.rms ? 0.0f : sum.x / entries, sum.y / entries);
  }

  // put_gradients writes dX_t from h.
  DEVICE void put_gradients(const float (&h)[N][2][4], float2 means, i64 token) {
    A* dx = a.dx + at(token);
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int r = 0; r < 2; r++) {
        float v[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        unpack(v, x[i][r]);
        if (a.addend != nullptr) unpack(sum, addend[i][r]);
#pragma unroll
        for (int e = 0; e < 4; e++) v[e] = sum[e] + (h[i][r][e] - means.x - (v[e] - first - mean) * rstd * means.y) * rstd;
        if (in.is(i, r)) store4(dx + in.at(i, r, a.dv), v);
      }
  }

  // put_totals writes what the block has summed over its tokens.
  DEVICE void put_totals() {
    i64 block = blockIdx.x;
    if (a.dkeys != nullptr) put_sums<P>(a.dkeys + block * a.m * a.dk + first_row, dkeys, keys, a.dk, a.dk - first_row);
    if (a.dgain == nullptr) return;
    float* to = a.dgain + (block * a.dk + first_row) * a.dv;
#pragma unroll
    for (int i = 0; i < 2 * N; i++)
      if (in.is(i / 2, i % 2)) store4(to + in.at(i / 2, i % 2, a.dv), dgain[i / 2][i % 2]);
  }
};

template <class P, int SUMS, typename A = typename P::Activation>
DEVICE void normread_backward(A* dx, float* dgain, float* dkeys, float2* sums, const A* dy, const A* x, const A* addend, const float* gain,
                              const float* keys, const float* mean, const float* rstd, i64 tokens, int m, int dk, int dv, int slab, int rms) {
  NormReadGradients<A> a = {dx, dgain, dkeys, sums, dy, x, addend, gain, keys, mean, rstd, tokens, m, dk, dv, slab, rms};
  NormReadBackward<P, SUMS>(a).run();
}

#define NORMREAD_BACKWARD(NAME, P, SUMS, BLOCKS)                                                                                              \
  KERNEL(256, BLOCKS)                                                                                                                         \
  NAME(P::Activation* dx, float* dgain, float* dkeys, float2* sums, const P::Activation* dy, const P::Activation* x,                  \
       const P::Activation* addend, const float* gain, const float* keys, const float* mean, const float* rstd, i64 tokens, int m,    \
       int dk, int dv, int slab, int rms) {                                                                              \
    normread_backward<P, SUMS>(dx, dgain, dkeys, sums, dy, x, addend, gain, keys, mean, rstd, tokens, m, dk, dv, slab, rms); \
  }

#define NORMREAD_KERNELS(P, SUFFIX, BLOCKS)                                                                                               \
  KERNEL(256, BLOCKS)                                                                                                                     \
  normread_forward##SUFFIX(P::Activation* y, const P::Activation* x, const float* gain, const float* keys, float* mean,           \
                           float* rstd, i64 tokens, int m, int dk, int dv, int part, int slab, int rms, int given, float eps) {                                                                                         \
    normread_forward<P>(y, x, gain, keys, mean, rstd, tokens, m, dk, dv, part, slab, rms, given, eps);                   \
  }                                                                                                                               \
  NORMREAD_BACKWARD(normread_backward##SUFFIX, P, OWN, 2)                                                                            \
  NORMREAD_BACKWARD(normread_backward_sums##SUFFIX, P, FIRST_PASS, 2)                                                                \
  NORMREAD_BACKWARD(normread_backward_rest##SUFFIX, P, SECOND_PASS, 2)

NORMREAD_KERNELS(Fp32, _fp32, 2)
NORMREAD_KERNELS(Tf32, _tf32, 2)
NORMREAD_KERNELS(Bf16, _bf16, 3)
