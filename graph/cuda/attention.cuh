// What the attention kernels share: matrices in shared memory, how they are loaded, rotated by rotary positions and stored,
// and what a query sees.
//
// A block has 4 warps. A launch's grid is [pairs of a chunk, blocks of a pair, chunks]: blocks that start near each other work
// for the pairs of one chunk, whose keys and values stay in the second-level cache until all of the chunk's blocks have read
// them, and of these the blocks with the most work start first.
// A warp owns 16 M rows of the block's matrix of scores; a lane holds, of the 16x8 piece (m, n), the
// four numbers x[m][n] of mma_bf16's c: with group = lane / 4 and t = lane % 4
//   x[m][n][2 h + e] = X[16 m + 8 h + group, 8 n + 2 t + e]
#pragma once
#include "prelude.cuh"

constexpr int attention_warps = 4;
constexpr int attention_threads = 32 * attention_warps;
constexpr float log2_e = 1.4426950408889634f;

// exp2_fast is 2^x to 2 units in the last place; what is smaller than all normal numbers is 0.
#ifdef __CUDACC__
DEVICE float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
DEVICE float exp2_fast(float x) { return exp2f(x); }
#endif

// stride_of is the distance of the rows of D numbers in shared memory: 16 bytes lie between them, so that 8 rows' pieces of
// 16 bytes in one column lie in different banks.
template <typename A, int D>
constexpr int stride_of = D + 16 / static_cast<int>(sizeof(A));

// block_pair is the (row, head) pair that the block works for.
DEVICE int block_pair() { return blockIdx.z * gridDim.x + blockIdx.x; }

// Rows is a matrix in global memory: rows of `dim` numbers, `stride` numbers apart. dim is a multiple of 8, and every row
// begins at a multiple of 16 bytes; heads of other sizes are padded (attention_pad.cu).
template <typename A>
struct Rows {
  A *data;
  int stride, dim;

  DEVICE A *row(int i) const { return data + static_cast<u64>(static_cast<u32>(i)) * static_cast<u32>(stride); }
};

// packed_head is where what a head reads lies among the heads of queries, keys and values: its query (part 0), key (1) or value
// (2). Head h reads keys and values of head h / (heads / kv_heads).
DEVICE int packed_head(int part, int head, int heads, int kv_heads) {
  return part == 0 ? head : heads + (part - 1) * kv_heads + head / (heads / kv_heads);
}

// packed_rows is where a (row, head) pair's queries (part 0), keys (1) or values (2) lie in qkv [batch * seq, heads + 2 kv_heads,
// dim].
template <typename A>
DEVICE Rows<A> packed_rows(A *qkv, int part, int pair, int seq, int heads, int kv_heads, int dim) {
  int stride = (heads + 2 * kv_heads) * dim;
  return Rows<A>{qkv + static_cast<i64>(pair / heads) * seq * stride + packed_head(part, pair % heads, heads, kv_heads) * dim, stride, dim};
}

// out_rows is where the pair lies in o [batch * seq, heads, dim].
template <typename A>
DEVICE Rows<A> out_rows(A *o, int pair, int seq, int heads, int dim) {
  int width = heads * dim;
  return Rows<A>{o + static_cast<i64>(pair / heads) * seq * width + pair % heads * dim, width, dim};
}

// ---- rotary positions (Su et al. 2021, eq. 15), half-split pairs ----
// angles [positions, 2, dim / 2] holds the cosines, then the sines, of a position's angles; null: nothing is rotated.

// rotate4 rotates the pairs (x[i], y[i]) by the four angles from column c on; direction is 1, or -1 to rotate them back.
DEVICE void rotate4(float x[4], float y[4], const float *angles, int c, int dim, float direction) {
  float cosines[4], sines[4];
  load4(angles + c, cosines);
  load4(angles + dim / 2 + c, sines);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float sine = direction * sines[i], rotated = x[i] * cosines[i] - y[i] * sine;
    y[i] = y[i] * cosines[i] + x[i] * sine;
    x[i] = rotated;
  }
}

// ---- global to shared memory ----
// Both fill tile [ROWS, D] with the rows first .. first + ROWS - 1 of x; in the place of those from `end` on comes the last one
// before it, and columns beyond dim are 0. The tile may be read after copy_async_wait and __syncthreads.

template <int ROWS, int D, typename A>
DEVICE void load_rows(A *tile, Rows<const A> x, int first, int end) {
  constexpr int width = 16 / static_cast<int>(sizeof(A)), lanes = D / width % 8 == 0 ? 8 : 4, step = attention_threads / lanes;
  static_assert(ROWS % step == 0 && D % (lanes * width) == 0, "every thread copies as many pieces");
  int row = threadIdx.x / lanes, column = threadIdx.x % lanes * width;
  tile += row * stride_of<A, D>;
  if (first + ROWS <= end && x.dim == D) {  // as most tiles, and in fewer instructions
    const A *from = x.row(first + row) + column;
#pragma unroll
    for (int k = 0; k < D; k += lanes * width) {
#pragma unroll
      for (int r = 0; r < ROWS; r += step) copy_async16(tile + r * stride_of<A, D> + column + k, from + k + static_cast<i64>(x.stride) * r);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < D; k += lanes * width) {
    int c = column + k;
    bool inside = c < x.dim;
#pragma unroll
    for (int r = 0; r < ROWS; r += step) {
      A *to = tile + r * stride_of<A, D> + c;
      if (inside) {
        copy_async16(to, x.row(min(first + row + r, end - 1)) + c);
      } else {
        *reinterpret_cast<uint4 *>(to) = make_uint4(0, 0, 0, 0);
      }
    }
  }
}

// load_rotated rotates row i by the angles of position i. Of the D / 2 pairs of columns those past dim / 2 stand for the last
// D - dim columns.
template <int ROWS, int D, typename A>
DEVICE void load_rotated(A *tile, Rows<const A> x, int first, int end, const float *angles) {
  if (angles == nullptr) return load_rows<ROWS, D>(tile, x, first, end);
  int half = x.dim / 2;
#pragma unroll 2
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += attention_threads) {
    int r = i / (D / 8), c = i % (D / 8) * 4, from = min(first + r, end - 1);
    float low[4] = {}, high[4] = {};
    if (c < half) {
      load4(x.row(from) + c, low);
      load4(x.row(from) + half + c, high);
      rotate4(low, high, angles + static_cast<i64>(from) * x.dim, c, x.dim, 1.0f);
    }
    A *to = tile + r * stride_of<A, D>;
    store4(to + (c < half ? c : 2 * c), low);
    store4(to + (c < half ? half + c : 2 * c + 4), high);
  }
}

// ---- registers to shared to global memory ----

// stage writes the pieces x [16 M, 8 N] times factor to rows of floats, STRIDE apart.
template <int STRIDE, int M, int N>
DEVICE void stage(float *rows, const float (&x)[M][N][4], float factor) {
  int lane = threadIdx.x % 32;
  rows += lane / 4 * STRIDE + lane % 4 * 2;
#pragma unroll
  for (int m = 0; m < M; m++) {
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float pair[2] = {factor * x[m][n][2 * h], factor * x[m][n][2 * h + 1]};
        store2(rows + (16 * m + 8 * h) * STRIDE + 8 * n, pair);
      }
    }
  }
}

// store_rows writes staged rows [ROWS, D] of floats to the rows first .. of y, those before `end`, rotated back by the angles of
// row i's position i.
template <int ROWS, int D, int STRIDE, typename A>
DEVICE void store_rows(Rows<A> y, const float *staged, int first, int end, const float *angles) {
#pragma unroll 2
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += attention_threads) {
    int r = i / (D / 8), c = i % (D / 8) * 8;
    if (first + r >= end || c >= y.dim) continue;
    if (angles == nullptr) {
      float x[8];
      load8(staged + r * STRIDE + c, x);
      store8(y.row(first + r) + c, x);
      continue;
    }
    int half = y.dim / 2;
    c /= 2;
    float low[4], high[4];
    load4(staged + r * STRIDE + c, low);
    load4(staged + r * STRIDE + half + c, high);
    rotate4(low, high, angles + static_cast<i64>(first + r) * y.dim, c, y.dim, -1.0f);
    store4(y.row(first + r) + c, low);
    store4(y.row(first + r) + half + c, high);
  }
}

// over_key_tiles calls work(j, k, v) for the tiles of keys j .. j + KEYS - 1 from `begin` to `end`, k and v being their keys and
// values in shared memory. With two stages, 2 * 2 * KEYS rows from `tiles` on, a tile comes while the one before it is worked on.
template <int D, int KEYS, int STAGES, typename A, typename F>
DEVICE void over_key_tiles(A *tiles, Rows<const A> k, Rows<const A> v, const float *angles, int begin, int end, F work) {
  constexpr int values = KEYS * stride_of<A, D>;
  int buffer = 0;
  for (int j = begin - KEYS; j < end; j += KEYS) {  // the first iteration only loads
    if (j >= begin) {
      copy_async_wait<0>();
      __syncthreads();
    }
    if (STAGES == 1 && j >= begin) {
      work(j, tiles, tiles + values);
      __syncthreads();
    }
    A *next = tiles + buffer;
    if (j + KEYS < end) {
      load_rotated<KEYS, D>(next, k, j + KEYS, end, angles);
      load_rows<KEYS, D>(next + values, v, j + KEYS, end);
    }
    copy_async_commit();
    if (STAGES == 2) {
      buffer = 2 * values - buffer;
      if (j >= begin) work(j, tiles + buffer, tiles + buffer + values);
    }
  }
}

// ---- what a query sees ----

// Mask describes the logits of one launch, in units of log 2:
//   logit(i, j) = scale q_i.k_j - slope (i - j), starts_i <= j <= i
struct Mask {
  float scale;        // times log2(e)
  float slope;        // of ALiBi, times log2(e)
  const int *starts;  // of the row's tokens, or null
  int past;           // the position of token 0

  // plain tells whether logits are products times a factor above 0, and no more.
  DEVICE bool plain() const { return slope == 0.0f && scale > 0.0f; }
  DEVICE float factor() const { return plain() ? scale : 1.0f; }
};

DEVICE Mask mask_of(float scale, const float *slopes, const int *starts, int pair, int seq, int heads, int past) {
  return Mask{scale * log2_e, slopes == nullptr ? 0.0f : slopes[pair % heads] * log2_e,
              starts == nullptr ? nullptr : starts + static_cast<i64>(pair / heads) * seq, past};
}

// first_key is the first position that query i of seq sees.
DEVICE int first_key(const Mask &mask, int i, int seq) {
  return mask.starts == nullptr || i >= seq ? 0 : min(max(mask.starts[i], 0), mask.past + i);
}

DEVICE int warp_min(int x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = min(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// Sight is what the queries of a lane's rows see: the positions first .. last.
template <int M>
struct Sight {
  int first[M][2], last[M][2];
  int warp_first, warp_latest;  // the smallest and the largest first of the warp's rows
  int warp_last, warp_next;     // the largest and the smallest last

  // The warp's rows are those of the queries i0 .. i0 + 16 M - 1 of seq.
  DEVICE Sight(const Mask &mask, int i0, int seq) {
    int lowest = 0x7fffffff, highest = 0;  // of the queries before seq
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        int i = i0 + 16 * m + 8 * h + threadIdx.x % 32 / 4;
        last[m][h] = mask.past + i;
        first[m][h] = first_key(mask, i, seq);
        if (i < seq) lowest = min(lowest, first[m][h]);
        highest = max(highest, first[m][h]);
      }
    }
    warp_next = mask.past + i0, warp_last = warp_next + 16 * M - 1;
    warp_first = mask.starts == nullptr ? 0 : warp_min(lowest);
    warp_latest = mask.starts == nullptr ? 0 : -warp_min(-highest);
  }

  // sees tells whether any of the warp's queries may see one of the keys j0 .. j0 + keys - 1.
  DEVICE bool sees(int j0, int keys) const { return j0 <= warp_last && j0 + keys > warp_first; }
  // whole tells whether all of the warp's queries see all of those keys.
  DEVICE bool whole(int j0, int keys) const { return j0 >= warp_latest && j0 + keys <= warp_next + 1; }
};

// block_first is the smallest first key of the block's queries.
template <int M>
DEVICE int block_first(const Sight<M> &sight) {
  __shared__ int firsts[attention_warps];
  if (threadIdx.x % 32 == 0) firsts[threadIdx.x / 32] = sight.warp_first;
  __syncthreads();
  int first = firsts[0];
#pragma unroll
  for (int w = 1; w < attention_warps; w++) first = min(first, firsts[w]);
  return first;
}

// logits turns products of the warp's queries with the keys j0 .. j0 + 8 N - 1 into logits divided by what it returns, which is
// more than 0; they are -infinity where nothing is seen.
template <int M, int N>
DEVICE float logits(float (&x)[M][N][4], const Mask &mask, const Sight<M> &sight, int j0) {
  bool whole = sight.whole(j0, 8 * N);
  j0 += threadIdx.x % 4 * 2;
  if (!mask.plain()) {
#pragma unroll
    for (int i = 0; i < M * N * 4; i++) {
      int m = i / (4 * N), n = i / 4 % N, h = i % 4 / 2, c = 8 * n + i % 2;
      float distance = static_cast<float>(sight.last[m][h] - j0) - static_cast<float>(c);
      x[m][n][i % 4] = x[m][n][i % 4] * mask.scale - mask.slope * distance;
    }
  }
  if (whole) return mask.factor();
#pragma unroll
  for (int i = 0; i < M * N * 4; i++) {
    int m = i / (4 * N), n = i / 4 % N, h = i % 4 / 2, c = 8 * n + i % 2;
    if (c < sight.first[m][h] - j0 || c > sight.last[m][h] - j0) x[m][n][i % 4] = -INFINITY;
  }
  return mask.factor();
}
