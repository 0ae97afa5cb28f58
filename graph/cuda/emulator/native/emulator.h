// The emulator's side of CUDA C++: what a kernel file sees instead of nvcc's builtins when a C++ compiler compiles it.
// A block's threads are fibers of one thread of the processor (fibers.cpp); each runs until it waits at a barrier.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// ---- qualifiers ----

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__ static const
// Static shared memory lies in a section of its own for each file, which is filled with NaN before each block.
// EMULATOR_UNIT, the file's name, is defined before this header is read; the linker makes __start_ and __stop_ symbols.
#ifdef EMULATOR_UNIT
#define EMULATOR_JOIN_(a, b) a##b
#define EMULATOR_JOIN(a, b) EMULATOR_JOIN_(a, b)
#define EMULATOR_TEXT_(a) #a
#define EMULATOR_TEXT(a) EMULATOR_TEXT_(a)
#define EMULATOR_SECTION EMULATOR_JOIN(shared_, EMULATOR_UNIT)
#define __shared__ static __attribute__((section(EMULATOR_TEXT(EMULATOR_SECTION))))
#define EMULATOR_SHARED_BEGIN EMULATOR_JOIN(__start_, EMULATOR_SECTION)
#define EMULATOR_SHARED_END EMULATOR_JOIN(__stop_, EMULATOR_SECTION)
extern "C" char EMULATOR_SHARED_BEGIN[] __attribute__((weak, visibility("hidden")));
extern "C" char EMULATOR_SHARED_END[] __attribute__((weak, visibility("hidden")));
#endif

#include "vectortypes.h"

// ---- where a thread is; set before it runs and whenever it resumes ----

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

// ---- what the emulator does for a kernel ----

namespace emulator {

// sync_threads waits for all threads of the block. Every thread must come to the same line of source.
// It returns how many threads came with a true predicate.
int sync_threads(const char *file, int line, bool predicate);

// An Exchange is one lane's part in an operation of its warp. The lane that comes last executes it for all lanes named in
// mask, so that each finds its result in its own Exchange.
struct Exchange {
  const char *name;
  uint32_t mask;
  void (*execute)(Exchange *const lanes[32], uint32_t mask);
};
void exchange(Exchange *own);

int lane();  // of the running thread in its warp
void need_whole_warp(const char *name);
void need_aligned(const char *name, const void *p, int bytes);
uint64_t shuffle(uint32_t mask, uint64_t bits, int from);
uint32_t ballot(uint32_t mask, bool predicate);
uint32_t match(uint32_t mask, uint64_t bits);
void sync_warp(uint32_t mask);
float warp_sum(float x);
float warp_max(float x);

void *dynamic_shared();
void copy_async16(void *shared, const void *global);
void copy_async_commit();
void copy_async_wait(int newest);

void mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2]);
void mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2]);
void ldmatrix4(uint32_t r[4], const void *row, bool transposed);

template <typename To, typename From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// to_bf16 rounds to the nearest, ties to even; any NaN becomes the one NaN that cvt.rn.bf16.f32 gives.
inline unsigned short to_bf16(float x) {
  if (x != x) return 0x7fff;
  uint32_t bits = bits_as<uint32_t>(x);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// to_tf32 rounds to 10 bits of mantissa, ties away from zero, as cvt.rna.tf32.f32 does.
inline uint32_t to_tf32(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x != x ? 0x7fffffffu : bits;
  return (bits + 0x1000u) & ~0x1fffu;
}

template <typename T>
inline T shuffle_value(uint32_t mask, T x, int from) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof x);
  bits = shuffle(mask, bits, from);
  memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- the registry of kernels ----

// A Kernel is one kernel compiled for the emulator. Its parameters come as the driver's cuLaunchKernel gets them: the address
// of each. `pointers` writes the values of those that are pointers and returns their number; `sizes` are those of all of them in bytes.
constexpr int kMaxParameters = 64;
struct Kernel {
  const char *name;
  void (*invoke)(void **parameters);
  int (*pointers)(void **parameters, const void *values[kMaxParameters]);
  int count;
  const size_t *sizes;
  char *shared_begin, *shared_end;  // the static shared memory of the kernel's file
  Kernel *next;
};
void add_kernel(Kernel *k);

template <typename F, F function>
struct Invoker;

template <typename... P, void (*function)(P...)>
struct Invoker<void (*)(P...), function> {
  static constexpr int count = sizeof...(P);
  static_assert(count <= kMaxParameters, "too many parameters");
  static constexpr size_t sizes[count + 1] = {sizeof(P)...};

  template <int... I>
  struct Indices {};
  template <int N, int... I>
  struct Count : Count<N - 1, N - 1, I...> {};
  template <int... I>
  struct Count<0, I...> {
    typedef Indices<I...> type;
  };

  template <int... I>
  static void call(void **parameters, Indices<I...>) {
    function(*static_cast<P *>(parameters[I])...);
  }
  static void invoke(void **parameters) { call(parameters, typename Count<count>::type()); }

  template <typename T>
  static void note(T *value, const void *values[], int &n) {
    values[n++] = const_cast<const void *>(static_cast<const volatile void *>(value));
  }
  template <typename T>
  static void note(T, const void *[], int &) {}
  template <int... I>
  static int list(void **parameters, const void *values[], Indices<I...>) {
    int n = 0;
    (note(*static_cast<P *>(parameters[I]), values, n), ...);
    return n;
  }
  static int pointers(void **parameters, const void *values[]) {
    return list(parameters, values, typename Count<count>::type());
  }
};

// A Registration adds a kernel before main, or when the library is loaded.
template <typename F, F function>
struct Registration {
  Kernel kernel;
  Registration(const char *name, char *shared_begin, char *shared_end)
      : kernel{name, Invoker<F, function>::invoke, Invoker<F, function>::pointers, Invoker<F, function>::count, Invoker<F, function>::sizes,
               shared_begin, shared_end, nullptr} {
    add_kernel(&kernel);
  }
};

}  // namespace emulator

#define EMULATOR_REGISTER(name) \
  emulator::Registration<decltype(&name), &name> registration_of_##name(#name, EMULATOR_SHARED_BEGIN, EMULATOR_SHARED_END)

// ---- barriers and exchanges under their CUDA names ----

#define __syncthreads() static_cast<void>(emulator::sync_threads(__FILE__, __LINE__, false))
#define __syncthreads_count(p) emulator::sync_threads(__FILE__, __LINE__, (p) != 0)
#define __syncthreads_or(p) (emulator::sync_threads(__FILE__, __LINE__, (p) != 0) != 0)
#define __syncthreads_and(p) (emulator::sync_threads(__FILE__, __LINE__, (p) == 0) == 0)

inline void __syncwarp(uint32_t mask = 0xffffffffu) { emulator::sync_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <typename T>
inline T __shfl_sync(uint32_t mask, T x, int source, int width = 32) {
  return emulator::shuffle_value(mask, x, (emulator::lane() & ~(width - 1)) + (source & (width - 1)));
}
template <typename T>
inline T __shfl_xor_sync(uint32_t mask, T x, int lanes, int width = 32) {
  int own = emulator::lane(), from = own ^ lanes;
  return emulator::shuffle_value(mask, x, from < (own | (width - 1)) + 1 ? from : own);
}
template <typename T>
inline T __shfl_down_sync(uint32_t mask, T x, unsigned delta, int width = 32) {
  int own = emulator::lane(), in_group = own & (width - 1);
  return emulator::shuffle_value(mask, x, in_group + static_cast<int>(delta) < width ? own + static_cast<int>(delta) : own);
}
template <typename T>
inline T __shfl_up_sync(uint32_t mask, T x, unsigned delta, int width = 32) {
  int own = emulator::lane(), in_group = own & (width - 1);
  return emulator::shuffle_value(mask, x, in_group >= static_cast<int>(delta) ? own - static_cast<int>(delta) : own);
}
inline uint32_t __ballot_sync(uint32_t mask, int predicate) { return emulator::ballot(mask, predicate != 0); }
inline int __any_sync(uint32_t mask, int predicate) { return emulator::ballot(mask, predicate != 0) != 0; }
inline int __all_sync(uint32_t mask, int predicate) { return emulator::ballot(mask, predicate == 0) == 0; }
template <typename T>
inline uint32_t __match_any_sync(uint32_t mask, T x) {
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof x);
  return emulator::match(mask, bits);
}

// ---- atomics: integers only, since sums of floats in no order are not the same twice. Fibers never interrupt each other. ----

namespace emulator {
template <typename T, typename F>
inline T update(T *p, F next) {
  T old = *p;
  *p = next(old);
  return old;
}
}  // namespace emulator

#define EMULATOR_ATOMICS(T)                                                                                        \
  inline T atomicAdd(T *p, T x) { return emulator::update(p, [x](T y) { return static_cast<T>(y + x); }); }        \
  inline T atomicSub(T *p, T x) { return emulator::update(p, [x](T y) { return static_cast<T>(y - x); }); }        \
  inline T atomicMax(T *p, T x) { return emulator::update(p, [x](T y) { return x > y ? x : y; }); }                \
  inline T atomicMin(T *p, T x) { return emulator::update(p, [x](T y) { return x < y ? x : y; }); }                \
  inline T atomicExch(T *p, T x) { return emulator::update(p, [x](T) { return x; }); }                             \
  inline T atomicOr(T *p, T x) { return emulator::update(p, [x](T y) { return static_cast<T>(y | x); }); }         \
  inline T atomicAnd(T *p, T x) { return emulator::update(p, [x](T y) { return static_cast<T>(y & x); }); }        \
  inline T atomicXor(T *p, T x) { return emulator::update(p, [x](T y) { return static_cast<T>(y ^ x); }); }        \
  inline T atomicCAS(T *p, T old, T x) { return emulator::update(p, [old, x](T y) { return y == old ? x : y; }); }
EMULATOR_ATOMICS(int)
EMULATOR_ATOMICS(unsigned)
EMULATOR_ATOMICS(unsigned long long)
#undef EMULATOR_ATOMICS

#include "arithmetic.h"

// ---- loads and stores with a hint to the caches ----

template <typename T>
inline T __ldg(const T *p) { return *p; }
template <typename T>
inline T __ldcg(const T *p) { return *p; }
template <typename T>
inline T __ldcs(const T *p) { return *p; }
template <typename T>
inline void __stcg(T *p, T x) { *p = x; }
template <typename T>
inline void __stcs(T *p, T x) { *p = x; }
