// What every kernel file includes: short names of integers, bfloat16, conversions between storage and arithmetic types,
// reductions over a warp and a block, and the matrix multiply-accumulate instructions of tensor cores.
//
// A kernel file is compiled twice: by NVRTC for compute_80, without any header, and by a C++ compiler for the emulator,
// which has emulator/emulator.h in front and the whole file in an unnamed namespace. Nothing else may differ between the two,
// so what needs an instruction of its own lives here, in the two halves below.
#pragma once

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

// bf16 is a bfloat16 number: the upper half of a float's bits.
struct bf16 {
  unsigned short bits;
};

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
// KERNEL(256) name(parameters) { ... } is a kernel named as written, run with at most 256 threads a block.
#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
// DYNAMIC_SHARED(float, tile); declares `float *tile`, the block's dynamic shared memory, aligned to 128 bytes.
#define DYNAMIC_SHARED(type, name)                                                   \
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];            \
  type *name = reinterpret_cast<type *>(dynamic_shared_memory)

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

// to_bf16 rounds to the nearest bfloat16, ties to even.
DEVICE bf16 to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

// pack_bf16 rounds both numbers and puts lo into the lower 16 bits.
DEVICE u32 pack_bf16(float lo, float hi) {
  u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

// to_tf32 rounds to the nearest number with 10 bits of mantissa, ties away from zero: an operand of mma_tf32.
DEVICE u32 to_tf32(float x) {
  u32 y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}

// mma_bf16 adds the product of a 16x16 and a 16x8 matrix of bf16 to c, over the 32 lanes of a warp.
// With group = lane / 4 and t = lane % 4 a lane holds (two numbers a register, the lower column first)
//   a[0] = A[group, 2t..2t+1]    a[1] = A[group + 8, 2t..2t+1]    a[2] = A[group, 2t+8..2t+9]    a[3] = A[group + 8, 2t+8..2t+9]
//   b[0] = B[2t..2t+1, group]    b[1] = B[2t+8..2t+9, group]
//   c[0], c[1] = C[group, 2t..2t+1]    c[2], c[3] = C[group + 8, 2t..2t+1]
DEVICE void mma_bf16(float c[4], const u32 a[4], const u32 b[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// mma_tf32 adds the product of a 16x8 and an 8x8 matrix of tf32 to c. A lane holds (group and t as above)
//   a[0] = A[group, t]    a[1] = A[group + 8, t]    a[2] = A[group, t + 4]    a[3] = A[group + 8, t + 4]
//   b[0] = B[t, group]    b[1] = B[t + 4, group]    c as in mma_bf16
DEVICE void mma_tf32(float c[4], const u32 a[4], const u32 b[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

DEVICE u32 shared_address(const void *p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// ldmatrix4 loads four 8x8 matrices of 16-bit numbers from shared memory. Lane l gives the address of row l % 8 of matrix
// l / 8 (16 bytes, aligned); it gets, of matrix i, r[i] = M[l / 4, 2(l % 4)..+1]: the fragments of mma_bf16.
DEVICE void ldmatrix4(u32 r[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// ldmatrix4_transposed is ldmatrix4 of the transposed matrices: r[i] = (M[2(l % 4), l / 4], M[2(l % 4) + 1, l / 4]).
DEVICE void ldmatrix4_transposed(u32 r[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// copy_async16 begins to copy 16 bytes from global to shared memory (both aligned to 16 bytes).
// What is copied may be read after copy_async_commit, copy_async_wait and, by other threads, __syncthreads.
DEVICE void copy_async16(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}

// copy_async_commit makes one group of the copies begun since the last.
DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// copy_async_wait waits until at most the N latest groups of this thread are under way.
template <int N>
DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// warp_sum adds x over the warp's 32 lanes, all of which must call it; all get the sum. warp_max likewise. Like all
// reductions they go in one order, so that two runs give the same bits.
DEVICE float warp_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
DEVICE float warp_max(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

#else  // a C++ compiler, with emulator/emulator.h in front

#define DEVICE inline
#define KERNEL(...) extern "C" void
#define DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(emulator::dynamic_shared())

DEVICE bf16 to_bf16(float x) { return bf16{emulator::to_bf16(x)}; }
DEVICE u32 pack_bf16(float lo, float hi) {
  return static_cast<u32>(emulator::to_bf16(hi)) << 16 | emulator::to_bf16(lo);
}
DEVICE u32 to_tf32(float x) { return emulator::to_tf32(x); }
DEVICE void mma_bf16(float c[4], const u32 a[4], const u32 b[2]) { emulator::mma_bf16(c, a, b); }
DEVICE void mma_tf32(float c[4], const u32 a[4], const u32 b[2]) { emulator::mma_tf32(c, a, b); }
DEVICE float warp_sum(float x) { return emulator::warp_sum(x); }
DEVICE float warp_max(float x) { return emulator::warp_max(x); }
DEVICE void ldmatrix4(u32 r[4], const void *row) { emulator::ldmatrix4(r, row, false); }
DEVICE void ldmatrix4_transposed(u32 r[4], const void *row) { emulator::ldmatrix4(r, row, true); }
DEVICE void copy_async16(void *shared, const void *global) { emulator::copy_async16(shared, global); }
DEVICE void copy_async_commit() { emulator::copy_async_commit(); }
template <int N>
DEVICE void copy_async_wait() {
  emulator::copy_async_wait(N);
}

#endif

// ---- storage and arithmetic: kernels compute in float, whatever activations are stored as ----

DEVICE float to_float(bf16 x) { return __uint_as_float(static_cast<u32>(x.bits) << 16); }

DEVICE float load(const float *p) { return *p; }
DEVICE float load(const bf16 *p) { return to_float(*p); }
DEVICE void store(float *p, float x) { *p = x; }
DEVICE void store(bf16 *p, float x) { *p = to_bf16(x); }

// unpack_bf16 is the inverse of pack_bf16.
DEVICE void unpack_bf16(u32 pair, float &lo, float &hi) {
  lo = __uint_as_float(pair << 16);
  hi = __uint_as_float(pair & 0xffff0000u);
}

// load2, load4, load8, store2, ...: consecutive elements in as few accesses as possible. p must be a multiple of
// that many elements away from an aligned address (16 bytes are the most).
DEVICE void load2(const float *p, float x[2]) {
  float2 v = *reinterpret_cast<const float2 *>(p);
  x[0] = v.x, x[1] = v.y;
}
DEVICE void load2(const bf16 *p, float x[2]) { unpack_bf16(*reinterpret_cast<const u32 *>(p), x[0], x[1]); }
DEVICE void store2(float *p, const float x[2]) { *reinterpret_cast<float2 *>(p) = make_float2(x[0], x[1]); }
DEVICE void store2(bf16 *p, const float x[2]) { *reinterpret_cast<u32 *>(p) = pack_bf16(x[0], x[1]); }

DEVICE void load4(const float *p, float x[4]) {
  float4 v = *reinterpret_cast<const float4 *>(p);
  x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}
DEVICE void load4(const bf16 *p, float x[4]) {
  uint2 v = *reinterpret_cast<const uint2 *>(p);
  unpack_bf16(v.x, x[0], x[1]);
  unpack_bf16(v.y, x[2], x[3]);
}
DEVICE void store4(float *p, const float x[4]) {
  *reinterpret_cast<float4 *>(p) = make_float4(x[0], x[1], x[2], x[3]);
}
DEVICE void store4(bf16 *p, const float x[4]) {
  *reinterpret_cast<uint2 *>(p) = make_uint2(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]));
}

DEVICE void load8(const float *p, float x[8]) {
  load4(p, x);
  load4(p + 4, x + 4);
}
DEVICE void load8(const bf16 *p, float x[8]) {
  uint4 v = *reinterpret_cast<const uint4 *>(p);
  unpack_bf16(v.x, x[0], x[1]);
  unpack_bf16(v.y, x[2], x[3]);
  unpack_bf16(v.z, x[4], x[5]);
  unpack_bf16(v.w, x[6], x[7]);
}
DEVICE void store8(float *p, const float x[8]) {
  store4(p, x);
  store4(p + 4, x + 4);
}
DEVICE void store8(bf16 *p, const float x[8]) {
  *reinterpret_cast<uint4 *>(p) = make_uint4(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]),
                                             pack_bf16(x[6], x[7]));
}

// ---- reductions over a block: always in the same order ----

// block_sum adds x over a block of THREADS threads (one dimension, whole warps), all of which must call it; all get the sum.
// It ends with the block synchronised. block_max likewise.
template <int THREADS>
DEVICE float block_sum(float x) {
  static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block of whole warps");
  __shared__ float partial[THREADS / 32];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < THREADS / 32; w++) sum += partial[w];
  __syncthreads();
  return sum;
}
template <int THREADS>
DEVICE float block_max(float x) {
  static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block of whole warps");
  __shared__ float partial[THREADS / 32];
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  float top = partial[0];
#pragma unroll
  for (int w = 1; w < THREADS / 32; w++) top = fmaxf(top, partial[w]);
  __syncthreads();
  return top;
}
