// Reading from matrix streams (graph.Read, graph.NormRead) and the gradient of keys. For a token t with the matrix X_t
// [dk, dv], where N is the identity or the norm of graph.NormRead,
//
//	y_t = keys N(X_t)                        [m, dv]
//	dkeys = sum over tokens of r_t N(X_t)^T  [m, dk]
//
// A block walks over tokens. It has N(X_t) in shared memory, or one slab of its rows after the other where all are too many;
// X comes by way of registers, where the next token's is on its way while this one's is multiplied. dkeys is summed in
// registers over the block's tokens. dv is a multiple of 8, and all arrays begin at multiples of 16 bytes; m and dk are of
// any size.
#pragma once
#include "tile.cuh"

// READ_TILES are the tiles of X, of y and of dkeys that a warp has, each.
constexpr int READ_TILES = 2;

// ReadArguments are what a kernel gets; what it has no use for is null.
template <typename A>
struct ReadArguments {
  A* y;               // [tokens, m, dv]
  float* dkeys;       // [blocks, m, dk], the sum over the tokens of each block
  const A* x;         // [tokens, dk, dv]
  const float* keys;  // [m, dk]
  const A* rows;      // r [tokens, m, dv]
  const float* gain;  // [dk, dv]
  float *mean, *rstd;  // [tokens], see norm.cu; read if given, else written
  i64 tokens;
  int m, dk, dv;
  int part, slab;  // keys that a block has, blockIdx.z counts parts; rows of X that it has at once, a multiple of 16
  int rms, given;
  float eps;
};

// Moments are those of the elements that a warp has: their mean, less a number that all warps subtract, and the sum of
// their squares about it.
struct Moments {
  float mean, squares, count;
};

// norm_of computes y = N(x) for four elements; offset is the mean or zero.
template <typename A>
DEVICE void norm_of(float y[4], const Four<A>& x, const Four<float>& gain, float shift, float mean, float rstd) {
  float g[4];
  unpack(y, x);
  unpack(g, gain);
#pragma unroll
  for (int e = 0; e < 4; e++) y[e] = (y[e] - shift - mean) * rstd * g[e];
}

// put_sums writes tiles of a matrix whose rows are stride floats, of which the last ones need not be a multiple of 4:
// columns of them are left from the first tile's column on.
template <class P, int N>
DEVICE void put_sums(float* to, const float (&sums)[N][8], const Tiles<N>& tiles, int stride, int columns) {
#pragma unroll
  for (int i = 0; i < N; i++) {
    float r[2][4];
    P::results(r, sums[i]);
#pragma unroll
    for (int e = 0; e < 8; e++)
      if (tiles.is(i, e / 4) && tiles.column[i] + e % 4 < columns) to[tiles.at(i, e / 4, stride) + e % 4] = r[e / 4][e % 4];
  }
}

template <class P, bool NORM, bool READ, bool KEYS>
struct Reader {
  typedef typename P::Activation A;
  static constexpr int N = READ_TILES;

  const ReadArguments<A>& a;
  Tiles<N> in, out, keys;  // of X's slab, of y, of dkeys
  int first_key, key_count, slabs, own_slab;
  int key_stride, stride;  // of rows in shared memory
  A *shared_keys, *shared_x, *shared_rows;
  Four<A> x[N][2];
  float first;  // X_t's first element, which is subtracted before all else
  float mean, rstd;
  float elements;  // of a token that this warp has
  int parity;      // of the tokens begun
  float y_sums[N][8], key_sums[N][8];

  DEVICE Reader(const ReadArguments<A>& a)
      : a(a), in(a.slab, a.dv), out(min(a.part, a.m), a.dv), keys(min(a.part, a.m), min(a.slab, a.dk)), first(0.0f), mean(0.0f), rstd(1.0f), parity(0) {
    first_key = blockIdx.z * a.part, key_count = min(a.part, a.m - first_key);
    own_slab = KEYS && !READ ? blockIdx.y : 0;
    slabs = KEYS ? 1 : (a.dk + a.slab - 1) / a.slab;
    key_stride = padded(a.dk) + P::KEY_PAD, stride = padded(a.dv) + P::PAD;
    out.limit(key_count, a.dv);
    keys.limit(key_count, min(a.slab, a.dk - own_slab * a.slab));
    DYNAMIC_SHARED(A, memory);
    shared_keys = memory;
    shared_x = memory + (READ ? padded(min(a.part, a.m)) * key_stride : 0);
    shared_rows = shared_x + a.slab * stride;
    clear(y_sums);
    clear(key_sums);
  }

  static DEVICE void clear(float (&sums)[N][8]) {
#pragma unroll
    for (int i = 0; i < N * 8; i++) sums[i / 8][i % 8] = 0.0f;
  }

  DEVICE int row_elements() const { return padded(min(a.part, a.m)) * stride; }

  // shared_bytes is what the launcher has asked for.
  DEVICE int shared_bytes() const {
    A* end = shared_rows + (KEYS ? 2 * row_elements() : 0);
    return static_cast<int>(end - shared_keys) * static_cast<int>(sizeof(A));
  }

  DEVICE void run() {
    clear_shared(shared_keys, shared_bytes());
    if (READ) keep_keys(shared_keys, key_stride, a.keys + static_cast<i64>(first_key) * a.dk, key_count, a.dk, a.dk);
    i64 token = blockIdx.x;
    int slab = own_slab, buffer = 0;
    begin(token, slab, buffer);
    if (NORM) elements = warp_sum(static_cast<float>(4 * __popc(in.inside)));
    while (token < a.tokens) {
      if (slab == own_slab) start_token(token);
      if (!NORM || a.given) __syncthreads();  // else the statistics end so: nobody reads shared_x any longer
      keep_slab(slab);
      i64 next = slab + 1 < own_slab + slabs ? token : token + gridDim.x;
      int next_slab = next == token ? slab + 1 : own_slab;
      if (KEYS) copy_async_wait<0>();
      begin(next, next_slab, buffer ^ 1);
      __syncthreads();
      multiply(slab, buffer);
      if (READ && next != token) put_out(token);
      token = next, slab = next_slab, buffer ^= 1;
    }
    if (KEYS) put_keys();
  }

  // begin starts to fetch a slab of X and, for dkeys, the token's rows.
  DEVICE void begin(i64 token, int slab, int buffer) {
    if (token >= a.tokens) return;
    const A* matrix = a.x + token * a.dk * a.dv;
    int first_row = slab * a.slab;
    in.limit(min(a.slab, a.dk - first_row), a.dv);
    fetch_tiles(x, matrix + first_row * a.dv, in, a.dv);
    if (NORM && !a.rms) first = load(matrix);
    if (KEYS) {
      const A* rows = a.rows + (token * a.m + first_key) * a.dv;
      begin_rows(shared_rows + buffer * row_elements(), stride, rows, key_count, a.dv);
      copy_async_commit();
    }
  }

  DEVICE void start_token(i64 token) {
    clear(y_sums);
    if (!NORM) return;
    if (a.given) {
      if (!a.rms) mean = a.mean[token];
      rstd = a.rstd[token];
      return;
    }
    find_moments();
    if (threadIdx.x == 0 && blockIdx.z == 0) {
      if (!a.rms) a.mean[token] = mean;
      a.rstd[token] = rstd;
    }
  }

  // sum_tiles sums the token's elements, less shift, or the squares of that, over a warp.
  DEVICE float sum_tiles(float shift, bool squares) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (!in.is(i, h)) continue;
        float v[4];
        unpack(v, x[i][h]);
#pragma unroll
        for (int e = 0; e < 4; e++) {
          float d = v[e] - first - shift;
          sum = squares ? fmaf(d, d, sum) : sum + d;
        }
      }
    return warp_sum(sum);
  }

  // find_moments computes mean, less X_t's first element, and rstd from the moments of the warps (Chan et al. 1979,
  // updating formulae 1.2); it ends with the block synchronised. The norm is over the whole matrix: there is one slab.
  DEVICE void find_moments() {
    __shared__ Moments of_warp[2][32];
    Moments own = {0.0f, 0.0f, elements};
    if (!a.rms) own.mean = sum_tiles(0.0f, false) / fmaxf(own.count, 1.0f);
    own.squares = sum_tiles(own.mean, true);
    Moments* all = of_warp[parity];
    parity ^= 1;
    if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = own;
    __syncthreads();
    int warps = blockDim.x / 32;
    float total = static_cast<float>(a.dk) * static_cast<float>(a.dv), sum = 0.0f, squares = 0.0f;
    if (!a.rms)
      for (int w = 0; w < warps; w++) sum += all[w].mean * all[w].count;
    mean = sum / total;
    for (int w = 0; w < warps; w++) {
      float apart = all[w].mean - mean;
      squares += all[w].squares + apart * apart * all[w].count;
    }
    rstd = 1.0f / sqrtf(squares / total + a.eps);
  }

  // keep_slab stores N(X_t)'s slab to shared memory.
  DEVICE void keep_slab(int slab) {
    const float* gain = a.gain + slab * a.slab * a.dv;
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!in.has(i)) continue;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        A* place = shared_x + in.at(i, h, stride);
        if (NORM) {
          float v[4];
          norm_of(v, x[i][h], fetch4(gain + in.at(i, h, a.dv), in.is(i, h)), first, mean, rstd);
          store4(place, v);
        } else {
          *reinterpret_cast<Four<A>*>(place) = x[i][h];
        }
      }
    }
  }

  // multiply adds the slab's part to y, and to dkeys.
  DEVICE void multiply(int slab, int buffer) {
    int depth = padded(min(a.slab, a.dk - slab * a.slab));
    const A* rows = shared_rows + buffer * row_elements();
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (READ && out.has(i)) {
        P::template add<false>(y_sums[i], shared_keys + out.first_row(i) * key_stride + slab * a.slab, key_stride,
                               shared_x + out.first_column(i), stride, depth);
      }
      if (KEYS && keys.has(i)) {
        P::template add<true>(key_sums[i], rows + keys.first_row(i) * stride, stride, shared_x + keys.first_column(i) * stride, stride,
                              padded(a.dv));
      }
    }
  }

  DEVICE void put_out(i64 token) {
    A* y = a.y + (token * a.m + first_key) * a.dv;
#pragma unroll
    for (int i = 0; i < N; i++) {
      float r[2][4];
      P::results(r, y_sums[i]);
#pragma unroll
      for (int h = 0; h < 2; h++)
        if (out.is(i, h)) store4(y + out.at(i, h, a.dv), r[h]);
    }
  }

  DEVICE void put_keys() {
    int first_column = own_slab * a.slab;
    float* dkeys = a.dkeys + (static_cast<i64>(blockIdx.x) * a.m + first_key) * a.dk + first_column;
    put_sums<P>(dkeys, key_sums, keys, a.dk, a.dk - first_column);
  }
};
