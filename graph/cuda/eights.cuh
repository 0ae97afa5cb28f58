// Walking over arrays eight elements a thread, in blocks of 256 threads, by accesses of 16 bytes.
#pragma once
#include "prelude.cuh"

// aligned16 tells whether all arrays begin at multiples of 16 bytes.
template <typename... A>
DEVICE bool aligned16(const A*... arrays) {
  return ((reinterpret_cast<u64>(arrays) | ...) & 15) == 0;
}

// read and write move eight elements, four or one.
template <typename A>
DEVICE void read(const A* p, float (&v)[8]) {
  load8(p, v);
}
template <typename A>
DEVICE void read(const A* p, float (&v)[4]) {
  load4(p, v);
}
template <typename A>
DEVICE void read(const A* p, float (&v)[1]) {
  v[0] = load(p);
}
template <typename A>
DEVICE void write(A* p, const float (&v)[8]) {
  store8(p, v);
}
template <typename A>
DEVICE void write(A* p, const float (&v)[4]) {
  store4(p, v);
}
template <typename A>
DEVICE void write(A* p, const float (&v)[1]) {
  store(p, v[0]);
}

// in_pieces calls work.run<W>(i) for this thread's W of n elements, from i on; where its arrays are not aligned, or fewer
// are left, run<1> for each. The choice is made once, so that all arrays' loads are on their way before the first is used.
template <int W, typename Work>
DEVICE void in_pieces(i64 n, bool aligned, const Work& work) {
  i64 i = W * (static_cast<i64>(blockIdx.x) * 256 + threadIdx.x);
  if (aligned && i + W <= n) {
    work.template run<W>(i);
    return;
  }
  i64 end = min(i + W, n);
#pragma unroll 1
  for (; i < end; i++) work.template run<1>(i);
}

template <typename Work>
DEVICE void in_eights(i64 n, bool aligned, const Work& work) {
  in_pieces<8>(n, aligned, work);
}

// Map computes element i of the OUT arrays y, of which those after the first may be null, of those of the IN arrays x:
// f(i, in, out).
template <int IN, int OUT, typename Y, typename X, typename F>
struct Map {
  Y* y[OUT];
  const X* x[IN];
  F f;

  template <int N>
  DEVICE void run(i64 i) const {
    float from[IN][N], to[OUT][N];
#pragma unroll
    for (int j = 0; j < IN; j++) read(x[j] + i, from[j]);
#pragma unroll
    for (int k = 0; k < N; k++) {
      float in[IN], out[OUT];
#pragma unroll
      for (int j = 0; j < IN; j++) in[j] = from[j][k];
      f(i + k, in, out);
#pragma unroll
      for (int j = 0; j < OUT; j++) to[j][k] = out[j];
    }
#pragma unroll
    for (int j = 0; j < OUT; j++)
      if (j == 0 || y[j] != nullptr) write(y[j] + i, to[j]);
  }
};

// map computes y = f(x); y may be x.
template <typename Y, typename X, typename F>
DEVICE void map(Y* y, const X* x, i64 n, F f) {
  auto each = [=](i64, const float in[1], float out[1]) { out[0] = f(in[0]); };
  in_eights(n, aligned16(y, x), Map<1, 1, Y, X, decltype(each)>{{y}, {x}, each});
}

// map2 computes y = f(a, b); y may be a or b.
template <typename A, typename F>
DEVICE void map2(A* y, const A* a, const A* b, i64 n, F f) {
  auto each = [=](i64, const float in[2], float out[1]) { out[0] = f(in[0], in[1]); };
  in_eights(n, aligned16(y, a, b), Map<2, 1, A, A, decltype(each)>{{y}, {a, b}, each});
}
