// A stand-in for libcuda and libcublas, for tests of the binding: device memory is host
// memory, the one kernel, "store", writes down how it was launched, and a matrix product how
// it was asked for. Compiled with -D for what a test wants to be otherwise.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 12040
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef MAJOR
#define MAJOR 8
#endif

static _Thread_local void *current;
static int holds, failure;
static int context;

// fail_next makes the next call that can fail return a CUresult.
void fail_next(int result) { failure = result; }
int count_holds(void) { return holds; }
static int result(void) { int r = failure; failure = 0; return r; }
static int need(void) { return current && holds ? result() : 201; }

int cuInit(unsigned flags) { return flags == 0 && DEVICES ? 0 : 100; }
int cuDriverGetVersion(int *v) { *v = VERSION; return 0; }
int cuGetErrorName(int r, const char **s) {
  switch (r) {
  case 1: *s = "CUDA_ERROR_INVALID_VALUE"; return 0;
  case 2: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
  case 201: *s = "CUDA_ERROR_INVALID_CONTEXT"; return 0;
  case 218: *s = "CUDA_ERROR_INVALID_PTX"; return 0;
  case 500: *s = "CUDA_ERROR_NOT_FOUND"; return 0;
  case 901: *s = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"; return 0;
  case 700: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
  }
  *s = NULL;
  return 1;
}

int cuDeviceGetCount(int *n) { *n = DEVICES; return 0; }
int cuDeviceGet(int *d, int n) { *d = n; return n < DEVICES ? 0 : 101; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "Stand-in", n); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? MAJOR : a == 76 ? 6 : 1000 + a; return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { strncpy(s, "0000:01:00.0", n); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 1 << 30; return 0; }

int cuDevicePrimaryCtxRetain(void **c, int d) {
  int r = result();
  if (r) return r;
  holds++;
  *c = &context;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int d) { return holds-- > 0 ? 0 : 201; }
int cuCtxSetCurrent(void *c) { current = c; return 0; }
int cuCtxGetCurrent(void **c) { *c = current; return 0; }
int cuCtxSynchronize(void) { return need(); }

int cuMemGetInfo_v2(size_t *f, size_t *t) { *f = 1 << 20; *t = 1 << 30; return need(); }
int cuMemAlloc_v2(uint64_t *p, size_t n) {
  int r = need();
  if (r) return r;
  if (n > 1 << 20) return 2;
  *p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256);
  return 0;
}
int cuMemAllocManaged(uint64_t *p, size_t n, unsigned f) { return f == 1 ? cuMemAlloc_v2(p, n) : 1; }
int cuMemFree_v2(uint64_t p) { int r = need(); if (!r) free((void *)p); return r; }

static int copy(void *d, const void *s, size_t n) { int r = need(); if (!r) memcpy(d, s, n); return r; }
int cuMemcpyHtoD_v2(uint64_t d, const void *s, size_t n) { return copy((void *)d, s, n); }
int cuMemcpyDtoH_v2(void *d, uint64_t s, size_t n) { return copy(d, (void *)s, n); }
int cuMemcpyHtoDAsync_v2(uint64_t d, const void *s, size_t n, void *t) { return copy((void *)d, s, n); }
int cuMemcpyDtoHAsync_v2(void *d, uint64_t s, size_t n, void *t) { return copy(d, (void *)s, n); }
int cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, void *t) { return copy((void *)d, (void *)s, n); }
int cuMemsetD8Async(uint64_t d, unsigned char v, size_t n, void *t) { int r = need(); if (!r) memset((void *)d, v, n); return r; }
int cuMemsetD32Async(uint64_t d, unsigned v, size_t n, void *t) {
  int r = need();
  for (size_t i = 0; !r && i < n; i++) ((unsigned *)d)[i] = v;
  return r;
}

int cuStreamCreate(void **s, unsigned f) { *s = malloc(8); return need(); }
int cuStreamDestroy_v2(void *s) { free(s); return need(); }
int cuStreamQuery(void *s) { return need(); }
int cuStreamSynchronize(void *s) { return need(); }
int cuStreamBeginCapture_v2(void *s, int mode) { return s && mode == 2 ? need() : 900; }
int cuStreamEndCapture(void *s, void **g) { int r = need(); *g = r ? NULL : malloc(8); return r; }
int cuGraphInstantiateWithFlags(void **e, void *g, unsigned long long flags) { *e = malloc(8); return g && !flags ? need() : 1; }
int cuGraphDestroy(void *g) { free(g); return need(); }
int cuGraphLaunch(void *e, void *s) { return e && s ? need() : 1; }
int cuGraphExecDestroy(void *e) { free(e); return need(); }
int cuEventCreate(void **e, unsigned f) { *e = malloc(8); return need(); }
int cuEventDestroy_v2(void *e) { free(e); return need(); }
int cuEventRecord(void *e, void *s) { return need(); }
int cuEventSynchronize(void *e) { return need(); }
int cuEventElapsedTime(float *ms, void *a, void *b) { *ms = 1.5f; return a == b ? 1 : need(); }

int cuModuleLoadDataEx(void **m, const char *image, unsigned n, int *options, void **values) {
  if (strcmp(image, "store") == 0) { *m = &context; return need(); }
  for (unsigned i = 0; i < n; i++)
    if (options[i] == 5) strcpy(values[i], "ptxas: line 1: Parsing error\n");
  return 218;
}
int cuModuleUnload(void *m) { return need(); }
int cuModuleGetFunction(void **f, void *m, const char *name) {
  *f = &context;
  return strcmp(name, "store") ? 500 : need();
}
static int dynamic_shared;
int cuFuncSetAttribute(void *f, int a, int v) { dynamic_shared = v; return a == 8 ? need() : 1; }
int cuFuncGetAttribute(int *v, int a, void *f) { *v = a == 8 ? dynamic_shared : 100 + a; return need(); }

// The kernel store(uint64_t *to, int a, float b, int64_t c, double d).
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
  int r = need();
  if (r) return r;
  if (bx > 1024 || extra) return 1;
  uint64_t *to = *(uint64_t **)params[0];
  if (!to) return 0;
  uint64_t seen[] = {gx, gy, gz, bx, by, bz, shared, stream != NULL, (uint64_t) * (int *)params[1], 0, *(uint64_t *)params[3], *(uint64_t *)params[4]};
  memcpy(&seen[9], params[2], 4);
  memcpy(to, seen, sizeof seen);
  return 0;
}

// The products write down their arguments.
static int64_t product[20];
static double factors[2];
static int status;
void fail_product(int s) { status = s; }
void last_product(int64_t *to, double *by) { memcpy(to, product, sizeof product); memcpy(by, factors, sizeof factors); }
int cublasCreate_v2(void **h) { *h = &context; return need() ? 1 : 0; }
int cublasDestroy_v2(void *h) { return need() ? 1 : 0; }
int cublasGetVersion_v2(void *h, int *v) { *v = 120401; return 0; }
int cublasSetStream_v2(void *h, void *s) { return 0; }
int cublasSetWorkspace_v2(void *h, void *p, size_t n) { return (uint64_t)p % 256 || !n ? 7 : 0; }
int cublasSetMathMode(void *h, int m) { return m == 0 || m == 16 ? 0 : 7; }

static int multiply(int64_t seen[20], const void *alpha, const void *beta) {
  memcpy(product, seen, sizeof product);
  int wide = seen[18] == 70;
  factors[0] = wide ? *(double *)alpha : *(float *)alpha;
  factors[1] = wide ? *(double *)beta : *(float *)beta;
  int s = status;
  status = 0;
  return s;
}
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, void *a, int at, int lda, void *b, int bt,
                 int ldb, const void *beta, void *c, int ct, int ldc, int compute, int algorithm) {
  int64_t seen[20] = {ta, tb, m, n, k, (int64_t)a, at, lda, 0, (int64_t)b, bt, ldb, 0, (int64_t)c, ct, ldc, 0, 0, compute, algorithm};
  return multiply(seen, alpha, beta);
}
int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, void *a, int at, int lda,
                               long long sa, void *b, int bt, int ldb, long long sb, const void *beta, void *c, int ct, int ldc,
                               long long sc, int batch, int compute, int algorithm) {
  int64_t seen[20] = {ta, tb, m, n, k, (int64_t)a, at, lda, sa, (int64_t)b, bt, ldb, sb, (int64_t)c, ct, ldc, sc, batch, compute, algorithm};
  return multiply(seen, alpha, beta);
}
