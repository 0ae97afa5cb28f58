// Gradients of graph.NormRead in bfloat16 for the sizes of the RMT presets (see normread.cu for what is computed, and for other
// sizes): a block has a token at a time, and each of its warps 16 rows of X_t, of which it sums dgain and dkeys in registers.
//
// Fragments of X_t are read from shared memory as the results of mma_bf16 lie: so dXn_t = keys^T dy_t stands beside its entries of
// X_t, and what is normalised is the right operand of dy_t N(X_t)^T as it is. Warps exchange the sums of h and h n, two numbers each.
#include "tokens.cuh"

struct TokenGradients {
  bf16* dx;               // [tokens, DK, DV], may be addend
  float *dgain, *dkeys;   // [blocks, DK, DV] and [blocks, m, DK]; null: not wanted
  const bf16 *dy, *x, *addend;
  const float *mean, *rstd;
  i64 tokens;
  int m, rms;
};

// TOP is how many 16 keys there are at most.
template <int DK, int DV, int TOP>
struct TokenBackward {
  static constexpr int WARPS = DK / 16, ACROSS = DV / 16, STRIDE = row_stride(DV), MATRIX = DK * STRIDE, KEY_STRIDE = row_stride(16 * TOP);
  static constexpr int SLOT = 2 * MATRIX + 16 * TOP * STRIDE;  // X_t, addend_t and dy_t

  const TokenGradients& a;
  float4* shared_gain;        // of the warp's rows, in the order of results
  bf16 *shared_keys, *slots;  // keys^T [16, m] of the warp's rows; STAGES tokens
  float middle, scale, next_middle, next_scale;  // n = (x - middle) scale
  float h[ACROSS][8];         // first dXn; h[c][2 i] and the next are columns 16 c + fragment_column(i) and the next of fragment_row(i)
  float dgain[ACROSS][8], dkeys[TOP][2][4];

  DEVICE explicit TokenBackward(const TokenGradients& a) : a(a), middle(0.0f) {
    DYNAMIC_SHARED(float4, memory);
    shared_gain = memory + warp() * (16 * DV / 4);
    bf16* all_keys = reinterpret_cast<bf16*>(memory + DK * DV / 4);
    shared_keys = all_keys + first_row() * KEY_STRIDE;
    slots = all_keys + DK * KEY_STRIDE;
    for (int i = 0; i < ACROSS * 8; i++) dgain[i / 8][i % 8] = 0.0f;
    for (int i = 0; i < TOP * 8; i++) dkeys[i / 8][i / 4 % 2][i % 4] = 0.0f;
  }

  static DEVICE int warp() { return threadIdx.x / 32; }
  static DEVICE int lane() { return threadIdx.x % 32; }
  static DEVICE int first_row() { return warp() * 16; }

  // keep_parameters stores what is the same for all tokens, and zeros where dy has no rows.
  DEVICE void keep_parameters(const float* gain, const float* keys) {
    for (int i = lane(); i < 16 * DV / 4; i += 32) {
      const float* g = gain + (first_row() + fragment_row(0)) * DV + i / 32 * 8 + lane() % 4 * 2;
      shared_gain[i] = make_float4(g[0], g[1], g[8 * DV], g[8 * DV + 1]);
    }
    for (int i = lane(); i < 16 * 16 * TOP; i += 32) {
      store(shared_keys + i % 16 * KEY_STRIDE + i / 16, i / 16 < a.m ? keys[i / 16 * DK + first_row() + i % 16] : 0.0f);
    }
    for (int s = 0; s < STAGES; s++) {
      for (int i = threadIdx.x; i < (16 * TOP - a.m) * DV; i += blockDim.x) {
        store(slots + s * SLOT + 2 * MATRIX + (a.m + i / DV) * STRIDE + i % DV, 0.0f);
      }
    }
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
      put(matrix + first_row() * STRIDE, means);
      __syncwarp();
      warp_copy_out<DV>(a.dx + token * (DK * DV) + first_row() * DV, matrix + first_row() * STRIDE, 16);
      __syncwarp();
      begin(token + STAGES * step, slot);
    }
    put_totals();
  }

  // begin starts to fetch a token: each warp its rows of X_t and addend_t, all together dy_t.
  DEVICE void begin(i64 token, int slot) {
    if (token < a.tokens) {
      i64 from = token * (DK * DV) + first_row() * DV;
      bf16* to = slots + slot * SLOT + first_row() * STRIDE;
      warp_copy_begin<16, DV>(to, a.x + from);
      if (a.addend != nullptr) warp_copy_begin<16, DV>(to + MATRIX, a.addend + from);
      begin_rows(slots + slot * SLOT + 2 * MATRIX, STRIDE, a.dy + token * a.m * DV, a.m, DV);
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
      if (a.dkeys != nullptr) add_keys(dy + 16 * c, normalised);
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

  // add_keys adds the products of 16 columns of dy_t and N(X_t).
  DEVICE void add_keys(const bf16* dy, const u32 normalised[4]) {
#pragma unroll
    for (int k = 0; k < TOP; k++) {
      u32 left[4];
      ldmatrix4(left, dy + 16 * k * STRIDE + fragment_place(STRIDE));
#pragma unroll
      for (int r = 0; r < 2; r++) {
        u32 right[2] = {normalised[r], normalised[r + 2]};
        mma_bf16(dkeys[k][r], left, right);
      }
    }
  }

  // put leaves the warp's rows of dX_t in shared memory, where X_t was.
  DEVICE void put(bf16* to, float2 means) {
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
        store2(to + fragment_row(i) * STRIDE + 16 * c + fragment_column(i), sum);
      }
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
    for (int i = 0; i < TOP * 4 && a.dkeys != nullptr; i++) {
      int key = i / 4 * 16 + fragment_row(i % 4), at = first_row() + fragment_column(i % 4);
      if (key < a.m) store2(a.dkeys + (block * a.m + key) * DK + at, dkeys[i / 4][i % 4 / 2] + i % 2 * 2);
    }
  }
};

// BLOCKS are how many a multiprocessor is to hold.
#define NORMREAD_TOKENS_GRAD(DK, DV, TOP, KEYS, BLOCKS)                                                                              \
  KERNEL(DK / 16 * 32, BLOCKS)                                                                                                       \
  normread_backward_##DK##x##DV##_##KEYS##_bf16(bf16* dx, float* dgain, float* dkeys, const bf16* dy, const bf16* x,                 \
                                                const bf16* addend, const float* gain, const float* keys, const float* mean,         \
                                                const float* rstd, i64 tokens, int m, int rms) {                                     \
    TokenGradients a = {dx, dgain, dkeys, dy, x, addend, mean, rstd, tokens, m, rms};                                                \
    TokenBackward<DK, DV, TOP> b(a);                                                                                                 \
    b.run(gain, keys);                                                                                                               \
  }

NORMREAD_TOKENS_GRAD(32, 32, 1, 16, 6)
NORMREAD_TOKENS_GRAD(32, 32, 3, 48, 6)
NORMREAD_TOKENS_GRAD(32, 64, 1, 16, 4)
NORMREAD_TOKENS_GRAD(32, 64, 3, 48, 6)
NORMREAD_TOKENS_GRAD(48, 64, 1, 16, 2)
NORMREAD_TOKENS_GRAD(48, 64, 3, 48, 4)
NORMREAD_TOKENS_GRAD(64, 64, 1, 16, 2)
NORMREAD_TOKENS_GRAD(64, 64, 3, 48, 3)
