// LSTMCell, one step of a long short-term memory's cell: c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g, h' = sigmoid(o) ⊙ c', and its
// gradients. The cell's state and its gradient are float, all else of type A. A thread takes 4 elements.
#include "gates.cuh"
#include "vector.cuh"

// put4 is write4 unless to is null.
template <typename A>
DEVICE void put4(A *to, i64 at, i64 n, const float x[4]) {
  if (to) write4(to + at, n - at, x);
}

// cell may be c; hidden may be null.
template <typename A>
DEVICE void lstm_cell(float *cell, A *hidden, const float *c, const A *i, const A *f, const A *g, const A *o, i64 n) {
  const i64 at = first_of_four();
  if (at >= n) return;
  float c4[4], i4[4], f4[4], g4[4], o4[4], h4[4];
  read4(c + at, n - at, c4);
  read4(i + at, n - at, i4);
  read4(f + at, n - at, f4);
  read4(g + at, n - at, g4);
  read4(o + at, n - at, o4);
#pragma unroll
  for (int e = 0; e < 4; e++) {
    c4[e] = logistic(f4[e]) * c4[e] + logistic(i4[e]) * g4[e];
    h4[e] = logistic(o4[e]) * c4[e];
  }
  put4(cell, at, n, c4);
  put4(hidden, at, n, h4);
}

// dcell = addend + dh ⊙ sigmoid(o), do = dh ⊙ c' ⊙ sigmoid'(o). addend and dgate, which is do, may be null; dcell may be dh
// or addend.
template <typename A>
DEVICE void lstm_output_grad(float *dcell, A *dgate, const A *dh, const float *cell, const A *o, const float *addend, i64 n) {
  const i64 at = first_of_four();
  if (at >= n) return;
  float dh4[4], c4[4], o4[4], sum4[4] = {0.0f, 0.0f, 0.0f, 0.0f}, do4[4];
  read4(dh + at, n - at, dh4);
  read4(cell + at, n - at, c4);
  read4(o + at, n - at, o4);
  if (addend) read4(addend + at, n - at, sum4);
#pragma unroll
  for (int e = 0; e < 4; e++) {
    float rest, y = logistic(o4[e], rest);
    sum4[e] += dh4[e] * y;
    do4[e] = dh4[e] * c4[e] * y * rest;
  }
  put4(dcell, at, n, sum4);
  put4(dgate, at, n, do4);
}

// dc = dcell ⊙ sigmoid(f), df = dcell ⊙ c ⊙ sigmoid'(f), dg = dcell ⊙ sigmoid(i), di = dcell ⊙ g ⊙ sigmoid'(i). di, df and
// dg may be null.
template <typename A>
DEVICE void lstm_cell_grad(float *dc, A *di, A *df, A *dg, const float *dcell, const float *c, const A *i, const A *f,
                           const A *g, i64 n) {
  const i64 at = first_of_four();
  if (at >= n) return;
  float d4[4], c4[4], i4[4], f4[4], g4[4], dc4[4], di4[4], df4[4], dg4[4];
  read4(dcell + at, n - at, d4);
  read4(c + at, n - at, c4);
  read4(i + at, n - at, i4);
  read4(f + at, n - at, f4);
  read4(g + at, n - at, g4);
#pragma unroll
  for (int e = 0; e < 4; e++) {
    float rest, y = logistic(f4[e], rest);
    dc4[e] = d4[e] * y;
    df4[e] = d4[e] * c4[e] * y * rest;
    y = logistic(i4[e], rest);
    dg4[e] = d4[e] * y;
    di4[e] = d4[e] * g4[e] * y * rest;
  }
  put4(dc, at, n, dc4);
  put4(di, at, n, di4);
  put4(df, at, n, df4);
  put4(dg, at, n, dg4);
}

#define LSTM(suffix, A)                                                                                                \
  KERNEL(256)                                                                                                          \
  lstm_cell_##suffix(float *cell, A *hidden, const float *c, const A *i, const A *f, const A *g, const A *o,           \
                     i64 n) {                                                                                          \
    lstm_cell(cell, hidden, c, i, f, g, o, n);                                                                         \
  }                                                                                                                    \
  KERNEL(256)                                                                                                          \
  lstm_output_grad_##suffix(float *dcell, A *dgate, const A *dh, const float *cell, const A *o,                        \
                            const float *addend, i64 n) {                                                              \
    lstm_output_grad(dcell, dgate, dh, cell, o, addend, n);                                                            \
  }                                                                                                                    \
  KERNEL(256)                                                                                                          \
  lstm_cell_grad_##suffix(float *dc, A *di, A *df, A *dg, const float *dcell, const float *c, const A *i,              \
                          const A *f, const A *g, i64 n) {                                                             \
    lstm_cell_grad(dc, di, df, dg, dcell, c, i, f, g, n);                                                              \
  }

LSTM(f32, float)
LSTM(bf16, bf16)
