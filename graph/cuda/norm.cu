// graph.Norm: LayerNorm and RMSNorm of rows of x (Ba et al. 2016, arXiv 1607.06450, eq. 4; Zhang & Sennrich 2019, arXiv
// 1910.07467, eq. 4) and their gradients,
//
//	n = (x - mean(x)) rstd, rstd = 1 / sqrt(var(x) + eps)      (RMSNorm: n = x / sqrt(mean(x^2) + eps))
//	y = n * gain + bias
//	dx = addend + (h - mean(h) - n * mean(h * n)) rstd, h = dy * gain      (RMSNorm: without mean(h))
//	dgain = sum over rows of dy * n;   dbias = sum over rows of dy
//
// Row i has gain number i mod groups. What is saved as a row's mean is its distance from the row's first element: both are
// subtracted one after the other, and a mean far larger than the deviation costs no digits.
#include "prelude.cuh"

// A thread has pieces of PIECE neighbours of a row.
constexpr int PIECE = 8;

// load_piece reads the elements of a row from a column on, zeros beyond its width. vectors says that the width is a multiple
// of PIECE, so that a piece that begins within the row is whole, and that x is aligned to 16 bytes.
template <typename A>
DEVICE void load_piece(float v[PIECE], const A* x, int column, int width, bool vectors) {
  if (vectors && column < width) {
    load8(x + column, v);
    return;
  }
#pragma unroll
  for (int e = 0; e < PIECE; e++) v[e] = column + e < width ? load(x + column + e) : 0.0f;
}

// store_piece writes what load_piece would read.
template <typename A>
DEVICE void store_piece(A* y, const float v[PIECE], int column, int width, bool vectors) {
  if (vectors && column < width) {
    store8(y + column, v);
    return;
  }
#pragma unroll
  for (int e = 0; e < PIECE; e++)
    if (column + e < width) store(y + column + e, v[e]);
}

// Team are the warps of a block that work on one row.
struct Team {
  int warps, index, thread;  // the team's number in the block, the thread's in the team

  DEVICE explicit Team(int warps) : warps(warps), index(threadIdx.x / (32 * warps)), thread(threadIdx.x % (32 * warps)) {}
  DEVICE int threads() const { return 32 * warps; }
  // teams are those of a block.
  DEVICE int teams() const { return blockDim.x / threads(); }

  // sum adds x and y over the team; all teams of the block call it. It does not end synchronised: memory, of 32 pairs, is
  // not to be used again before the block has been.
  DEVICE float2 sum(float x, float y, float2* memory) const {
    float2 sum = make_float2(warp_sum(x), warp_sum(y));
    if (warps == 1) return sum;
    if (threadIdx.x % 32 == 0) memory[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = make_float2(0.0f, 0.0f);
    for (int w = 0; w < warps; w++) {
      float2 term = memory[index * warps + w];
      sum.x += term.x, sum.y += term.y;
    }
    return sum;
  }
};

// ---- forward ----

// KEPT are the pieces of a row that a thread keeps in registers. A wider row is read once for each pass over it.
constexpr int KEPT = 4;

template <typename A>
struct NormRow {
  const A* x;
  int width, vectors, first_column, span;  // span: columns between a thread's pieces
  float v[KEPT][PIECE];
  float shift;

  DEVICE void fetch(int from) {
#pragma unroll
    for (int i = 0; i < KEPT; i++) load_piece(v[i], x, from + first_column + i * span, width, vectors);
  }

  // sum adds x - shift - mean, or its square, over the pieces that are there.
  DEVICE float sum(int from, float mean, bool squares) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < KEPT; i++)
#pragma unroll
      for (int e = 0; e < PIECE; e++) {
        float d = v[i][e] - shift - mean;
        if (from + first_column + i * span + e < width) sum += squares ? d * d : d;
      }
    return sum;
  }

  // put writes (x - shift - mean) rstd * gain + bias of the pieces that are there; bias may be null.
  DEVICE void put(A* y, const float* gain, const float* bias, int from, float mean, float rstd) const {
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
      int column = from + first_column + i * span;
      if (column >= width) break;
      float g[PIECE], b[PIECE] = {}, out[PIECE];
      load_piece(g, gain, column, width, vectors);
      if (bias != nullptr) load_piece(b, bias, column, width, vectors);
#pragma unroll
      for (int e = 0; e < PIECE; e++) out[e] = fmaf((v[i][e] - shift - mean) * rstd, g[e], b[e]);
      store_piece(y, out, column, width, vectors);
    }
  }
};

// norm_forward: y [rows, width], mean and rstd [rows], gain and bias [groups, width]; a null y is not wanted.
template <typename A>
DEVICE void norm_forward(A* y, const A* x, const float* gain, const float* bias, float* mean, float* rstd, i64 rows, int width, int groups,
                         int rms, float eps, int warps, int vectors) {
  __shared__ float2 memory[2][32];
  Team team(warps);
  i64 row = static_cast<i64>(blockIdx.x) * team.teams() + team.index;
  bool active = row < rows;
  if (!active) row = rows - 1;  // the team goes along to the barriers
  NormRow<A> r = {x + row * width, width, vectors, PIECE * team.thread, PIECE * team.threads()};
  r.shift = rms ? 0.0f : load(r.x);
  int step = KEPT * r.span;
  r.fetch(0);
  float centre = 0.0f;
  if (!rms) {
    for (int from = 0; from < width; from += step) {
      if (from > 0) r.fetch(from);
      centre += r.sum(from, 0.0f, false);
    }
    centre = team.sum(centre, 0.0f, memory[0]).x / width;
  }
  float squares = 0.0f;
  for (int from = 0; from < width; from += step) {
    if (width > step) r.fetch(from);
    squares += r.sum(from, centre, true);
  }
  float scale = 1.0f / sqrtf(team.sum(squares, 0.0f, memory[1]).x / width + eps);
  if (!active) return;
  if (team.thread == 0) {
    if (!rms) mean[row] = centre;
    rstd[row] = scale;
  }
  if (y == nullptr) return;
  i64 group = row % groups * width;
  for (int from = 0; from < width; from += step) {
    if (width > step) r.fetch(from);
    r.put(y + row * width, gain + group, bias == nullptr ? nullptr : bias + group, from, centre, scale);
  }
}

KERNEL(256)
norm_forward_f32(float* y, const float* x, const float* gain, const float* bias, float* mean, float* rstd, i64 rows, int width, int groups,
                 int rms, float eps, int warps, int vectors) {
  norm_forward(y, x, gain, bias, mean, rstd, rows, width, groups, rms, eps, warps, vectors);
}
KERNEL(256)
norm_forward_bf16(bf16* y, const bf16* x, const float* gain, const float* bias, float* mean, float* rstd, i64 rows, int width, int groups,
                  int rms, float eps, int warps, int vectors) {
  norm_forward(y, x, gain, bias, mean, rstd, rows, width, groups, rms, eps, warps, vectors);
}

// ---- backward ----

template <typename A>
struct NormGradients {
  A* dx;                 // [rows, width]
  float *dgain, *dbias;  // [groups, blocks * teams, width], the sums over the rows of each team; null: not wanted
  const A *dy, *x, *addend;
  const float *gain, *mean, *rstd;
  i64 rows;
  int width, groups, rms, warps, vectors;

  // shift_of is what is subtracted from a row.
  DEVICE float shift_of(i64 row) const { return rms ? 0.0f : load(x + row * width); }
  DEVICE float mean_of(i64 row) const { return rms ? 0.0f : mean[row]; }
};

// norm_backward is for rows of at most a piece a thread of a team. A team walks over rows of group blockIdx.y, so that its
// threads can sum the gradients of the gain and the bias in registers.
template <typename A>
DEVICE void norm_backward(const NormGradients<A>& a) {
  __shared__ float2 memory[2][32];
  Team team(a.warps);
  int column = PIECE * team.thread, group = blockIdx.y, parity = 0;
  bool vectors = a.vectors != 0;
  float gain[PIECE], dgain[PIECE] = {}, dbias[PIECE] = {};
  load_piece(gain, a.gain + static_cast<i64>(group) * a.width, column, a.width, vectors);
  i64 all = a.rows / a.groups, step = static_cast<i64>(gridDim.x) * team.teams();
  for (i64 first = static_cast<i64>(blockIdx.x) * team.teams(); first < all; first += step, parity ^= 1) {
    bool active = first + team.index < all;
    i64 row = (active ? first + team.index : first) * a.groups + group;
    int width = active ? a.width : 0;
    float n[PIECE], h[PIECE], add[PIECE] = {};
    load_piece(n, a.x + row * a.width, column, width, vectors);
    load_piece(h, a.dy + row * a.width, column, width, vectors);
    if (a.addend != nullptr) load_piece(add, a.addend + row * a.width, column, width, vectors);
    float rstd = a.rstd[row], shift = a.shift_of(row), mean = a.mean_of(row), h_sum = 0.0f, hn_sum = 0.0f;
#pragma unroll
    for (int e = 0; e < PIECE; e++) {
      n[e] = (n[e] - shift - mean) * rstd;
      dgain[e] = fmaf(h[e], n[e], dgain[e]);
      dbias[e] += h[e];
      h[e] *= gain[e];
      h_sum += h[e];
      hn_sum = fmaf(h[e], n[e], hn_sum);
    }
    float2 sums = team.sum(h_sum, hn_sum, memory[parity]);
    float mean_h = a.rms ? 0.0f : sums.x / a.width, mean_hn = sums.y / a.width;
#pragma unroll
    for (int e = 0; e < PIECE; e++) h[e] = add[e] + (h[e] - mean_h - n[e] * mean_hn) * rstd;
    store_piece(a.dx + row * a.width, h, column, width, vectors);
  }
  i64 at = ((static_cast<i64>(group) * gridDim.x + blockIdx.x) * team.teams() + team.index) * a.width;
  if (a.dgain != nullptr) store_piece(a.dgain + at, dgain, column, a.width, vectors);
  if (a.dbias != nullptr) store_piece(a.dbias + at, dbias, column, a.width, vectors);
}

// norm_backward_wide is for rows of any width, one a block; it leaves the gradients of gain and bias to norm_sums.
template <typename A>
DEVICE void norm_backward_wide(const NormGradients<A>& a) {
  i64 row = blockIdx.x;
  const A *x = a.x + row * a.width, *dy = a.dy + row * a.width;
  const float* gain = a.gain + row % a.groups * a.width;
  float shift = a.shift_of(row), mean = a.mean_of(row), rstd = a.rstd[row], h_sum = 0.0f, hn_sum = 0.0f;
  for (int i = threadIdx.x; i < a.width; i += 512) {
    float h = load(dy + i) * gain[i];
    h_sum += h;
    hn_sum = fmaf(h, (load(x + i) - shift - mean) * rstd, hn_sum);
  }
  h_sum = a.rms ? 0.0f : block_sum<512>(h_sum) / a.width;
  hn_sum = block_sum<512>(hn_sum) / a.width;
  for (int i = threadIdx.x; i < a.width; i += 512) {
    float n = (load(x + i) - shift - mean) * rstd, dx = (load(dy + i) * gain[i] - h_sum - n * hn_sum) * rstd;
    if (a.addend != nullptr) dx += load(a.addend + row * a.width + i);
    store(a.dx + row * a.width + i, dx);
  }
}

// norm_sums sums the gradients of gain and bias, a column a thread: blockIdx.x counts the columns, blockIdx.y the groups,
// blockIdx.z the parts of the rows.
template <typename A>
DEVICE void norm_sums(const NormGradients<A>& a) {
  int column = blockIdx.x * 512 + threadIdx.x, group = blockIdx.y;
  if (column >= a.width) return;
  float dgain = 0.0f, dbias = 0.0f;
  for (i64 row = static_cast<i64>(blockIdx.z) * a.groups + group; row < a.rows; row += static_cast<i64>(gridDim.z) * a.groups) {
    float dy = load(a.dy + row * a.width + column), x = load(a.x + row * a.width + column);
    dgain = fmaf(dy, (x - a.shift_of(row) - a.mean_of(row)) * a.rstd[row], dgain);
    dbias += dy;
  }
  i64 at = (static_cast<i64>(group) * gridDim.z + blockIdx.z) * a.width + column;
  if (a.dgain != nullptr) a.dgain[at] = dgain;
  if (a.dbias != nullptr) a.dbias[at] = dbias;
}

#define NORM_BACKWARD(NAME, A)                                                                                                     \
  KERNEL(512)                                                                                                                      \
  NAME(A* dx, float* dgain, float* dbias, const A* dy, const A* x, const A* addend, const float* gain, const float* mean,          \
       const float* rstd, i64 rows, int width, int groups, int rms, int warps, int vectors) {                                      \
    norm_backward(NormGradients<A>{dx, dgain, dbias, dy, x, addend, gain, mean, rstd, rows, width, groups, rms, warps, vectors});  \
  }

NORM_BACKWARD(norm_backward_f32, float)
NORM_BACKWARD(norm_backward_bf16, bf16)

#define NORM_WIDE(NAME, BODY, A)                                                                                                   \
  KERNEL(512)                                                                                                                      \
  NAME(A* dx, float* dgain, float* dbias, const A* dy, const A* x, const A* addend, const float* gain, const float* mean,          \
       const float* rstd, i64 rows, int width, int groups, int rms) {                                                              \
    BODY(NormGradients<A>{dx, dgain, dbias, dy, x, addend, gain, mean, rstd, rows, width, groups, rms, 16, 0});                    \
  }

NORM_WIDE(norm_backward_wide_f32, norm_backward_wide, float)
NORM_WIDE(norm_backward_wide_bf16, norm_backward_wide, bf16)
NORM_WIDE(norm_sums_f32, norm_sums, float)
NORM_WIDE(norm_sums_bf16, norm_sums, bf16)
