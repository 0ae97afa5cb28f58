// The loss of a language model and the gradient of its logits, between the matrix products that make the logits of a
// chunk of tokens and take the gradient on:
//
//   log Z_t = log sum_v exp(logits_tv)    loss_t = log Z_t - logits_t,target
//   cross-entropy = mean_t loss_t         z-loss = z * mean_t (log Z_t)^2
//   dlogits_tv = (p_tv (1 + 2 z log Z_t) - [v = target]) / counted,   p_tv = exp(logits_tv - log Z_t)
//
// Where a cap is given, logits_tv = cap tanh(x_tv / cap) of what the product makes, x, and the gradient is taken on to x.
//
// (the z-loss is that of PaLM, Chowdhery et al. 2022, section 5). Means are over the tokens whose target is not
// negative. A target beyond the vocabulary makes its loss and its row of gradients NaN, and is noted in LossStatus.
#include "formulas.cuh"

// LossStatus is what the device keeps of a run for the host to read.
struct LossStatus {
  double cross_entropy, z_loss;
  double inverse;         // 1 / counted tokens, 0 if there are none
  double position, target;  // of the first target beyond the vocabulary; position -1: there is none
};

// Softmax is a row's maximum so far and the sum of exp(x - top) (Milakov & Gimelshein 2018, arXiv 1805.02867).
struct Softmax {
  float top, sum;
};

const float LOWEST = -3.402823466e38f;  // not -inf, whose difference from itself is NaN

DEVICE Softmax merge(Softmax a, Softmax b) {
  float top = fmaxf(a.top, b.top);
  return Softmax{top, a.sum * expf(a.top - top) + b.sum * expf(b.top - top)};
}

// warp_merge merges the 32 lanes'; lane 0 gets the result.
DEVICE Softmax warp_merge(Softmax s) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    Softmax other;
    other.top = __shfl_down_sync(0xffffffffu, s.top, step);
    other.sum = __shfl_down_sync(0xffffffffu, s.sum, step);
    s = merge(s, other);
  }
  return s;
}

// block_merge merges all threads'; all get the result. It ends with the block synchronised.
template <int THREADS>
DEVICE Softmax block_merge(Softmax s) {
  __shared__ float top[THREADS / 32], sum[THREADS / 32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  s = warp_merge(s);
  if (lane == 0) top[warp] = s.top, sum[warp] = s.sum;
  __syncthreads();
  if (warp == 0) {
    s = lane < THREADS / 32 ? Softmax{top[lane], sum[lane]} : Softmax{LOWEST, 0.0f};
    s = warp_merge(s);
    __syncwarp();
    if (lane == 0) top[0] = s.top, sum[0] = s.sum;
  }
  __syncthreads();
  return Softmax{top[0], sum[0]};
}

const int ROW_THREADS = 1024;
const float LOG2E = 1.4426950408889634f;

// Piece is what a thread loads of a row at a time, 16 bytes.
template <typename A>
struct Piece {
  static constexpr int N = 16 / sizeof(A);
  float x[N];
};
DEVICE void load_whole(const float *p, float x[4]) { load4(p, x); }
DEVICE void load_whole(const bf16 *p, float x[8]) { load8(p, x); }
DEVICE void store_whole(float *p, const float x[4]) { store4(p, x); }
DEVICE void store_whole(bf16 *p, const float x[8]) { store8(p, x); }

// Row is a row of logits, whose memory, a multiple of Piece::N elements, goes on to stride.
template <typename A>
struct Row {
  static constexpr int N = Piece<A>::N, SPAN = N * ROW_THREADS;  // SPAN: what a block loads at a time
  A *logits;
  int vocab, stride;
  float cap;

  // capped is the logit of x; cap 0 is none.
  DEVICE float capped(float x) const { return cap > 0.0f ? softcap(x, cap) : x; }

  // get loads a piece, LOWEST beyond the vocabulary.
  DEVICE Piece<A> get(int first) const {
    Piece<A> p;
    load_whole(logits + first, p.x);
    if (cap > 0.0f) {
#pragma unroll
      for (int j = 0; j < N; j++) p.x[j] = capped(p.x[j]);
    }
    if (first + N > vocab) {
#pragma unroll
      for (int j = 0; j < N; j++)
        if (first + j >= vocab) p.x[j] = LOWEST;
    }
    return p;
  }

  // softmax makes the row's maximum and sum; all threads get them.
  DEVICE Softmax softmax() const {
    Softmax s{LOWEST, 0.0f};
#pragma unroll 4
    for (int first = N * threadIdx.x; first < vocab; first += SPAN) {
      Piece<A> p = get(first);
      float top = s.top, sum = 0.0f;
#pragma unroll
      for (int j = 0; j < N; j++) top = fmaxf(top, p.x[j]);
#pragma unroll
      for (int j = 0; j < N; j++) sum += exp2f((p.x[j] - top) * LOG2E);
      s.sum = s.sum * exp2f((s.top - top) * LOG2E) + sum;
      s.top = top;
    }
    return block_merge<ROW_THREADS>(s);
  }

  // make_gradients overwrites the logits by scale * exp(logit - top), less hit at the target, times the cap's slope,
  // and by zeros from the vocabulary's end to stride.
  DEVICE void make_gradients(int target, float top, float scale, float hit) const {
    const float bound = cap > 0.0f ? cap : INFINITY;
#pragma unroll 2
    for (int first = N * threadIdx.x; first < stride; first += SPAN) {
      Piece<A> p = get(first);
#pragma unroll
      for (int j = 0; j < N; j++) {
        float d = scale * exp2f((p.x[j] - top) * LOG2E);
        if (first + j == target) d -= hit;
        p.x[j] = first + j < vocab ? softcap_grad(d, p.x[j], bound) : 0.0f;
      }
      store_whole(logits + first, p.x);
    }
  }

  DEVICE void clear() const {
    const float zero[N] = {};
    for (int first = N * threadIdx.x; first < stride; first += SPAN) store_whole(logits + first, zero);
  }

  // losses makes the loss and log Z of the token blockIdx.x, whose row it is, and returns its softmax.
  DEVICE Softmax losses(float *loss, float *log_z, int target) const {
    float logit = target < vocab ? capped(load(logits + target)) : NAN;
    Softmax s = softmax();
    if (threadIdx.x == 0) {
      float log_sum = logf(s.sum);
      loss[blockIdx.x] = (s.top - logit) + log_sum;
      log_z[blockIdx.x] = s.top + log_sum;
    }
    return s;
  }
};

// Losses alone. One block a token.
//   loss, log_z [tokens]; logits [tokens, vocab], rows `stride` apart; targets [tokens]
template <typename A>
DEVICE void loss_rows(float *loss, float *log_z, A *logits, const int *targets, i64 stride, int vocab, float cap) {
  Row<A> row{logits + blockIdx.x * stride, vocab, static_cast<int>(stride), cap};
  int target = targets[blockIdx.x];
  if (target >= 0) {
    row.losses(loss, log_z, target);
  } else if (threadIdx.x == 0) {
    loss[blockIdx.x] = 0.0f, log_z[blockIdx.x] = 0.0f;
  }
}

KERNEL(ROW_THREADS) loss_rows_f32(float *loss, float *log_z, float *logits, const int *targets, i64 stride, int vocab, float cap) {
  loss_rows(loss, log_z, logits, targets, stride, vocab, cap);
}
KERNEL(ROW_THREADS) loss_rows_bf16(float *loss, float *log_z, bf16 *logits, const int *targets, i64 stride, int vocab, float cap) {
  loss_rows(loss, log_z, logits, targets, stride, vocab, cap);
}

template <typename A>
DEVICE void loss_gradients(float *loss, float *log_z, A *logits, const int *targets, const LossStatus *status, i64 stride, int vocab,
                           float z, float cap) {
  Row<A> row{logits + blockIdx.x * stride, vocab, static_cast<int>(stride), cap};
  int target = targets[blockIdx.x];
  if (target < 0) {
    row.clear();
    if (threadIdx.x == 0) loss[blockIdx.x] = 0.0f, log_z[blockIdx.x] = 0.0f;
    return;
  }
  Softmax s = row.losses(loss, log_z, target);
  float inverse = target < vocab ? static_cast<float>(status->inverse) : NAN;
  float scale = (1.0f + 2.0f * z * (s.top + logf(s.sum))) * inverse / s.sum;
  row.make_gradients(target, s.top, scale, inverse);
}

// Losses, and the logits become their gradients. Arguments as above.
KERNEL(ROW_THREADS) loss_gradients_f32(float *loss, float *log_z, float *logits, const int *targets, const LossStatus *status,
                                       i64 stride, int vocab, float z, float cap) {
  loss_gradients(loss, log_z, logits, targets, status, stride, vocab, z, cap);
}
KERNEL(ROW_THREADS) loss_gradients_bf16(float *loss, float *log_z, bf16 *logits, const int *targets, const LossStatus *status,
                                        i64 stride, int vocab, float z, float cap) {
  loss_gradients(loss, log_z, logits, targets, status, stride, vocab, z, cap);
}

const int SUM_THREADS = 1024;

// Counts the targets [tokens] and looks for one beyond the vocabulary. One block.
KERNEL(SUM_THREADS) loss_targets(LossStatus *status, const int *targets, i64 tokens, int vocab) {
  __shared__ i64 counts[SUM_THREADS], firsts[SUM_THREADS];
  i64 counted = 0, first = tokens;
  for (i64 t = threadIdx.x; t < tokens; t += SUM_THREADS) {
    if (targets[t] >= 0) counted++;
    if (targets[t] >= vocab && first == tokens) first = t;
  }
  counts[threadIdx.x] = counted, firsts[threadIdx.x] = first;
  for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      counts[threadIdx.x] += counts[threadIdx.x + half];
      firsts[threadIdx.x] = min(firsts[threadIdx.x], firsts[threadIdx.x + half]);
    }
  }
  if (threadIdx.x != 0) return;
  status->inverse = counts[0] > 0 ? 1.0 / static_cast<double>(counts[0]) : 0.0;
  status->position = firsts[0] < tokens ? static_cast<double>(firsts[0]) : -1.0;
  status->target = firsts[0] < tokens ? static_cast<double>(targets[firsts[0]]) : 0.0;
}

// The two terms of the loss from loss and log_z [tokens], and their sum. One block.
KERNEL(SUM_THREADS) loss_sum(float *sum, LossStatus *status, const float *loss, const float *log_z, i64 tokens, double z) {
  __shared__ double losses[SUM_THREADS], squares[SUM_THREADS];
  double l = 0.0, s = 0.0;
  for (i64 t = threadIdx.x; t < tokens; t += SUM_THREADS) {
    l += loss[t];
    s += static_cast<double>(log_z[t]) * log_z[t];
  }
  losses[threadIdx.x] = l, squares[threadIdx.x] = s;
  for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      losses[threadIdx.x] += losses[threadIdx.x + half];
      squares[threadIdx.x] += squares[threadIdx.x + half];
    }
  }
  if (threadIdx.x != 0) return;
  status->cross_entropy = losses[0] * status->inverse;
  status->z_loss = z * squares[0] * status->inverse;
  *sum = static_cast<float>(status->cross_entropy + status->z_loss);
}
