// Gradients of graph.NormRead in bfloat16 for the sizes of the RMT presets (see normread.cu for what is computed, and for other
// sizes): a block has a token at a time, and each of its warps 16 rows of X_t, of which it sums dgain and dkeys in registers.
//
// Fragments of X_t are read from shared memory as the results of mma_bf16 lie: so dXn_t = keys^T dy_t stands beside its entries of
// X_t, and what is normalised is the right operand of dy_t N(X_t)^T as it is. Warps exchange the sums of h and h n, two numbers each.
//
// normread_write_backward also computes the gradients of the graph.Write that made X_t, whose gradient is G_t = dX_t: dv_t = write_keys
// G_t and dwrite_keys = sum over tokens of v_t G_t^T (write.cu), from the dX_t in shared memory.
#include "tokens.cuh"

struct TokenGradients {
  bf16* dx;               // [tokens, DK, DV], may be addend
  float *dgain, *dkeys;   // [blocks, DK, DV] and [blocks, m, DK]; null: not wanted
  const bf16 *dy, *x, *addend;
  const float *mean, *rstd;
  i64 tokens;
  int m, rms;
};

// WriteGradients are those of the write that made X_t, of at most 16 keys.
struct WriteGradients {
  bf16* dv;            // [tokens, m, DV]
  float* dkeys;        // [blocks, m, DK]; null: not wanted
  const float* keys;   // [m, DK]
  const bf16* v;       // [tokens, m, DV]
  int m;
};

// TOP is how many 16 keys there are at most. WRITTEN says whether a write's gradients are computed, too.
template <int DK, int DV, int TOP, bool WRITTEN>
struct TokenBackward {
  static constexpr int WARPS = DK / 16, ACROSS = DV / 16, STRIDE = row_stride(DV), MATRIX = DK * STRIDE, KEY_STRIDE = row_stride(16 * TOP);
  static constexpr int VECTORS = 2 * MATRIX + 16 * TOP * STRIDE, SLOT = VECTORS + (WRITTEN ? 16 * STRIDE : 0);  // X_t, addend_t, dy_t and v_t
  static constexpr int WRITE_STRIDE = row_stride(DK);

  const TokenGradients& a;
  const WriteGradients& w;
  float4* shared_gain;        // of the warp's rows, in the order of results
  bf16 *shared_keys, *slots;  // keys^T [16, m] of the warp's rows; STAGES tokens
  bf16* write_keys;           // [16, DK], rows beyond the write's m are zero
  float middle, scale, next_middle, next_scale;  // n = (x - middle) scale
  float h[ACROSS][8];         // first dXn; h[c][2 i] and the next are columns 16 c + fragment_column(i) and the next of fragment_row(i)
  float dgain[ACROSS][8], dkeys[TOP + 1][2][4];  // the last one of dkeys is the write's

  DEVICE TokenBackward(const TokenGradients& a, const WriteGradients& w) : a(a), w(w), middle(0.0f) {
    DYNAMIC_SHARED(float4, memory);
    shared_gain = memory + warp() * (16 * DV / 4);
    bf16* all_keys = reinterpret_cast<bf16*>(memory + DK * DV / 4);
    shared_keys = all_keys + first_row() * KEY_STRIDE;
    write_keys = all_keys + DK * KEY_STRIDE;
    slots = write_keys + (WRITTEN ? 16 * WRITE_STRIDE : 0);
#pragma unroll
    for (int i = 0; i < ACROSS * 8; i++) dgain[i / 8][i % 8] = 0.0f;
#pragma unroll
    for (int i = 0; i < TOP * 8 + 8; i++) dkeys[i / 8][i / 4 % 2][i % 4] = 0.0f;
  }

  static DEVICE int warp() { return threadIdx.x / 32; }
  static DEVICE int lane() { return threadIdx.x % 32; }
  static DEVICE int first_row() { return warp() * 16; }

  // keep_parameters stores what is the same for all tokens, and zeros where dy and v have no rows.
  DEVICE void keep_parameters(const float* gain, const float* keys) {
    for (int i = lane(); i < 16 * DV / 4; i += 32) {
      const float* g = gain + (first_row() + fragment_row(0)) * DV + i / 32 * 8 + lane() % 4 * 2;
      shared_gain[i] = make_float4(g[0], g[1], g[8 * DV], g[8 * DV + 1]);
    }
    for (int i = lane(); i < 16 * 16 * TOP; i += 32) {
      store(shared_keys + i % 16 * KEY_STRIDE + i / 16, i / 16 < a.m ? keys[i / 16 * DK + first_row() + i % 16] : 0.0f);
    }
    for (int i = threadIdx.x; WRITTEN && i < 16 * DK; i += blockDim.x) {
      store(write_keys + i / DK * WRITE_STRIDE + i % DK, i < w.m * DK ? w.keys[i] : 0.0f);
    }
    for (int s = 0; s < STAGES; s++) {
      clear_rows(slots + s * SLOT + 2 * MATRIX, a.m, 16 * TOP);
      if (WRITTEN) clear_rows(slots + s * SLOT + VECTORS, w.m, 16);
    }
  }

  static DEVICE void clear_rows(bf16* matrix, int from, int to) {
    for (int i = threadIdx.x; i < (to - from) * DV; i += blockDim.x) store(matrix + (from + i / DV) * STRIDE + i % DV, 0.0f);
  }

  DEVICE void run(const float* gain, const float* keys) {
    i64 token = blockIdx.x, step = gridDim.x;
#pragma unroll
    for (int s = 0; s < STAGES; s++) begin(token + s * step, s);
    keep_parameters(gain, keys);
    fetch_statistics(token);
    for (int slot = 0; token < a.tokens; token += step, slot = (slot + 1) % STAGES) {
      bf16* matrix = slots + slot * SLOT;
      copy_async_wait<STAGES - 1>();
      __syncthreads();
      take_statistics(matrix);
      fetch_statistics(token + step);
      multiply(matrix + 2 * MATRIX);
      float2 means = find_means(matrix + first_row() * STRIDE, matrix + 2 * MATRIX);
      put(matrix + first_row() * STRIDE, matrix + VECTORS, means);
      __syncwarp();
      warp_copy_out<DV>(a.dx + token * (DK * DV) + first_row() * DV, matrix + first_row() * STRIDE, 16);
      if (WRITTEN) put_vectors(matrix, token);
      __syncwarp();
      begin(token + STAGES * step, slot);
    }
    put_totals();
  }

  // begin starts to fetch a token: each warp its rows of X_t and addend_t, all together dy_t and v_t.
  DEVICE void begin(i64 token, int slot) {
    if (token < a.tokens) {
      i64 from = token * (DK * DV) + first_row() * DV;
      bf16* to = slots + slot * SLOT + first_row() * STRIDE;
      warp_copy_begin<16, DV>(to, a.x + from);
      if (a.addend != nullptr) warp_copy_begin<16, DV>(to + MATRIX, a.addend + from);
      begin_rows(slots + slot * SLOT + 2 * MATRIX, STRIDE, a.dy + token * a.m * DV, a.m, DV);
      if (WRITTEN) begin_rows(slots + slot * SLOT + VECTORS, STRIDE, w.v + token * w.m * DV, w.m, DV);
    }
    copy_async_commit();
  }

  DEVICE void fetch_statistics(i64 token) {
    if (token >= a.tokens) return;
    next_middle = a.rms ? 0.0f : a.mean[token];
    next_scale = a.rstd[token];
  }

  // take_statistics wants X_t's first entry.
  DEVICE void take_statistics(const bf16* matrix) {
    middle = next_middle + (a.rms ? 0.0f : load(matrix)), scale = next_scale;
  }

  // multiply computes the warp's rows of dXn_t.
  DEVICE void multiply(const bf16* dy) {
#pragma unroll
    for (int i = 0; i < ACROSS * 8; i++) h[i / 8][i % 8] = 0.0f;
#pragma unroll
    for (int k = 0; k < TOP; k++) {
      u32 left[4], right[4];
      ldmatrix4(left, shared_keys + 16 * k + fragment_place(KEY_STRIDE));
#pragma unroll
      for (int c = 0; c < ACROSS; c++) {
        ldmatrix4_transposed(right, dy + 16 * k * STRIDE + 16 * c + fragment_place(STRIDE));
        mma_bf16(h[c], left, right);
        mma_bf16(h[c] + 4, left, right + 2);
      }
    }
  }

  // find_means makes h of dXn, adds to dgain and dkeys, and returns the means of h and of h n over the token. It ends with the block
  // synchronised, when nobody reads dy any longer.
  DEVICE float2 find_means(const bf16* matrix, const bf16* dy) {
    __shared__ float2 of_warp[WARPS];
    float h_sum = 0.0f, hn_sum = 0.0f;
#pragma unroll
    for (int c = 0; c < ACROSS; c++) {
      u32 x[4], normalised[4];
      ldmatrix4(x, matrix + 16 * c + fragment_place(STRIDE));
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        float4 gain = shared_gain[(2 * c + i / 2) * 32 + lane()];
        normalised[i] = weigh(x[i], c, i, gain.x, gain.y, h_sum, hn_sum);
        normalised[i + 1] = weigh(x[i + 1], c, i + 1, gain.z, gain.w, h_sum, hn_sum);
      }
      if (a.dkeys != nullptr) add_keys<0, TOP - 1>(dy + 16 * c, normalised);
    }
    h_sum = warp_sum(h_sum), hn_sum = warp_sum(hn_sum);
    if (lane() == 0) of_warp[warp()] = make_float2(h_sum, hn_sum);
    __syncthreads();
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum.x += of_warp[w].x, sum.y += of_warp[w].y;
    constexpr float ENTRIES = DK * DV;
    return make_float2(a.rms ? 0.0f : sum.x / ENTRIES, sum.y / ENTRIES);
  }

  // normal computes n of a pair.
  DEVICE void normal(float n[2], u32 pair) const {
    unpack_bf16(pair, n[0], n[1]);
#pragma unroll
    for (int e = 0; e < 2; e++) n[e] = fmaf(n[e], scale, -middle * scale);
  }

  // weigh makes h of a pair of dXn, adds it to the sums, and returns the pair of N(X_t).
  DEVICE u32 weigh(u32 pair, int c, int i, float gain, float next_gain, float& h_sum, float& hn_sum) {
    float n[2];
    normal(n, pair);
#pragma unroll
    for (int e = 0; e < 2; e++) {
      float& term = h[c][2 * i + e];
      dgain[c][2 * i + e] = fmaf(term, n[e], dgain[c][2 * i + e]);
      term *= e == 0 ? gain : next_gain;
      h_sum += term;
      hn_sum = fmaf(term, n[e], hn_sum);
    }
    return pack_bf16(n[0] * gain, n[1] * next_gain);
  }

  // add_keys adds to dkeys, FIRST to LAST, the products of 16 columns of vectors and of the warp's rows of a matrix, whose four pairs
  // lie as results do.
  template <int FIRST, int LAST>
  DEVICE void add_keys(const bf16* vectors, const u32 matrix[4]) {
#pragma unroll
    for (int k = FIRST; k <= LAST; k++) {
      u32 left[4];
      ldmatrix4(left, vectors + 16 * (k - FIRST) * STRIDE + fragment_place(STRIDE));
#pragma unroll
      for (int r = 0; r < 2; r++) {
        u32 right[2] = {matrix[r], matrix[r + 2]};
        mma_bf16(dkeys[k][r], left, right);
      }
    }
  }

  // put leaves the warp's rows of dX_t in shared memory, where X_t was, and adds to the write's dkeys.
  DEVICE void put(bf16* to, const bf16* v, float2 means) {
#pragma unroll
    for (int c = 0; c < ACROSS; c++) {
      u32 x[4], addend[4] = {0, 0, 0, 0};
      ldmatrix4(x, to + 16 * c + fragment_place(STRIDE));
      if (a.addend != nullptr) ldmatrix4(addend, to + MATRIX + 16 * c + fragment_place(STRIDE));
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float n[2], sum[2];
        normal(n, x[i]);
        unpack_bf16(addend[i], sum[0], sum[1]);
#pragma unroll
        for (int e = 0; e < 2; e++) sum[e] = fmaf(h[c][2 * i + e] - means.x - n[e] * means.y, scale, sum[e]);
        x[i] = pack_bf16(sum[0], sum[1]);
        *reinterpret_cast<u32*>(to + fragment_row(i) * STRIDE + 16 * c + fragment_column(i)) = x[i];
      }
      if (WRITTEN && w.dkeys != nullptr) add_keys<TOP, TOP>(v + 16 * c, x);
    }
  }

  // put_vectors computes dv_t from all rows of dX_t, each warp some of its columns, in shared memory where v_t was: beyond its m rows
  // there are zeros, too.
  DEVICE void put_vectors(bf16* matrix, i64 token) {
    bf16* v = matrix + VECTORS;
    __syncthreads();
#pragma unroll
    for (int first = 0; first < ACROSS; first += WARPS) {
      int c = first + warp();
      if (c >= ACROSS) break;
      float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int k = 0; k < DK / 16; k++) {
        u32 left[4], right[4];
        ldmatrix4(left, write_keys + 16 * k + fragment_place(WRITE_STRIDE));
        ldmatrix4_transposed(right, matrix + 16 * k * STRIDE + 16 * c + fragment_place(STRIDE));
        mma_bf16(sums, left, right);
        mma_bf16(sums + 4, left, right + 2);
      }
      put_fragments(v + 16 * c, STRIDE, sums);
    }
    __syncthreads();
    constexpr int PIECES = DV / 8;
    for (int i = threadIdx.x; i < w.m * PIECES; i += blockDim.x) {  // as begin_rows divides them, which follows
      *reinterpret_cast<uint4*>(w.dv + token * w.m * DV + i * 8) = *reinterpret_cast<const uint4*>(v + i / PIECES * STRIDE + i % PIECES * 8);
    }
  }

  // put_totals writes what the block has summed over its tokens.
  DEVICE void put_totals() {
    i64 block = blockIdx.x;
#pragma unroll
    for (int i = 0; i < ACROSS * 4 && a.dgain != nullptr; i++) {
      store2(a.dgain + (block * DK + first_row() + fragment_row(i % 4)) * DV + 16 * (i / 4) + fragment_column(i % 4), dgain[i / 4] + i % 4 * 2);
    }
#pragma unroll
    for (int i = 0; i < (TOP + 1) * 4; i++) {  // the write's after the read's
      bool read = i / 4 < TOP;
      float* to = read ? a.dkeys : w.dkeys;
      int m = read ? a.m : w.m, key = (read ? i / 4 * 16 : 0) + fragment_row(i % 4);
      if (to != nullptr && key < m) store2(to + (block * m + key) * DK + first_row() + fragment_column(i % 4), dkeys[i / 4][i % 4 / 2] + i % 2 * 2);
    }
  }
};

// BLOCKS are how many a multiprocessor is to hold, WRITE_BLOCKS how many with the write's gradients: as many as have room in shared
// memory.
#define NORMREAD_TOKENS_GRAD(DK, DV, TOP, KEYS, BLOCKS, WRITE_BLOCKS)                                                                \
  KERNEL(DK / 16 * 32, BLOCKS)                                                                                                       \
  normread_backward_##DK##x##DV##_##KEYS##_bf16(bf16* dx, float* dgain, float* dkeys, const bf16* dy, const bf16* x,                 \
                                                const bf16* addend, const float* gain, const float* keys, const float* mean,         \
                                                const float* rstd, i64 tokens, int m, int rms) {                                     \
    TokenGradients a = {dx, dgain, dkeys, dy, x, addend, mean, rstd, tokens, m, rms};                                                \
    WriteGradients w = {};                                                                                                           \
    TokenBackward<DK, DV, TOP, false> b(a, w);                                                                                       \
    b.run(gain, keys);                                                                                                               \
  }                                                                                                                                  \
  KERNEL(DK / 16 * 32, WRITE_BLOCKS)                                                                                                 \
  normread_write_backward_##DK##x##DV##_##KEYS##_bf16(                                                                               \
      bf16* dx, float* dgain, float* dkeys, const bf16* dy, const bf16* x, const bf16* addend, const float* gain, const float* keys, \
      const float* mean, const float* rstd, i64 tokens, int m, int rms, bf16* dv, float* dwrite_keys, const float* write_keys,       \
      const bf16* v, int write_m) {                                                                                                  \
    TokenGradients a = {dx, dgain, dkeys, dy, x, addend, mean, rstd, tokens, m, rms};                                                \
    WriteGradients w = {dv, dwrite_keys, write_keys, v, write_m};                                                                    \
    TokenBackward<DK, DV, TOP, true> b(a, w);                                                                                        \
    b.run(gain, keys);                                                                                                               \
  }

NORMREAD_TOKENS_GRAD(32, 32, 1, 16, 6, 6)
NORMREAD_TOKENS_GRAD(32, 32, 3, 48, 6, 6)
NORMREAD_TOKENS_GRAD(32, 64, 1, 16, 4, 4)
NORMREAD_TOKENS_GRAD(32, 64, 3, 48, 6, 4)
NORMREAD_TOKENS_GRAD(48, 64, 1, 16, 2, 2)
NORMREAD_TOKENS_GRAD(48, 64, 3, 48, 4, 3)
NORMREAD_TOKENS_GRAD(64, 64, 1, 16, 2, 2)
NORMREAD_TOKENS_GRAD(64, 64, 3, 48, 3, 2)
