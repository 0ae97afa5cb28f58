// Products of small matrices in shared memory, a tile of 16 x 16 results a warp: what the kernels on matrix streams share
// (normread.cu, read.cu, write.cu). A matrix in shared memory is padded with zeros to whole tiles; its rows lie apart by a
// few elements more than that, so that what the lanes of a warp read at once lies in different banks.
#pragma once
#include "prelude.cuh"

constexpr int TILE = 16;

// padded is n rounded up to whole tiles.
DEVICE int padded(int n) { return (n + TILE - 1) / TILE * TILE; }

// A lane has eight results of a tile: the rows lane_row() and lane_row() + 8, columns lane_column() to lane_column() + 3.
// Four lanes side by side have 16 columns of a row: 32 or 64 bytes of memory in one access.
DEVICE int lane_row() { return threadIdx.x % 32 / 4; }
DEVICE int lane_column() { return threadIdx.x % 2 * 8 + threadIdx.x % 4 / 2 * 4; }

// ---- how products are computed ----
//
// Each of Fp32, Tf32 and Bf16 has
//   Activation  what streams and features are stored as, in global and in shared memory
//   PAD         elements between the rows of a matrix in shared memory, KEY_PAD between those of keys
//   add<TURNED>(sums, a, a_stride, b, b_stride, k)
//               sums += A B, A [16, k], B [k, 16], or [16, k] that is used transposed (TURNED); k is a multiple of 16
//   results(r, sums)
//               the lane's results: r[i] are the four columns of row lane_row() + 8 i
// sums are eight floats a lane, in an order of their own until results is called.

// add4 adds a b to sum.
DEVICE void add4(float* sum, float a, const float4& b) {
  sum[0] = fmaf(a, b.x, sum[0]), sum[1] = fmaf(a, b.y, sum[1]);
  sum[2] = fmaf(a, b.z, sum[2]), sum[3] = fmaf(a, b.w, sum[3]);
}

// dot4 adds the inner product of a and b to sum.
DEVICE float dot4(float sum, const float4& a, const float4& b) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// Fp32 multiplies 32-bit floats as they are.
struct Fp32 {
  typedef float Activation;
  static constexpr int PAD = 4, KEY_PAD = 4;

  template <bool TURNED>
  static DEVICE void add(float sums[8], const float* a, int a_stride, const float* b, int b_stride, int k) {
    a += lane_row() * a_stride;
    b += lane_column() * (TURNED ? b_stride : 1);
#pragma unroll 1
    for (int i = 0; i < k; i += 4) {
      float4 upper = *reinterpret_cast<const float4*>(a + i), lower = *reinterpret_cast<const float4*>(a + 8 * a_stride + i);
      if (TURNED) {
        add_turned(sums, upper, lower, b + i, b_stride);
      } else {
        add_rows(sums, upper, lower, b + i * b_stride, b_stride);
      }
    }
  }

  static DEVICE void add_turned(float sums[8], const float4& upper, const float4& lower, const float* b, int stride) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 v = *reinterpret_cast<const float4*>(b + j * stride);
      sums[j] = dot4(sums[j], upper, v);
      sums[4 + j] = dot4(sums[4 + j], lower, v);
    }
  }

  static DEVICE void add_rows(float sums[8], const float4& upper, const float4& lower, const float* b, int stride) {
    const float u[4] = {upper.x, upper.y, upper.z, upper.w}, l[4] = {lower.x, lower.y, lower.z, lower.w};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 v = *reinterpret_cast<const float4*>(b + j * stride);
      add4(sums, u[j], v);
      add4(sums + 4, l[j], v);
    }
  }

  static DEVICE void results(float r[2][4], const float sums[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) r[i / 4][i % 4] = sums[i];
  }
};

// fragment_results turns the results of two mma instructions side by side, columns [0, 8) and [8, 16), into a lane's four
// columns of two rows: neighbours exchange a pair of columns.
DEVICE void fragment_results(float r[2][4], const float sums[8]) {
  bool odd = threadIdx.x % 2 == 1;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float *left = sums + 2 * i, *right = sums + 4 + 2 * i;
    float x = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
    float y = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
    r[i][0] = odd ? x : left[0], r[i][1] = odd ? y : left[1];
    r[i][2] = odd ? right[0] : x, r[i][3] = odd ? right[1] : y;
  }
}

// Tf32 multiplies on tensor cores what it rounds to 10 bits of mantissa.
struct Tf32 {
  typedef float Activation;
  static constexpr int PAD = 8, KEY_PAD = 4;

  template <bool TURNED>
  static DEVICE void add(float sums[8], const float* a, int a_stride, const float* b, int b_stride, int k) {
    int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 2
    for (int i = 0; i < k; i += 8) {
      u32 left[4], right[4];
      if (TURNED) {
        // The eight terms may be summed in any order: t stands for column 2t, t + 4 for column 2t + 1.
        load_pair(left[0], left[2], a + group * a_stride + i + 2 * t);
        load_pair(left[1], left[3], a + (group + 8) * a_stride + i + 2 * t);
        load_pair(right[0], right[1], b + group * b_stride + i + 2 * t);
        load_pair(right[2], right[3], b + (group + 8) * b_stride + i + 2 * t);
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          left[j] = to_tf32(a[(group + j % 2 * 8) * a_stride + i + t + j / 2 * 4]);
          right[j] = to_tf32(b[(i + t + j % 2 * 4) * b_stride + group + j / 2 * 8]);
        }
      }
      mma_tf32(sums, left, right);
      mma_tf32(sums + 4, left, right + 2);
    }
  }

  static DEVICE void load_pair(u32& first, u32& second, const float* p) {
    float2 v = *reinterpret_cast<const float2*>(p);
    first = to_tf32(v.x), second = to_tf32(v.y);
  }

  static DEVICE void results(float r[2][4], const float sums[8]) { fragment_results(r, sums); }
};

// Bf16 multiplies bfloat16 on tensor cores.
struct Bf16 {
  typedef bf16 Activation;
  static constexpr int PAD = 8, KEY_PAD = 8;

  template <bool TURNED>
  static DEVICE void add(float sums[8], const bf16* a, int a_stride, const bf16* b, int b_stride, int k) {
    int lane = threadIdx.x % 32;
    a += lane % 16 * a_stride + lane / 16 * 8;
    b += TURNED ? (lane % 8 + lane / 16 * 8) * b_stride + lane / 8 % 2 * 8 : lane % 16 * b_stride + lane / 16 * 8;
#pragma unroll 2
    for (int i = 0; i < k; i += 16) {
      u32 left[4], right[4];
      ldmatrix4(left, a + i);
      if (TURNED) {
        ldmatrix4(right, b + i);
      } else {
        ldmatrix4_transposed(right, b + i * b_stride);
      }
      mma_bf16(sums, left, right);
      mma_bf16(sums + 4, left, right + 2);
    }
  }

  static DEVICE void results(float r[2][4], const float sums[8]) { fragment_results(r, sums); }
};

// ---- four neighbours of a row as they lie in memory ----

template <typename A>
struct Four;
template <>
struct Four<float> {
  float4 v;
};
template <>
struct Four<bf16> {
  uint2 v;
};

DEVICE void unpack(float x[4], const Four<float>& f) { x[0] = f.v.x, x[1] = f.v.y, x[2] = f.v.z, x[3] = f.v.w; }
DEVICE void unpack(float x[4], const Four<bf16>& f) {
  unpack_bf16(f.v.x, x[0], x[1]);
  unpack_bf16(f.v.y, x[2], x[3]);
}
DEVICE void pack(Four<float>& f, const float x[4]) { f.v = make_float4(x[0], x[1], x[2], x[3]); }
DEVICE void pack(Four<bf16>& f, const float x[4]) { f.v = make_uint2(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3])); }

// fetch4 reads four neighbours if there are, else zeros.
template <typename A>
DEVICE Four<A> fetch4(const A* p, bool inside) {
  Four<A> f = {};
  if (inside) f.v = *reinterpret_cast<const decltype(f.v)*>(p);
  return f;
}

// ---- a warp's tiles of a matrix ----

// Tiles are the lane's places in the tiles number warp, warp + warps, ... of a matrix [rows, columns], at most N. columns
// is a multiple of 4.
template <int N>
struct Tiles {
  int row[N], column[N];  // of the first of the lane's eight elements of tile i; row is large where the warp has no tile i
  u32 inside;             // bit 2 i + h: the lane's row h of tile i is in the matrix

  DEVICE Tiles(int rows, int columns) {
    int across = padded(columns) / TILE, count = padded(rows) / TILE * across;
#pragma unroll
    for (int i = 0; i < N; i++) {
      int tile = threadIdx.x / 32 + i * (blockDim.x / 32);
      row[i] = (tile < count ? tile / across : NONE) * TILE + lane_row();
      column[i] = tile % across * TILE + lane_column();
    }
    limit(rows, columns);
  }
  static constexpr int NONE = 1 << 20;

  // limit says that the matrix is smaller than the tiles were made for.
  DEVICE void limit(int rows, int columns) {
    inside = 0;
#pragma unroll
    for (int i = 0; i < 2 * N; i++) inside |= (row[i / 2] + i % 2 * 8 < rows && column[i / 2] < columns ? 1u : 0u) << i;
  }

  // has tells whether there is a tile i; it is the same for all lanes of a warp.
  DEVICE bool has(int i) const { return row[i] < NONE; }
  // first_row and first_column are those of tile i.
  DEVICE int first_row(int i) const { return row[i] - lane_row(); }
  DEVICE int first_column(int i) const { return column[i] - lane_column(); }
  // is tells whether the lane's row h of tile i is in the matrix; at is where, if its rows are stride elements.
  DEVICE bool is(int i, int h) const { return inside >> (2 * i + h) & 1; }
  DEVICE int at(int i, int h, int stride) const { return (row[i] + 8 * h) * stride + column[i]; }
};

// fetch_tiles reads a lane's elements of a dense matrix in global memory; what lies outside is zero.
template <typename A, int N>
DEVICE void fetch_tiles(Four<A> (&to)[N][2], const A* matrix, const Tiles<N>& tiles, int columns) {
#pragma unroll
  for (int i = 0; i < N; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) to[i][h] = fetch4(matrix + tiles.at(i, h, columns), tiles.is(i, h));
}

// ---- matrices on their way to shared memory, by the whole block ----

// clear_shared makes n bytes zero, n a multiple of 16, and ends with the block synchronised.
DEVICE void clear_shared(void* p, int n) {
  for (int i = threadIdx.x; i < n / 16; i += blockDim.x) reinterpret_cast<uint4*>(p)[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
}

// keep_keys stores keys [rows, columns], whose rows are stride floats in global memory.
template <typename A>
DEVICE void keep_keys(A* to, int to_stride, const float* keys, int rows, int columns, int stride) {
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
    int row = i / columns, column = i - row * columns;
    store(to + row * to_stride + column, keys[static_cast<i64>(row) * stride + column]);
  }
}

// keep_keys_turned stores the transposed keys, [columns, rows].
template <typename A>
DEVICE void keep_keys_turned(A* to, int to_stride, const float* keys, int rows, int columns, int stride) {
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
    int row = i / columns, column = i - row * columns;
    store(to + column * to_stride + row, keys[static_cast<i64>(row) * stride + column]);
  }
}

// begin_rows begins to copy a matrix [rows, columns], dense in global memory; it is there after copy_async_wait and
// __syncthreads. columns is a multiple of 8, from aligned to 16 bytes.
template <typename A>
DEVICE void begin_rows(A* to, int to_stride, const A* from, int rows, int columns) {
  constexpr int VECTOR = 16 / static_cast<int>(sizeof(A));
  int across = columns / VECTOR;
  for (int i = threadIdx.x; i < rows * across; i += blockDim.x) {
    int row = i / across;
    copy_async16(to + row * to_stride + (i - row * across) * VECTOR, from + i * VECTOR);
  }
}
