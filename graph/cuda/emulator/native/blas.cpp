// A libcublas.so for the emulated device: matrix products, column-major, as cuBLAS defines them. Inputs are rounded as the
// computing type says, products are summed in its accumulator, and the result is rounded once.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <vector>

#include "product.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" int cuCtxGetCurrent(void **context);
extern "C" void emulatorHandle(int by);
extern "C" void emulatorChoice();

namespace {

enum Status { kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15 };
enum Type { k32F = 0, k64F = 1, k16BF = 14 };
enum Compute { kCompute32F = 68, kPedantic32F = 69, kCompute64F = 70, kFast16BF = 75, kFastTF32 = 77 };
enum MathMode { kTF32Math = 3 };

struct Handle {
  int math_mode = 0;
  void *stream = nullptr;
  bool workspace = false;  // set by cublasSetWorkspace since the last cublasSetStream
};

// An Operand is a matrix in the device's memory, one a product of the batch.
struct Operand {
  uint64_t address;
  int type, ld;
  int64_t stride;  // in elements, to the next product's
};

enum Epilogue { kNone = 1, kGELUAux = 160, kDGELU = 192 };

struct Gemm {
  bool trans_a, trans_b;
  int m, n, k;
  double alpha, beta;
  Operand a, b, c;
  int batch, compute;
  int epilogue = kNone;  // of products in float, with aux, which is like c
  Operand aux = {};      // without an epilogue: what beta multiplies, if that is not c
  int algorithm = 0;  // 0 is cuBLAS's own, others are cuBLASLt's
  uint64_t workspace = 0, workspace_bytes = 0;
  void *stream = nullptr;
};

uint64_t size_of(int type) { return type == k64F ? 8 : type == k32F ? 4 : 2; }

// ---- numbers ----

uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

uint16_t to_bf16(float x) {
  if (x != x) return 0x7fff;
  uint32_t bits = bits_of(x);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float to_tf32(float x) {
  uint32_t bits = bits_of(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  return float_of((bits + 0x1000u) & ~0x1fffu);
}

float exactly(float x) { return x; }
float by_tf32(float x) { return to_tf32(x); }
float by_bf16(float x) { return float_of(static_cast<uint32_t>(to_bf16(x)) << 16); }

float read(const float *p) { return *p; }
double read(const double *p) { return *p; }
float read(const uint16_t *p) { return float_of(static_cast<uint32_t>(*p) << 16); }
void write(float *p, float x) { *p = x; }
void write(double *p, double x) { *p = x; }
void write(uint16_t *p, float x) { *p = to_bf16(x); }

// ---- packing: an operand's elements as the accumulator's type, rounded, in the order in which the product reads them ----

// pack makes rows x columns, column by column, of op(X).
template <typename T, typename E, typename F>
void pack(T *to, const E *x, int ld, bool transposed, int rows, int columns, F rounded) {
  for (int j = 0; j < columns; j++) {
    for (int i = 0; i < rows; i++) {
      int64_t offset = transposed ? static_cast<int64_t>(i) * ld + j : static_cast<int64_t>(j) * ld + i;
      to[static_cast<int64_t>(j) * rows + i] = rounded(read(x + offset));
    }
  }
}

void pack_operand(double *to, const Operand &o, int64_t offset, bool transposed, int rows, int columns, int) {
  pack(to, reinterpret_cast<const double *>(o.address) + offset, o.ld, transposed, rows, columns, [](double x) { return x; });
}

void pack_operand(float *to, const Operand &o, int64_t offset, bool transposed, int rows, int columns, int compute) {
  if (o.type == k16BF) {
    pack(to, reinterpret_cast<const uint16_t *>(o.address) + offset, o.ld, transposed, rows, columns, exactly);
    return;
  }
  const float *x = reinterpret_cast<const float *>(o.address) + offset;
  switch (compute) {
    case kFastTF32: return pack(to, x, o.ld, transposed, rows, columns, by_tf32);
    case kFast16BF: return pack(to, x, o.ld, transposed, rows, columns, by_bf16);
    default: return pack(to, x, o.ld, transposed, rows, columns, exactly);
  }
}

// ---- the product ----

// add_tile adds A [rows of m, depth of k] B to four columns of sums. Each sum takes its terms in the order of k.
template <typename T>
void add_tile(T *__restrict__ sums, const T *__restrict__ a, const T *__restrict__ b, int m, int k, int rows, int depth) {
  T *__restrict__ s0 = sums, *__restrict__ s1 = sums + m, *__restrict__ s2 = sums + 2 * m, *__restrict__ s3 = sums + 3 * m;
  for (int p = 0; p < depth; p++) {
    const T *__restrict__ column = a + static_cast<int64_t>(p) * m;
    T b0 = b[p], b1 = b[k + p], b2 = b[2 * k + p], b3 = b[3 * k + p];
    for (int i = 0; i < rows; i++) {
      T x = column[i];
      s0[i] += x * b0;
      s1[i] += x * b1;
      s2[i] += x * b2;
      s3[i] += x * b3;
    }
  }
}

// multiply makes sums [m, n] = A [m, k] B [k, n], all packed by columns; n is a multiple of four.
template <typename T>
void multiply(T *sums, const T *a, const T *b, int m, int n, int k) {
  constexpr int kRows = 256, kDepth = 128;
  memset(sums, 0, sizeof(T) * static_cast<size_t>(m) * static_cast<size_t>(n));
  for (int p = 0; p < k; p += kDepth) {
    int depth = k - p < kDepth ? k - p : kDepth;
    for (int i = 0; i < m; i += kRows) {
      int rows = m - i < kRows ? m - i : kRows;
      for (int j = 0; j < n; j += 4) {
        add_tile(sums + static_cast<int64_t>(j) * m + i, a + static_cast<int64_t>(p) * m + i, b + static_cast<int64_t>(j) * k + p, m, k, rows,
                 depth);
      }
    }
  }
}

// gelu is GELU in its tanh form, gelu_slope its derivative (Hendrycks & Gimpel 2016).
float gelu_tanh(float x) { return tanhf(0.7978845608f * (x + 0.044715f * x * x * x)); }
float gelu(float x) { return 0.5f * x * (1 + gelu_tanh(x)); }
float gelu_slope(float x) {
  float t = gelu_tanh(x);
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
}

// finish is an entry of the result from one of the product, with its entry of aux.
template <typename E>
float finish(const Gemm &g, float x, E *aux) {
  switch (g.epilogue) {
    case kGELUAux: write(aux, x); return gelu(x);
    case kDGELU: return x * gelu_slope(read(aux));
    default: return x;
  }
}
template <typename E>
double finish(const Gemm &, double x, E *) { return x; }

// put writes alpha sums + beta C. With beta 0 nothing of C is read, which may be NaN.
template <typename T, typename E>
void put(E *c, const T *sums, const Gemm &g, T alpha, T beta) {
  for (int j = 0; j < g.n; j++) {
    for (int i = 0; i < g.m; i++) {
      E *to = c + static_cast<int64_t>(j) * g.c.ld + i;
      T x = alpha * sums[static_cast<int64_t>(j) * g.m + i];
      E *aux = reinterpret_cast<E *>(g.aux.address) + static_cast<int64_t>(j) * g.aux.ld + i;
      write(to, beta == 0 ? finish(g, x, aux) : x + beta * static_cast<T>(read(g.aux.address == 0 ? to : aux)));
    }
  }
}

void put_result(const Gemm &g, int64_t offset, const double *sums, double alpha, double beta) {
  put(reinterpret_cast<double *>(g.c.address) + offset, sums, g, alpha, beta);
}

void put_result(const Gemm &g, int64_t offset, const float *sums, float alpha, float beta) {
  if (g.c.type == k16BF) {
    put(reinterpret_cast<uint16_t *>(g.c.address) + offset, sums, g, alpha, beta);
  } else {
    put(reinterpret_cast<float *>(g.c.address) + offset, sums, g, alpha, beta);
  }
}

template <typename T>
void run(const Gemm &g) {
  size_t m = static_cast<size_t>(g.m), n = static_cast<size_t>(g.n + 3) / 4 * 4, k = static_cast<size_t>(g.k);
  std::vector<T> a(m * k), b(k * n), sums(m * n);
  T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta);
  for (int i = 0; i < g.batch; i++) {
    pack_operand(a.data(), g.a, i * g.a.stride, g.trans_a, g.m, g.k, g.compute);
    pack_operand(b.data(), g.b, i * g.b.stride, g.trans_b, g.k, g.n, g.compute);
    multiply(sums.data(), a.data(), b.data(), g.m, static_cast<int>(n), g.k);
    put_result(g, i * g.c.stride, sums.data(), alpha, beta);
  }
}

// ---- checks ----

// supported lists the combinations of types that cuBLAS has and Residua uses.
bool supported(const Gemm &g) {
  if (g.a.type != g.b.type) return false;
  switch (g.compute) {
    case kCompute64F: return g.a.type == k64F && g.c.type == k64F;
    case kFast16BF: case kFastTF32: return g.a.type == k32F && g.c.type == k32F;
    case kCompute32F: case kPedantic32F:
      return (g.a.type == k32F && g.c.type == k32F) || (g.a.type == k16BF && (g.c.type == k16BF || g.c.type == k32F));
    default: return false;
  }
}

bool valid(const Gemm &g) {
  int rows_a = g.trans_a ? g.k : g.m, rows_b = g.trans_b ? g.n : g.k;
  auto at_least = [](int ld, int rows) { return ld >= (rows > 1 ? rows : 1); };
  return g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 && at_least(g.a.ld, rows_a) && at_least(g.b.ld, rows_b) &&
         at_least(g.c.ld, g.m) && (g.batch <= 1 || g.c.stride != 0);
}

// extent is how many bytes an operand of rows x columns spans over the batch.
uint64_t extent(const Operand &o, int rows, int columns, int batch) {
  if (rows == 0 || columns == 0) return 0;
  int64_t elements = static_cast<int64_t>(columns - 1) * o.ld + rows + (batch - 1) * o.stride;
  return static_cast<uint64_t>(elements) * size_of(o.type);
}

// product is what the driver is asked for.
emulator::Product product(const Gemm &g, bool workspace) {
  uint64_t a = extent(g.a, g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k, g.batch);
  uint64_t b = extent(g.b, g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n, g.batch), c = extent(g.c, g.m, g.n, g.batch);
  return {g.stream,
          {g.a.address, g.b.address, g.c.address, g.aux.address, g.workspace},
          {a, b, c, g.aux.address == 0 ? 0 : extent(g.aux, g.m, g.n, 1), g.workspace_bytes},
          g.algorithm,
          workspace,
          [g] { g.compute == kCompute64F ? run<double>(g) : run<float>(g); }};
}

// overwrites_operand is whether the result lies where A or B do: a GPU's blocks would read what others have written.
bool overwrites_operand(const Gemm &g) {
  uint64_t c = g.c.address, bytes = extent(g.c, g.m, g.n, g.batch);
  auto overlaps = [=](const Operand &o, int rows, int columns) { return o.address < c + bytes && c < o.address + extent(o, rows, columns, 1); };
  return overlaps(g.a, g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k) || overlaps(g.b, g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n);
}

constexpr int kDriverNotSupported = 801;

Status gemm(const Handle *h, Gemm g) {
  if (h == nullptr) return kNotInitialized;
  if (h->math_mode == kTF32Math && g.compute == kCompute32F && g.a.type == k32F) g.compute = kFastTF32;
  if (!supported(g)) return kNotSupported;
  if (!valid(g) || overwrites_operand(g)) return kInvalidValue;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return kSuccess;
  emulator::Product p = product(g, h->workspace || g.algorithm != 0);
  switch (emulatorProduct(&p)) {
    case kSuccess: return kSuccess;
    case kDriverNotSupported: return kNotSupported;
    default: return kExecutionFailed;
  }
}

// ---- cuBLASLt's descriptions ----

struct Description {
  int compute, trans_a = 0, trans_b = 0, epilogue = kNone;
  uint64_t aux = 0;
  int64_t aux_ld = 0;
};

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t ld;
};

struct Preference {
  uint64_t workspace = 0;   // bytes
  uint32_t reductions = 7;  // a mask, of which 2 keeps the sums of parts in the computing type
};

// An Algorithm is cuBLASLt's, for one product.
struct Algorithm {
  uint64_t number, product, unused[6];
};

// A Proposal is a cublasLtMatmulHeuristicResult_t.
struct Proposal {
  Algorithm algorithm;
  uint64_t workspace;
  int state;
  float waves;
  int reserved[4];
};

constexpr int kAlgorithms = 8;
constexpr int kReducing = 5;  // algorithms from this number on split K, and have a workspace
constexpr int kRounding = 8;  // this one rounds the sums of the parts to the result's type, the others keep them in the computing type

uint64_t address_of(const void *p) { return reinterpret_cast<uint64_t>(p); }

Handle *handle_of(void *h) { return static_cast<Handle *>(h); }

// factor reads alpha or beta, which has the type in which is computed.
double factor(const void *p, int compute) { return compute == kCompute64F ? *static_cast<const double *>(p) : *static_cast<const float *>(p); }

}  // namespace

EXPORT int cublasCreate_v2(void **handle) {
  void *context = nullptr;
  if (cuCtxGetCurrent(&context) != 0 || context == nullptr) return kNotInitialized;
  *handle = new Handle;
  emulatorHandle(1);
  return kSuccess;
}

EXPORT int cublasDestroy_v2(void *handle) {
  delete handle_of(handle);
  emulatorHandle(-1);
  return kSuccess;
}

EXPORT int cublasGetVersion_v2(void *, int *version) {
  *version = 120103;
  return kSuccess;
}

EXPORT int cublasSetStream_v2(void *handle, void *stream) {
  if (handle == nullptr) return kNotInitialized;
  handle_of(handle)->stream = stream;
  handle_of(handle)->workspace = false;
  return kSuccess;
}

EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
  if (handle == nullptr) return kNotInitialized;
  if (address_of(workspace) % 256 != 0) return kInvalidValue;
  handle_of(handle)->workspace = bytes > 0;
  return kSuccess;
}

EXPORT int cublasSetMathMode(void *handle, int mode) {
  if (handle == nullptr) return kNotInitialized;
  handle_of(handle)->math_mode = mode & 15;
  return kSuccess;
}

EXPORT int cublasGemmStridedBatchedEx(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a,
                                      int type_a, int lda, long long stride_a, const void *b, int type_b, int ldb,
                                      long long stride_b, const void *beta, void *c, int type_c, int ldc, long long stride_c,
                                      int batch, int compute, int) {
  if (handle == nullptr) return kNotInitialized;
  Gemm g = {trans_a != 0, trans_b != 0, m, n, k, factor(alpha, compute), factor(beta, compute), {address_of(a), type_a, lda, stride_a},
            {address_of(b), type_b, ldb, stride_b}, {address_of(c), type_c, ldc, stride_c}, batch, compute};
  g.stream = handle_of(handle)->stream;
  return gemm(handle_of(handle), g);
}

EXPORT int cublasGemmEx(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                        int lda, const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute,
                        int algorithm) {
  return cublasGemmStridedBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c,
                                    ldc, 0, 1, compute, algorithm);
}

EXPORT int cublasSgemm_v2(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                          const float *b, int ldb, const float *beta, float *c, int ldc) {
  return cublasGemmEx(handle, trans_a, trans_b, m, n, k, alpha, a, k32F, lda, b, k32F, ldb, beta, c, k32F, ldc, kCompute32F, -1);
}

EXPORT int cublasDgemm_v2(void *handle, int trans_a, int trans_b, int m, int n, int k, const double *alpha, const double *a, int lda,
                          const double *b, int ldb, const double *beta, double *c, int ldc) {
  return cublasGemmEx(handle, trans_a, trans_b, m, n, k, alpha, a, k64F, lda, b, k64F, ldb, beta, c, k64F, ldc, kCompute64F, -1);
}

EXPORT int cublasLtMatmulDescCreate(void **description, int compute, int scale) {
  if (scale != k32F) return kNotSupported;
  *description = new Description{compute};
  return kSuccess;
}

EXPORT int cublasLtMatmulDescDestroy(void *description) {
  delete static_cast<Description *>(description);
  return kSuccess;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *description, int attribute, const void *value, size_t bytes) {
  Description *d = static_cast<Description *>(description);
  auto take = [&](void *to, size_t size) {
    if (bytes != size) return kInvalidValue;
    memcpy(to, value, size);
    return kSuccess;
  };
  switch (attribute) {
    case 3: return take(&d->trans_a, 4);
    case 4: return take(&d->trans_b, 4);
    case 7: return take(&d->epilogue, 4);
    case 11: return take(&d->aux, 8);
    case 12: return take(&d->aux_ld, 8);
    default: return kInvalidValue;
  }
}

EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  *layout = new Layout{type, rows, columns, ld};
  return kSuccess;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *layout) {
  delete static_cast<Layout *>(layout);
  return kSuccess;
}

EXPORT int cublasLtMatmulPreferenceCreate(void **preference) {
  *preference = new Preference;
  return kSuccess;
}

EXPORT int cublasLtMatmulPreferenceDestroy(void *preference) {
  delete static_cast<Preference *>(preference);
  return kSuccess;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes) {
  Preference *p = static_cast<Preference *>(preference);
  if (bytes != (attribute == 1 ? 8 : 4)) return kInvalidValue;
  switch (attribute) {
    case 1: memcpy(&p->workspace, value, 8); return kSuccess;
    case 3: memcpy(&p->reductions, value, 4); return kSuccess;
    case 5: case 6: case 7: case 8: return kSuccess;
    default: return kInvalidValue;
  }
}

namespace {

// matmul is what a call of cuBLASLt comes to.
Gemm matmul(const Description *d, const Layout *a, const Layout *b, const Layout *c) {
  auto operand = [](const Layout *l) { return Operand{0, l->type, static_cast<int>(l->ld), 0}; };
  Gemm g = {d->trans_a != 0, d->trans_b != 0, static_cast<int>(c->rows), static_cast<int>(c->columns),
            static_cast<int>(d->trans_a != 0 ? a->rows : a->columns), 0, 0, operand(a), operand(b), operand(c), 1, d->compute};
  g.epilogue = d->epilogue;
  g.aux = {d->aux, c->type, static_cast<int>(d->aux_ld), 0};
  return g;
}

// algorithm_of is the algorithm with a number, from 1, of a product: it holds for products of the same shape only.
Algorithm algorithm_of(const Gemm &g, int number) {
  uint64_t product = 14695981039346656037u;
  for (int x : {int(g.trans_a), int(g.trans_b), g.m, g.n, g.k, g.a.type, g.a.ld, g.b.ld, g.c.type, g.c.ld, g.epilogue}) {
    product = (product ^ static_cast<uint32_t>(x)) * 1099511628211u;
  }
  return {static_cast<uint64_t>(number), product};
}

uint64_t workspace_of(int algorithm) { return algorithm < kReducing ? 0 : 1 << 20; }

// number_of is an algorithm's number, 0 if the product has no such algorithm.
int number_of(const Gemm &g, const Algorithm *a) {
  for (int i = 1; i <= kAlgorithms; i++) {
    Algorithm known = algorithm_of(g, i);
    if (memcmp(a, &known, sizeof known) == 0) return i;
  }
  return 0;
}

// has_algorithms is whether cuBLASLt runs the product. As on a GPU, epilogues are of products of bfloat16 whose rows are of whole 16
// bytes.
bool has_algorithms(const Gemm &g) {
  return supported(g) && (g.epilogue == kNone || (g.a.type == k16BF && g.aux.ld % 8 == 0 && g.aux.address % 16 == 0));
}

}  // namespace

EXPORT size_t cublasLtGetVersion() { return 120103; }

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *a, void *b, void *, void *d, void *preference, int wanted,
                                          void *results, int *returned) {
  if (handle == nullptr) return kNotInitialized;
  emulatorChoice();
  Gemm g = matmul(static_cast<Description *>(description), static_cast<Layout *>(a), static_cast<Layout *>(b), static_cast<Layout *>(d));
  const Preference *p = static_cast<Preference *>(preference);
  *returned = 0;
  if (!has_algorithms(g) || wanted < 1) return kNotSupported;
  for (int i = 1; i <= kAlgorithms && *returned < wanted; i++) {
    uint32_t reduction = i < kReducing ? 0 : i == kRounding ? 4 : 2;
    if ((p->reductions & reduction) != reduction || p->workspace < workspace_of(i)) continue;
    static_cast<Proposal *>(results)[(*returned)++] = {algorithm_of(g, i), workspace_of(i)};
  }
  return kSuccess;
}

EXPORT int cublasLtMatmulAlgoCheck(void *handle, void *description, void *a, void *b, void *, void *d, const void *algorithm, void *result) {
  if (handle == nullptr) return kNotInitialized;
  Gemm g = matmul(static_cast<Description *>(description), static_cast<Layout *>(a), static_cast<Layout *>(b), static_cast<Layout *>(d));
  int number = number_of(g, static_cast<const Algorithm *>(algorithm));
  if (number == 0) return kInvalidValue;
  static_cast<Proposal *>(result)->workspace = workspace_of(number);
  return has_algorithms(g) ? kSuccess : kNotSupported;
}

EXPORT int cublasLtMatmul(void *handle, void *description, const void *alpha, const void *a, void *layout_a, const void *b, void *layout_b,
                          const void *beta, const void *c, void *, void *d, void *layout_d, const void *algorithm, void *workspace, size_t bytes,
                          void *stream) {
  Gemm g = matmul(static_cast<Description *>(description), static_cast<Layout *>(layout_a), static_cast<Layout *>(layout_b),
                  static_cast<Layout *>(layout_d));
  g.alpha = *static_cast<const float *>(alpha), g.beta = *static_cast<const float *>(beta);
  g.a.address = address_of(a), g.b.address = address_of(b), g.c.address = address_of(d);
  g.algorithm = number_of(g, static_cast<const Algorithm *>(algorithm));
  g.workspace = address_of(workspace), g.workspace_bytes = bytes;
  g.stream = stream;
  bool apart = c != d && g.beta != 0;
  if (apart && g.epilogue == kNone) g.aux = {address_of(c), g.c.type, g.c.ld, 0};
  if ((apart && g.epilogue != kNone) || g.algorithm == 0 || bytes < workspace_of(g.algorithm) || g.workspace % 256 != 0) return kInvalidValue;
  return gemm(handle_of(handle), g);
}
