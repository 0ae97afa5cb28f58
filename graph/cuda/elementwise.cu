// Ops that treat each element by itself, eight elements a thread; where an array has rows of its own width, four.
#include "activations.cuh"
#include "eights.cuh"
#include "vector.cuh"

// ---- sums and factors ----

// Sum adds the arrays x, of which those after the first may be null, from left to right.
template <typename A>
struct Sum {
  A* y;
  const A* x[9];

  template <int N>
  DEVICE void run(i64 i) const {
    float sum[N], v[N];
    read(x[0] + i, sum);
#pragma unroll
    for (int j = 1; j < 9; j++) {
      if (x[j] == nullptr) continue;
      read(x[j] + i, v);
#pragma unroll
      for (int k = 0; k < N; k++) sum[k] += v[k];
    }
    write(y + i, sum);
  }
};

// add computes y (+)= x0 + x1 + ... from left to right over those that are not null, which come first; y may be x0.
template <typename A>
DEVICE void add(A* y, const A* x0, const A* x1, const A* x2, const A* x3, const A* x4, const A* x5, const A* x6, const A* x7,
                int accumulate, i64 n) {
  const A *first = accumulate ? y : x0, *second = accumulate ? x0 : x1;
  if (second != nullptr && (accumulate ? x1 : x2) == nullptr) {
    map2(y, first, second, n, [](float u, float v) { return u + v; });
  } else {
    in_eights(n, aligned16(y, x0, x1, x2, x3, x4, x5, x6, x7),
              Sum<A>{y, {first, accumulate ? x0 : nullptr, x1, x2, x3, x4, x5, x6, x7}});
  }
}

KERNEL(256)
add_f32(float* y, const float* x0, const float* x1, const float* x2, const float* x3, const float* x4, const float* x5,
        const float* x6, const float* x7, int accumulate, i64 n) {
  add(y, x0, x1, x2, x3, x4, x5, x6, x7, accumulate, n);
}
KERNEL(256)
add_bf16(bf16* y, const bf16* x0, const bf16* x1, const bf16* x2, const bf16* x3, const bf16* x4, const bf16* x5,
         const bf16* x6, const bf16* x7, int accumulate, i64 n) {
  add(y, x0, x1, x2, x3, x4, x5, x6, x7, accumulate, n);
}

template <typename A>
DEVICE void scale(A* y, const A* x, float factor, i64 n) {
  map(y, x, n, [=](float v) { return factor * v; });
}

// y = factor x; y may be x.
KERNEL(256) scale_f32(float* y, const float* x, float factor, i64 n) { scale(y, x, factor, n); }
KERNEL(256) scale_bf16(bf16* y, const bf16* x, float factor, i64 n) { scale(y, x, factor, n); }

// add_bias computes y_t = x_t + bias, with x [rows, width] and bias [width]; y may be x.
template <typename A>
DEVICE void add_bias(A* y, const A* x, const float* bias, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 at = q.row * width + q.column;
  float u[4], v[4];
  read4(x + at, q.count, u);
  read4(bias + q.column, q.count, v);
#pragma unroll
  for (int k = 0; k < 4; k++) u[k] += v[k];
  write4(y + at, q.count, u);
}

KERNEL(256) add_bias_f32(float* y, const float* x, const float* bias, int rows, int width) { add_bias(y, x, bias, rows, width); }
KERNEL(256) add_bias_bf16(bf16* y, const bf16* x, const float* bias, int rows, int width) { add_bias(y, x, bias, rows, width); }

// ---- sums over rows ----

// sum_rows_partial sums the rows [slab * length, (slab + 1) * length) of x [rows, width] into partial[slab], partial being
// [slabs, width]. A block has 32 threads side by side, of four columns each, and eight below each other that share the rows;
// their sums are added from top to bottom. blockIdx.x is the group of 128 columns, blockIdx.y the slab.
template <typename A>
DEVICE void sum_rows_partial(float* partial, const A* x, int rows, int width, int length) {
  __shared__ float sums[8][128];
  int lane = threadIdx.x % 32, level = threadIdx.x / 32;
  int column = blockIdx.x * 128 + 4 * lane, count = width - column;
  int end = min(rows, (static_cast<int>(blockIdx.y) + 1) * length);
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (count > 0) {
#pragma unroll 4
    for (int row = blockIdx.y * length + level; row < end; row += 8) {
      float v[4];
      read4(x + static_cast<i64>(row) * width + column, count, v);
#pragma unroll
      for (int k = 0; k < 4; k++) sum[k] += v[k];
    }
  }
#pragma unroll
  for (int k = 0; k < 4; k++) sums[level][4 * lane + k] = sum[k];
  __syncthreads();
  if (threadIdx.x >= 128) return;
  column = blockIdx.x * 128 + threadIdx.x;
  float total = 0.0f;
#pragma unroll
  for (int l = 0; l < 8; l++) total += sums[l][threadIdx.x];
  if (column < width) partial[static_cast<i64>(blockIdx.y) * width + column] = total;
}

KERNEL(256) sum_rows_partial_f32(float* partial, const float* x, int rows, int width, int length) {
  sum_rows_partial(partial, x, rows, width, length);
}
KERNEL(256) sum_rows_partial_bf16(float* partial, const bf16* x, int rows, int width, int length) {
  sum_rows_partial(partial, x, rows, width, length);
}

// sum_rows_finish computes y (+)= the sum of partial's rows, [slabs, width], in their order; one column a thread.
KERNEL(256) sum_rows_finish(float* y, const float* partial, int slabs, int width, int accumulate) {
  int column = blockIdx.x * 256 + threadIdx.x;
  if (column >= width) return;
  double sum = accumulate ? y[column] : 0.0;
#pragma unroll 8
  for (int slab = 0; slab < slabs; slab++) sum += partial[static_cast<i64>(slab) * width + column];
  y[column] = static_cast<float>(sum);
}

// ---- nonlinearities ----

// The activations' numbers are those of graph/kernel/activation.go.
const int GELU_TANH = 0, GELU_EXACT = 1, RELU_SQUARED = 2;

template <typename A>
DEVICE void activation_map(A* y, const A* x, int kind, i64 n) {
  if (kind == GELU_TANH) {
    map(y, x, n, [](float v) { return gelu_tanh(v); });
  } else if (kind == GELU_EXACT) {
    map(y, x, n, [](float v) { return gelu_exact(v); });
  } else if (kind == RELU_SQUARED) {
    map(y, x, n, [](float v) { return relu_squared(v); });
  } else {
    map(y, x, n, [](float v) { return v < 0.0f ? 0.0f : v; });  // ReLU; NaN stays NaN
  }
}

// y = f(x).
KERNEL(256) activation_f32(float* y, const float* x, int kind, i64 n) { activation_map(y, x, kind, n); }
KERNEL(256) activation_bf16(bf16* y, const bf16* x, int kind, i64 n) { activation_map(y, x, kind, n); }

template <typename A>
DEVICE void activation_grad(A* dx, const A* dy, const A* x, int kind, i64 n) {
  if (kind == GELU_TANH) {
    map2(dx, dy, x, n, [](float d, float v) { return d * gelu_tanh_slope(v); });
  } else if (kind == GELU_EXACT) {
    map2(dx, dy, x, n, [](float d, float v) { return d * gelu_exact_slope(v); });
  } else if (kind == RELU_SQUARED) {
    map2(dx, dy, x, n, [](float d, float v) { return d * relu_squared_slope(v); });
  } else {
    map2(dx, dy, x, n, [](float d, float v) { return v > 0.0f ? d : v <= 0.0f ? 0.0f : v; });
  }
}

// dx = dy f'(x).
KERNEL(256) activation_grad_f32(float* dx, const float* dy, const float* x, int kind, i64 n) {
  activation_grad(dx, dy, x, kind, n);
}
KERNEL(256) activation_grad_bf16(bf16* dx, const bf16* dy, const bf16* x, int kind, i64 n) {
  activation_grad(dx, dy, x, kind, n);
}

// add4 adds four elements of x, which may be null, to the sum.
template <typename A>
DEVICE void add4(float sum[4], const A* x, i64 i, i64 n) {
  if (x == nullptr) return;
  float v[4];
  read4(x + i, n - i, v);
#pragma unroll
  for (int k = 0; k < 4; k++) sum[k] += v[k];
}

// glu computes y_t = sigmoid(gate_t) value_t + a0_t + a1_t + a2_t, with x_t = [gate_t | value_t], x [rows, 2 width], the
// others [rows, width]; the addends may be null, and y may be one of them.
template <typename A>
DEVICE void glu(A* y, const A* x, const A* a0, const A* a1, const A* a2, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  const A* gates = x + 2 * q.row * width + q.column;
  float gate[4], value[4];
  read4(gates, q.count, gate);
  read4(gates + width, q.count, value);
#pragma unroll
  for (int k = 0; k < 4; k++) value[k] *= sigmoid(gate[k]);
  i64 at = q.row * width + q.column;
  add4(value, a0, at, at + q.count);
  add4(value, a1, at, at + q.count);
  add4(value, a2, at, at + q.count);
  write4(y + at, q.count, value);
}

KERNEL(256) glu_f32(float* y, const float* x, const float* a0, const float* a1, const float* a2, int rows, int width) {
  glu(y, x, a0, a1, a2, rows, width);
}
KERNEL(256) glu_bf16(bf16* y, const bf16* x, const bf16* a0, const bf16* a1, const bf16* a2, int rows, int width) {
  glu(y, x, a0, a1, a2, rows, width);
}

// glu_grad computes dx_t = [dy_t value_t s (1 - s) | dy_t s], s = sigmoid(gate_t).
template <typename A>
DEVICE void glu_grad(A* dx, const A* dy, const A* x, int rows, int width) {
  Quad q = quad_of(rows, width);
  if (q.count <= 0) return;
  i64 gates = 2 * q.row * width + q.column;
  float gate[4], value[4], d[4];
  read4(x + gates, q.count, gate);
  read4(x + gates + width, q.count, value);
  read4(dy + q.row * width + q.column, q.count, d);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float open = sigmoid(gate[k]), through = d[k] * open;
    gate[k] = value[k] * through * sigmoid(-gate[k]);
    value[k] = through;
  }
  write4(dx + gates, q.count, gate);
  write4(dx + gates + width, q.count, value);
}

KERNEL(256) glu_grad_f32(float* dx, const float* dy, const float* x, int rows, int width) { glu_grad(dx, dy, x, rows, width); }
KERNEL(256) glu_grad_bf16(bf16* dx, const bf16* dy, const bf16* x, int rows, int width) { glu_grad(dx, dy, x, rows, width); }

// ---- dropout ----

// mix is the output function of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, figure 17).
DEVICE u64 mix(u64 h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

// dropout zeroes the elements whose hash, the upper half of element i of the SplitMix64 sequence that starts at stream, is
// below the threshold, and multiplies the others by the factor: the mask of graph/kernel/dropout.go, bit by bit.
template <typename A>
DEVICE void dropout(A* y, const A* x, u64 stream, u64 threshold, float factor, i64 n) {
  auto each = [=](i64 i, const float in[1], float out[1]) {
    u64 hash = mix(stream + static_cast<u64>(i + 1) * 0x9e3779b97f4a7c15ull) >> 32;
    out[0] = hash < threshold ? 0.0f : in[0] * factor;
  };
  in_eights(n, aligned16(y, x), Map<1, 1, A, A, decltype(each)>{{y}, {x}, each});
}

KERNEL(256) dropout_f32(float* y, const float* x, u64 stream, u64 threshold, float factor, i64 n) {
  dropout(y, x, stream, threshold, factor, n);
}
KERNEL(256) dropout_bf16(bf16* y, const bf16* x, u64 stream, u64 threshold, float factor, i64 n) {
  dropout(y, x, stream, threshold, factor, n);
}

// ---- conversions and constants ----

// cast_FROM_TO converts x to y.
KERNEL(256) cast_f32_bf16(bf16* y, const float* x, i64 n) {
  map(y, x, n, [](float v) { return v; });
}
KERNEL(256) cast_bf16_f32(float* y, const bf16* x, i64 n) {
  map(y, x, n, [](float v) { return v; });
}

template <typename A>
struct Fill {
  A* y;
  float value;

  template <int N>
  DEVICE void run(i64 i) const {
    float v[N];
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = value;
    write(y + i, v);
  }
};

template <typename A>
DEVICE void fill(A* y, float value, i64 n) {
  in_eights(n, aligned16(y), Fill<A>{y, value});
}

// y = value.
KERNEL(256) fill_f32(float* y, float value, i64 n) { fill(y, value, n); }
KERNEL(256) fill_bf16(bf16* y, float value, i64 n) { fill(y, value, n); }
