// graph.MatchSize, y = r v with r = size(like) / sqrt(max(mean(v^2), floor)), and its gradients,
//
//	dv = r (dy - v (dy . v) / (v . v)), without the second term where mean(v^2) is below the floor
//	dlike = r like (dy . v) / (like . like)
//
// A warp takes a row.
#include "vector.cuh"

// Matched are the dot products of a row.
struct Matched {
  float squares, like, along;  // v . v, like . like, dy . v
};

// matched_row returns the number of the warp's row.
DEVICE i64 matched_row() { return static_cast<i64>(blockIdx.x) * 8 + threadIdx.x / 32; }

// match computes the dot products; dy may be null.
template <typename A>
DEVICE Matched match(const A* v, const A* like, const A* dy, int width) {
  Matched m = {};
  for (int column = 4 * (threadIdx.x % 32); column < width; column += 4 * 32) {
    float x[4], y[4], d[4] = {};
    read4(v + column, width - column, x);
    read4(like + column, width - column, y);
    if (dy != nullptr) read4(dy + column, width - column, d);
#pragma unroll
    for (int k = 0; k < 4; k++) m.squares += x[k] * x[k], m.like += y[k] * y[k], m.along += d[k] * x[k];
  }
  return Matched{warp_sum(m.squares), warp_sum(m.like), warp_sum(m.along)};
}

// y may be v.
template <typename A>
DEVICE void match_size(A* y, const A* v, const A* like, int rows, int width, float floor) {
  const i64 row = matched_row();
  if (row >= rows) return;
  y += row * width, v += row * width;
  const Matched m = match<A>(v, like + row * width, nullptr, width);
  const float r = sqrtf(m.like / fmaxf(m.squares, floor * static_cast<float>(width)));
  for (int column = 4 * (threadIdx.x % 32); column < width; column += 4 * 32) {
    float x[4];
    read4(v + column, width - column, x);
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] *= r;
    write4(y + column, width - column, x);
  }
}

// dv may be dy; dlike may be null.
template <typename A>
DEVICE void match_size_grad(A* dv, A* dlike, const A* dy, const A* v, const A* like, int accumulate, int rows, int width, float floor) {
  const i64 row = matched_row();
  if (row >= rows) return;
  const i64 at = row * width;
  const Matched m = match(v + at, like + at, dy + at, width);
  const float least = floor * static_cast<float>(width), r = sqrtf(m.like / fmaxf(m.squares, least));
  const float of_v = m.squares > least ? -r * m.along / m.squares : 0.0f, of_like = m.like > 0.0f ? r * m.along / m.like : 0.0f;
  for (int column = 4 * (threadIdx.x % 32); column < width; column += 4 * 32) {
    const int count = width - column;
    float x[4], d[4], l[4], sum[4] = {};
    read4(v + at + column, count, x);
    read4(dy + at + column, count, d);
#pragma unroll
    for (int k = 0; k < 4; k++) d[k] = r * d[k] + of_v * x[k];
    write4(dv + at + column, count, d);
    if (dlike == nullptr) continue;
    read4(like + at + column, count, l);
    if (accumulate) read4(dlike + at + column, count, sum);
#pragma unroll
    for (int k = 0; k < 4; k++) sum[k] += of_like * l[k];
    write4(dlike + at + column, count, sum);
  }
}

#define MATCH_SIZE(suffix, A)                                                                                                      \
  KERNEL(256) match_size_##suffix(A* y, const A* v, const A* like, int rows, int width, float floor) {                             \
    match_size(y, v, like, rows, width, floor);                                                                                    \
  }                                                                                                                                \
  KERNEL(256) match_size_grad_##suffix(A* dv, A* dlike, const A* dy, const A* v, const A* like, int accumulate, int rows, int width, \
                                       float floor) {                                                                              \
    match_size_grad(dv, dlike, dy, v, like, accumulate, rows, width, floor);                                                       \
  }

MATCH_SIZE(f32, float)
MATCH_SIZE(bf16, bf16)
