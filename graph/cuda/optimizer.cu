// AdamW over all parameters at once, with clipping by the global norm: graph/kernel/adamw.go and globalnorm.go. What
// Muon does to weight matrices next to its matrix products: graph/kernel/muon.go.
#include "vector.cuh"

// Row is a parameter and how it is updated.
struct Row {
  float* value;
  bf16* shadow;  // a copy of value to be kept up to date, null if there is none
  const float* grad;
  float* moment1;
  float* moment2;  // null: the row counts in the norm, and Muon updates it
  i64 n;
  double rate, decay, beta1, beta2, eps;
};

// Tile is the elements [TILE piece, TILE (piece + 1)) of a parameter: what one block does.
struct Tile {
  int row, piece;
};
#define TILE 8192

// Coefficients are a row's numbers in one step.
struct Coefficients {
  float rate, correct, new1, new2, decay, eps;
};

// Outcome is what a step says of itself.
struct Outcome {
  double norm;  // of all gradients times grad_scale, before clipping
  float scale;  // of the gradients: grad_scale, less if they are clipped
  int finite;
};

// block_total adds x over a block of THREADS threads, in a fixed order; thread 0 gets the sum.
template <int THREADS>
DEVICE double block_total(double x) {
  __shared__ double sums[THREADS];
  sums[threadIdx.x] = x;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

// adamw_squares sums the squares of each tile's gradient.
KERNEL(256) adamw_squares(double* sums, const Row* rows, const Tile* tiles) {
  Tile tile = tiles[blockIdx.x];
  i64 from = static_cast<i64>(tile.piece) * TILE;
  const float* grad = rows[tile.row].grad + from;
  int count = static_cast<int>(min(static_cast<i64>(TILE), rows[tile.row].n - from));
  double sum = 0.0;
#pragma unroll 4
  for (int i = 4 * threadIdx.x; i < count; i += 4 * 256) {
    float g[4];
    read4(grad + i, count - i, g);
#pragma unroll
    for (int k = 0; k < 4; k++) sum += static_cast<double>(g[k]) * g[k];
  }
  sum = block_total<256>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// adamw_prepare finishes the norm and computes each row's coefficients; one block. factor is the schedule's, clip the
// largest norm (0: any), step the number of this step, 1 for the first.
KERNEL(1024)
adamw_prepare(Outcome* outcome, Coefficients* coefficients, const Row* rows, int count, const double* sums, int tiles,
              double factor, double grad_scale, double clip, int step) {
  double sum = 0.0;
  for (int i = threadIdx.x; i < tiles; i += 1024) sum += sums[i];
  sum = block_total<1024>(sum);
  if (threadIdx.x == 0) {
    double norm = sqrt(sum) * fabs(grad_scale);
    double clipped = clip > 0.0 && norm > clip ? grad_scale * (clip / norm) : grad_scale;
    *outcome = Outcome{norm, static_cast<float>(clipped), norm <= 1.7976931348623157e308 ? 1 : 0};
  }
  for (int i = threadIdx.x; i < count; i += 1024) {
    Row row = rows[i];
    Coefficients c;
    c.rate = static_cast<float>(factor * row.rate / (1.0 - pow(row.beta1, static_cast<double>(step))));
    c.correct = static_cast<float>(1.0 / (1.0 - pow(row.beta2, static_cast<double>(step))));
    c.new1 = static_cast<float>(1.0 - row.beta1);
    c.new2 = static_cast<float>(1.0 - row.beta2);
    c.decay = static_cast<float>(factor * row.decay);
    c.eps = static_cast<float>(row.eps);
    coefficients[i] = c;
  }
}

// adamw_update updates each tile, unless the norm is not finite:
//
//   s = scale g;  m += (1-beta1) (s - m);  v += (1-beta2) (s^2 - v)
//   w -= rate/(1-beta1^step) m / (sqrt(v/(1-beta2^step)) + eps) + decay w
KERNEL(256) adamw_update(const Row* rows, const Coefficients* coefficients, const Tile* tiles, const Outcome* outcome) {
  if (!outcome->finite) return;
  Tile tile = tiles[blockIdx.x];
  Row row = rows[tile.row];
  if (row.moment2 == nullptr) return;
  Coefficients c = coefficients[tile.row];
  float scale = outcome->scale;
  i64 from = static_cast<i64>(tile.piece) * TILE, end = min(row.n, from + TILE);
  for (i64 i = from + 4 * threadIdx.x; i < end; i += 4 * 256) {
    float w[4], g[4], m[4], v[4];
    read4(row.grad + i, end - i, g);
    read4(row.value + i, end - i, w);
    read4(row.moment1 + i, end - i, m);
    read4(row.moment2 + i, end - i, v);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      float s = scale * g[k];
      m[k] += c.new1 * (s - m[k]);
      v[k] += c.new2 * (s * s - v[k]);
      w[k] -= c.rate * m[k] / (sqrtf(v[k] * c.correct) + c.eps) + c.decay * w[k];
    }
    write4(row.value + i, end - i, w);
    write4(row.moment1 + i, end - i, m);
    write4(row.moment2 + i, end - i, v);
    if (row.shadow != nullptr) write4(row.shadow + i, end - i, w);
  }
}

// Matrix is a weight matrix within a parameter: row i begins at i stride.
struct Matrix {
  float* value;
  bf16* shadow;  // a copy of value to be kept up to date, null if there is none
  const float* grad;
  float* momentum;
  i64 rows, columns, stride;
  double rate, decay;
};

// muon_direction moves the momenta of matrices [rows, columns] of one shape, blockIdx.y each, writes Nesterov's
// directions into x [matrices, rows, columns] and the sum of their squares a block into sums [matrices, blocks]:
//
//   s = scale g;  m += (1-beta) (s - m);  x = m + (1-beta) (s - m)
//
// If the norm of the gradients is not finite, x is 0 and no momentum moves.
KERNEL(256) muon_direction(float* x, double* sums, const Matrix* matrices, const Outcome* outcome, float fresh) {
  Matrix m = matrices[blockIdx.y];
  i64 size = m.rows * m.columns;
  x += blockIdx.y * size;
  double sum = 0.0;
  for (i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x; i < size; i += static_cast<i64>(gridDim.x) * 256) {
    float d = 0.0f;
    if (outcome->finite) {
      i64 at = i / m.columns * m.stride + i % m.columns;
      float s = outcome->scale * m.grad[at];
      float v = m.momentum[at];
      v += fresh * (s - v);
      m.momentum[at] = v;
      d = v + fresh * (s - v);
    }
    x[i] = d;
    sum += static_cast<double>(d) * d;
  }
  sum = block_total<256>(sum);
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// muon_normalise divides each x by its norm + 1e-7.
KERNEL(256) muon_normalise(float* x, const double* sums, i64 size) {
  double sum = 0.0;
  for (int b = 0; b < static_cast<int>(gridDim.x); b++) sum += sums[blockIdx.y * gridDim.x + b];
  float inverse = static_cast<float>(1.0 / (sqrt(sum) + 1e-7));
  x += blockIdx.y * size;
  for (i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x; i < size; i += static_cast<i64>(gridDim.x) * 256)
    x[i] *= inverse;
}

// muon_polynomial turns squares b = a a of matrices [side, side], one after another, into linear I + cubic a + quintic b.
KERNEL(256) muon_polynomial(float* b, const float* a, i64 n, int side, float linear, float cubic, float quintic) {
  i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  int at = static_cast<int>(i % (static_cast<i64>(side) * side));
  b[i] = cubic * a[i] + quintic * b[i] + (at / side == at % side ? linear : 0.0f);
}

// muon_update does w -= factor (rate x + decay w), unless the norm is not finite.
KERNEL(256) muon_update(const float* x, const Matrix* matrices, const Outcome* outcome, double factor) {
  if (!outcome->finite) return;
  Matrix m = matrices[blockIdx.y];
  i64 size = m.rows * m.columns;
  x += blockIdx.y * size;
  float rate = static_cast<float>(factor * m.rate), decay = static_cast<float>(factor * m.decay);
  for (i64 i = static_cast<i64>(blockIdx.x) * 256 + threadIdx.x; i < size; i += static_cast<i64>(gridDim.x) * 256) {
    i64 at = i / m.columns * m.stride + i % m.columns;
    float w = m.value[at];
    w -= rate * x[i] + decay * w;
    m.value[at] = w;
    if (m.shadow != nullptr) store(m.shadow + at, w);
  }
}
