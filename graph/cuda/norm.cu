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

// Piece is one as it lies in memory, in registers that a load may still be on its way to.
template <typename A>
struct Piece {
  uint4 words[sizeof(A) / 2];

  DEVICE void unpack(float v[PIECE]) const;
};

template <>
DEVICE void Piece<float>::unpack(float v[PIECE]) const {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    v[4 * i] = __uint_as_float(words[i].x), v[4 * i + 1] = __uint_as_float(words[i].y);
    v[4 * i + 2] = __uint_as_float(words[i].z), v[4 * i + 3] = __uint_as_float(words[i].w);
  }
}
template <>
DEVICE void Piece<bf16>::unpack(float v[PIECE]) const {
  unpack_bf16(words[0].x, v[0], v[1]);
  unpack_bf16(words[0].y, v[2], v[3]);
  unpack_bf16(words[0].z, v[4], v[5]);
  unpack_bf16(words[0].w, v[6], v[7]);
}

// fetch_piece begins to load a piece that is within a row or beyond its width, where it is zeros; x is aligned to 16 bytes.
template <typename A>
DEVICE Piece<A> fetch_piece(const A* x, int column, int width) {
  Piece<A> p;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(A)) / 2; i++) {
    p.words[i] = make_uint4(0, 0, 0, 0);
    if (column < width) p.words[i] = reinterpret_cast<const uint4*>(x + column)[i];
  }
  return p;
}

// load_piece reads the elements of a row from a column on, zeros beyond its width. vectors says that the width is a multiple
// of PIECE, so that a piece that begins within the row is whole, and that x is aligned to 16 bytes.
template <typename A>
DEVICE void load_piece(float v[PIECE], const A* x, int column, int width, bool vectors) {
  if (vectors) {
    fetch_piece(x, column, width).unpack(v);
    return;
  }
#pragma unroll
  for (int e = 0; e < PIECE; e++) v[e] = column + e < width ? load(x + column + e) : 0.0f;
}

// store_piece writes what load_piece would read.
template <typename A>
DEVICE void store_piece(A* y, const float v[PIECE], int column, int width, bool vectors) {
  if (vectors) {
    if (column < width) store8(y + column, v);
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

  // sum adds N numbers over the team; all teams of the block call it. It does not end synchronised: memory, of 32 warps, is
  // not to be used again before the block has been.
  template <int N>
  DEVICE void sum(float (&x)[N], float (*memory)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = warp_sum(x[i]);
    if (warps == 1) return;
#pragma unroll
    for (int i = 0; i < N; i++)
      if (threadIdx.x % 32 == 0) memory[threadIdx.x / 32][i] = x[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = 0.0f;
#pragma unroll 4
    for (int w = 0; w < warps; w++)
#pragma unroll
      for (int i = 0; i < N; i++) x[i] += memory[index * warps + w][i];
  }

  DEVICE float sum(float x, float (*memory)[1]) const {
    float one[1] = {x};
    sum(one, memory);
    return one[0];
  }
};

// ---- forward ----

// KEPT are the pieces of a row that a thread keeps in registers.
constexpr int KEPT = 4;

template <typename A>
struct NormForward {
  A* y;  // [rows, width]; null: not wanted
  const A* x;
  const float *gain, *bias;  // [groups, width]; bias may be null
  float *mean, *rstd;        // [rows]
  i64 rows;
  int width, groups, rms;
  float eps;
  int warps, vectors;

  DEVICE float rstd_of(float squares, float share) const { return rsqrtf(squares * share + eps); }

  // gain_of is where the gain of a row begins, and its bias.
  DEVICE i64 gain_of(int row) const { return static_cast<i64>(row % groups) * width; }

  // put writes v * gain + bias, v being a piece of n.
  DEVICE void put(float v[PIECE], int row, i64 at, int column) const {
    float p[PIECE];
    load_piece(p, gain + at, column, width, vectors);
#pragma unroll
    for (int e = 0; e < PIECE; e++) v[e] *= p[e];
    if (bias != nullptr) {
      load_piece(p, bias + at, column, width, vectors);
#pragma unroll
      for (int e = 0; e < PIECE; e++) v[e] += p[e];
    }
    store_piece(y + static_cast<i64>(row) * width, v, column, width, vectors);
  }

  DEVICE void put_statistics(const Team& team, int row, float centre, float scale) const {
    if (team.thread != 0) return;
    if (!rms) mean[row] = centre;
    rstd[row] = scale;
  }
};

// norm_forward_kept is for rows of whole, aligned pieces, at most KEPT a thread, all of which are on their way before the
// first is used.
template <typename A>
DEVICE void norm_forward_kept(const NormForward<A>& a, const Team& team, int row, bool active, float (*memory)[32][1]) {
  const A* x = a.x + static_cast<i64>(row) * a.width;
  int column = PIECE * team.thread, span = PIECE * team.threads();
  Piece<A> pieces[KEPT];
#pragma unroll
  for (int i = 0; i < KEPT; i++) pieces[i] = fetch_piece(x, column + i * span, a.width);
  float shift = a.rms ? 0.0f : load(x), share = __fdividef(1.0f, a.width), sum = 0.0f, centre = 0.0f;
  float v[KEPT][PIECE];
#pragma unroll
  for (int i = 0; i < KEPT; i++) {
    pieces[i].unpack(v[i]);
#pragma unroll
    for (int e = 0; e < PIECE; e++) {
      v[i][e] -= shift;
      if (column + i * span < a.width) sum += v[i][e];
    }
  }
  if (!a.rms) centre = team.sum(sum, memory[0]) * share;
  sum = 0.0f;
#pragma unroll
  for (int i = 0; i < KEPT; i++)
#pragma unroll
    for (int e = 0; e < PIECE; e++) {
      v[i][e] -= centre;
      if (column + i * span < a.width) sum = fmaf(v[i][e], v[i][e], sum);
    }
  float scale = a.rstd_of(team.sum(sum, memory[1]), share);
  if (!active) return;
  a.put_statistics(team, row, centre, scale);
  if (a.y == nullptr) return;
  i64 at = a.gain_of(row);
#pragma unroll
  for (int i = 0; i < KEPT; i++) {
    if (column + i * span >= a.width) break;
#pragma unroll
    for (int e = 0; e < PIECE; e++) v[i][e] *= scale;
    a.put(v[i], row, at, column + i * span);
  }
}

// norm_forward_any reads a row once for each pass over it.
template <typename A>
DEVICE void norm_forward_any(const NormForward<A>& a, const Team& team, int row, bool active, float (*memory)[32][1]) {
  const A* x = a.x + static_cast<i64>(row) * a.width;
  float shift = a.rms ? 0.0f : load(x), share = __fdividef(1.0f, a.width), centre = 0.0f, scale = 0.0f, v[PIECE];
#pragma unroll 1
  for (int pass = a.rms ? 1 : 0; pass < 3; pass++) {
    float sum = 0.0f;
#pragma unroll 1
    for (int column = PIECE * team.thread; column < a.width; column += PIECE * team.threads()) {
      load_piece(v, x, column, a.width, a.vectors);
#pragma unroll
      for (int e = 0; e < PIECE; e++) {
        v[e] = v[e] - shift - centre;
        if (column + e < a.width) sum += pass == 0 ? v[e] : v[e] * v[e];
      }
      if (pass < 2 || !active || a.y == nullptr) continue;
#pragma unroll
      for (int e = 0; e < PIECE; e++) v[e] *= scale;
      a.put(v, row, a.gain_of(row), column);
    }
    if (pass == 0) centre = team.sum(sum, memory[0]) * share;
    if (pass == 1) scale = a.rstd_of(team.sum(sum, memory[1]), share);
  }
  if (active) a.put_statistics(team, row, centre, scale);
}

template <typename A>
DEVICE void norm_forward(const NormForward<A>& a) {
  __shared__ float memory[2][32][1];
  Team team(a.warps);
  int row = blockIdx.x * team.teams() + team.index;
  bool active = row < a.rows;
  if (!active) row = a.rows - 1;  // the team goes along to the barriers
  if (a.vectors && a.width <= KEPT * PIECE * team.threads()) {
    norm_forward_kept(a, team, row, active, memory);
  } else {
    norm_forward_any(a, team, row, active, memory);
  }
}

#define NORM_FORWARD(NAME, A, BLOCKS)                                                                                            \
  KERNEL(256, BLOCKS)                                                                                                            \
  NAME(A* y, const A* x, const float* gain, const float* bias, float* mean, float* rstd, i64 rows, int width, int groups,        \
       int rms, float eps, int warps, int vectors) {                                                                             \
    norm_forward(NormForward<A>{y, x, gain, bias, mean, rstd, rows, width, groups, rms, eps, warps, vectors});                   \
  }

NORM_FORWARD(norm_forward_f32, float, 3)
NORM_FORWARD(norm_forward_bf16, bf16, 4)

// ---- backward ----

template <typename A>
struct NormGradients {
  A* dx;                 // [rows, width]
  float *dgain, *dbias;  // [groups, blocks * teams, width], the sums over the rows of each team; null: not wanted
  const A *dy, *x, *addend;
  const float *gain, *mean, *rstd;
  i64 rows;
  int width, groups, rms, warps;

  // shift_of is what is subtracted from a row.
  DEVICE float shift_of(i64 row) const { return rms ? 0.0f : load(x + row * width); }
  DEVICE float mean_of(i64 row) const { return rms ? 0.0f : mean[row]; }
};

// norm_backward is for rows of whole, aligned pieces, at most one a thread of a team. A team walks over rows of group
// blockIdx.y, so that its threads can sum the gradients of the gain and the bias in registers. All that it reads of a row is on
// its way before the first number is used.
template <typename A>
DEVICE void norm_backward(const NormGradients<A>& a) {
  __shared__ float memory[2][32][2];
  Team team(a.warps);
  int column = PIECE * team.thread, group = blockIdx.y, parity = 0;
  float gain[PIECE], dgain[PIECE] = {}, dbias[PIECE] = {}, share = __fdividef(1.0f, a.width);
  load_piece(gain, a.gain + static_cast<i64>(group) * a.width, column, a.width, true);
  int all = static_cast<int>(a.rows) / a.groups, step = gridDim.x * team.teams();
  for (int first = blockIdx.x * team.teams(); first < all; first += step, parity ^= 1) {
    bool active = first + team.index < all;
    int row = (active ? first + team.index : first) * a.groups + group, width = active ? a.width : 0;
    i64 at = static_cast<i64>(row) * a.width;
    Piece<A> x = fetch_piece(a.x + at, column, width), dy = fetch_piece(a.dy + at, column, width);
    Piece<A> addend = fetch_piece(a.addend + at, column, a.addend == nullptr ? 0 : width);
    float rstd = a.rstd[row], mean = a.mean_of(row), shift = a.shift_of(row);
    float n[PIECE], h[PIECE], add[PIECE], sums[2] = {};
    x.unpack(n);
    dy.unpack(h);
#pragma unroll
    for (int e = 0; e < PIECE; e++) {
      n[e] = (n[e] - shift - mean) * rstd;
      dgain[e] = fmaf(h[e], n[e], dgain[e]);
      dbias[e] += h[e];
      h[e] *= gain[e];
      sums[0] += h[e];
      sums[1] = fmaf(h[e], n[e], sums[1]);
    }
    team.sum(sums, memory[parity]);
    float mean_h = a.rms ? 0.0f : sums[0] * share, mean_hn = sums[1] * share;
    addend.unpack(add);
#pragma unroll
    for (int e = 0; e < PIECE; e++) h[e] = fmaf(h[e] - mean_h - n[e] * mean_hn, rstd, add[e]);
    store_piece(a.dx + at, h, column, width, true);
  }
  i64 at = ((static_cast<i64>(group) * gridDim.x + blockIdx.x) * team.teams() + team.index) * a.width;
  if (a.dgain != nullptr) store_piece(a.dgain + at, dgain, column, a.width, true);
  if (a.dbias != nullptr) store_piece(a.dbias + at, dbias, column, a.width, true);
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

#define NORM_BACKWARD(NAME, A, ...)                                                                                                \
  KERNEL(__VA_ARGS__)                                                                                                              \
  NAME(A* dx, float* dgain, float* dbias, const A* dy, const A* x, const A* addend, const float* gain, const float* mean,          \
       const float* rstd, i64 rows, int width, int groups, int rms, int warps) {                                                   \
    norm_backward(NormGradients<A>{dx, dgain, dbias, dy, x, addend, gain, mean, rstd, rows, width, groups, rms, warps});           \
  }

// A multiprocessor runs 1,024 threads of bfloat16 at once.
NORM_BACKWARD(norm_backward_f32, float, 512)
NORM_BACKWARD(norm_backward_bf16, bf16, 512, 2)

#define NORM_WIDE(NAME, BODY, A)                                                                                                   \
  KERNEL(512)                                                                                                                      \
  NAME(A* dx, float* dgain, float* dbias, const A* dy, const A* x, const A* addend, const float* gain, const float* mean,          \
       const float* rstd, i64 rows, int width, int groups, int rms) {                                                              \
    BODY(NormGradients<A>{dx, dgain, dbias, dy, x, addend, gain, mean, rstd, rows, width, groups, rms, 16});                    \
  }

NORM_WIDE(norm_backward_wide_f32, norm_backward_wide, float)
NORM_WIDE(norm_backward_wide_bf16, norm_backward_wide, bf16)
NORM_WIDE(norm_sums_f32, norm_sums, float)
NORM_WIDE(norm_sums_bf16, norm_sums, bf16)
