// Kernels that exercise the emulator itself, not a model.
#include "prelude.cuh"

// block_sums[blockIdx] = the sum of the block's n numbers, through warp_sum, shared memory and a barrier.
KERNEL(256) probe_block_sums(float *sums, float *tops, const float *x, int n) {
  i64 first = static_cast<i64>(blockIdx.x) * n;
  float sum = 0.0f, top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += load(x + first + i);
    top = fmaxf(top, load(x + first + i));
  }
  sum = block_sum<256>(sum);
  top = block_max<256>(top);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum, tops[blockIdx.x] = top;
}

// Reverses each block's numbers through dynamic shared memory.
KERNEL(1024) probe_reverse(int *y, const int *x) {
  DYNAMIC_SHARED(int, tile);
  int n = blockDim.x, i = threadIdx.x;
  tile[i] = x[blockIdx.x * n + i];
  __syncthreads();
  y[blockIdx.x * n + i] = tile[n - 1 - i];
}

// The same through static shared memory, next to dynamic shared memory that nobody uses.
KERNEL(64) probe_reverse_static(int *y, const int *x) {
  __shared__ int tile[64];
  int n = blockDim.x, i = threadIdx.x;
  tile[i] = x[blockIdx.x * n + i];
  __syncthreads();
  y[blockIdx.x * n + i] = tile[n - 1 - i];
}

// The same without the barrier: whatever runs first reads what was not yet written.
KERNEL(1024) probe_reverse_unsynchronised(int *y, const int *x) {
  DYNAMIC_SHARED(int, tile);
  int n = blockDim.x, i = threadIdx.x;
  tile[i] = x[blockIdx.x * n + i];
  y[blockIdx.x * n + i] = tile[n - 1 - i];
}

// Neighbours' exchange whose second barrier is missing: right when every thread has read before its neighbour writes again.
KERNEL(256) probe_rotate_twice(int *y, const int *x) {
  __shared__ int tile[256];
  int n = blockDim.x, i = threadIdx.x;
  tile[i] = x[i];
  __syncthreads();
  int next = tile[(i + 1) % n];
  tile[i] = next;
  __syncthreads();
  y[i] = tile[(i + 1) % n];
}

// Threads of the second half never come to the barrier.
KERNEL(256) probe_divergent_exit(float *y) {
  if (threadIdx.x >= blockDim.x / 2) return;
  __syncthreads();
  y[threadIdx.x] = 1.0f;
}

// The two halves wait at different barriers.
KERNEL(256) probe_divergent_sites(float *y) {
  if (threadIdx.x >= blockDim.x / 2) {
    __syncthreads();
  } else {
    __syncthreads();
    y[threadIdx.x] = 1.0f;
  }
}

// Lane 3 does not take part in an exchange that names it.
KERNEL(32) probe_divergent_warp(float *y) {
  float x = threadIdx.x;
  if (threadIdx.x != 3) x = __shfl_xor_sync(0xffffffffu, x, 1);
  y[threadIdx.x] = x;
}

// Writes `beyond` elements past the n it was given.
KERNEL(256) probe_overrun(float *y, int n, int beyond) {
  int i = threadIdx.x;
  if (i < n) y[i] = 1.0f;
  if (i == 0) y[n + beyond] = 1.0f;
}

// Writes past the dynamic shared memory it was launched with.
KERNEL(256) probe_shared_overrun(float *y, int n) {
  DYNAMIC_SHARED(float, tile);
  tile[n + threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = tile[n + threadIdx.x];
}

// Writes to the address it was given, whatever it is.
KERNEL(32) probe_store(float *y) { y[threadIdx.x] = 1.0f; }

// Each call's frame takes a kilobyte of the thread's stack.
DEVICE int descend(int depth) {
  volatile char frame[1024];
  frame[depth % 1024] = static_cast<char>(depth);
  return depth == 0 ? 0 : descend(depth - 1) + frame[depth % 1024];
}
KERNEL(32) probe_descend(int *y, int depth) { y[threadIdx.x] = descend(depth); }

// Writes beyond a static shared array, where the compiler knows its size.
KERNEL(32) probe_static_overrun(int *y, int at) {
  __shared__ int tile[64];
  tile[at] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}

// What shared memory holds before anybody writes to it, as bits.
KERNEL(64) probe_uninitialised(u32 *y) {
  __shared__ u32 tile[64];
  DYNAMIC_SHARED(u32, dynamic);
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
  y[blockIdx.x * 128 + 64 + threadIdx.x] = dynamic[threadIdx.x];
  __syncthreads();
  tile[threadIdx.x] = dynamic[threadIdx.x] = 0;
}

// Votes of a block.
KERNEL(256) probe_votes(int *y, const int *x) {
  int v = x[threadIdx.x];
  int count = __syncthreads_count(v > 100), any = __syncthreads_or(v > 100), all = __syncthreads_and(v > 100);
  if (threadIdx.x == 0) y[0] = count, y[1] = any, y[2] = all;
}

// All the exchanges of a warp, eight results a lane.
KERNEL(32) probe_exchanges(int *y, const int *x) {
  int lane = threadIdx.x, v = x[lane];
  int *out = y + lane * 8;
  out[0] = __shfl_sync(0xffffffffu, v, (lane * 7) % 32);
  out[1] = __shfl_xor_sync(0xffffffffu, v, 5);
  out[2] = __shfl_down_sync(0xffffffffu, v, 3);
  out[3] = __shfl_up_sync(0xffffffffu, v, 3);
  out[4] = __ballot_sync(0xffffffffu, v % 3 == 0);
  out[5] = __any_sync(0xffffffffu, v == 17) * 2 + __all_sync(0xffffffffu, v >= 0);
  out[6] = __shfl_xor_sync(0xffffffffu, v, 4, 8);
  out[7] = lane < 8 ? __shfl_down_sync(0x000000ffu, v, 1, 8) : -1;
  __syncwarp();
}

// counts[x[i]]++, and order-free extremes.
KERNEL(256) probe_atomics(int *counts, u32 *total, int *top, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(counts + x[i], 1);
  atomicAdd(total, static_cast<u32>(x[i]));
  atomicMax(top, x[i]);
}

// c += a b, one tile of 16x8x16 with bf16 inputs. a [16, 16], b [16, 8], c [16, 8], all row-major.
KERNEL(32) probe_mma_bf16(float *c, const float *a, const float *b) {
  int group = threadIdx.x / 4, t = threadIdx.x % 4;
  u32 ra[4], rb[2];
  for (int i = 0; i < 4; i++) {
    const float *p = a + (group + 8 * (i % 2)) * 16 + 2 * t + 8 * (i / 2);
    ra[i] = pack_bf16(p[0], p[1]);
  }
  for (int i = 0; i < 2; i++) {
    const float *p = b + (2 * t + 8 * i) * 8 + group;
    rb[i] = pack_bf16(p[0], p[8]);
  }
  float *c0 = c + group * 8 + 2 * t, *c1 = c0 + 64;
  float rc[4] = {c0[0], c0[1], c1[0], c1[1]};
  mma_bf16(rc, ra, rb);
  c0[0] = rc[0], c0[1] = rc[1], c1[0] = rc[2], c1[1] = rc[3];
}

// The same through shared memory: asynchronous copies, then ldmatrix. a and b are bf16.
KERNEL(32) probe_ldmatrix(float *c, const bf16 *a, const bf16 *b) {
  __shared__ __align__(16) bf16 sa[256], sb[128];
  int lane = threadIdx.x, group = lane / 4, t = lane % 4;
  copy_async16(sa + lane * 8, a + lane * 8);
  if (lane < 16) copy_async16(sb + lane * 8, b + lane * 8);
  copy_async_commit();
  copy_async_wait<0>();
  __syncwarp();
  u32 ra[4], rb[4];
  ldmatrix4(ra, sa + (lane % 16) * 16 + (lane / 16) * 8);
  ldmatrix4_transposed(rb, sb + (lane % 16) * 8);
  float *c0 = c + group * 8 + 2 * t, *c1 = c0 + 64;
  float rc[4] = {c0[0], c0[1], c1[0], c1[1]};
  mma_bf16(rc, ra, rb);
  c0[0] = rc[0], c0[1] = rc[1], c1[0] = rc[2], c1[1] = rc[3];
}

// c += a b, one tile of 16x8x8 with tf32 inputs. a [16, 8], b [8, 8], c [16, 8].
KERNEL(32) probe_mma_tf32(float *c, const float *a, const float *b) {
  int group = threadIdx.x / 4, t = threadIdx.x % 4;
  u32 ra[4], rb[2];
  for (int i = 0; i < 4; i++) ra[i] = to_tf32(a[(group + 8 * (i % 2)) * 8 + t + 4 * (i / 2)]);
  for (int i = 0; i < 2; i++) rb[i] = to_tf32(b[(t + 4 * i) * 8 + group]);
  float *c0 = c + group * 8 + 2 * t, *c1 = c0 + 64;
  float rc[4] = {c0[0], c0[1], c1[0], c1[1]};
  mma_tf32(rc, ra, rb);
  c0[0] = rc[0], c0[1] = rc[1], c1[0] = rc[2], c1[1] = rc[3];
}

// y = x, 16 elements a thread, through every load and store, from type X to type Y.
template <typename Y, typename X>
DEVICE void copy_body(Y *y, const X *x) {
  float v[8];
  x += threadIdx.x * 16;
  y += threadIdx.x * 16;
  load8(x, v);
  store8(y, v);
  load4(x + 8, v);
  store4(y + 8, v);
  load2(x + 12, v);
  store2(y + 12, v);
  store(y + 14, load(x + 14));
  store(y + 15, load(x + 15));
}
KERNEL(32) probe_copy_f32(float *y, const float *x) { copy_body(y, x); }
KERNEL(32) probe_copy_bf16(bf16 *y, const bf16 *x) { copy_body(y, x); }
KERNEL(32) probe_round(bf16 *y, const float *x) { copy_body(y, x); }
KERNEL(32) probe_widen(float *y, const bf16 *x) { copy_body(y, x); }

// One number of each type of parameter, and every index of a thread.
KERNEL(64) probe_parameters(double *y, int a, i64 b, float c, double d, u32 e) {
  i64 block = (static_cast<i64>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  i64 thread = (static_cast<i64>(threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  i64 threads = static_cast<i64>(blockDim.x) * blockDim.y * blockDim.z;
  y[block * threads + thread] = a + static_cast<double>(b) + c + d + e + block * 1000 + thread;
}

// `rounds` barriers and nothing else.
KERNEL(1024) probe_barriers(int *y, int rounds) {
  for (int i = 0; i < rounds; i++) __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = rounds;
}
