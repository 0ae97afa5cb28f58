// A grid's run: its blocks one after the other.
#include "canary.h"
#include "fault.h"
#include "memory.h"
#include "scheduler.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

alignas(128) char dynamic_memory[kMaxDynamicShared + kSharedCanary];

namespace {

void index_threads() {
  s.count = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  for (int i = 0; i < s.count; i++) {
    unsigned n = static_cast<unsigned>(i);
    s.threads[i].index = {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
  }
  for (int w = 0; w * 32 < s.count; w++) {
    int left = s.count - w * 32;
    s.warps[w].existing = left >= 32 ? ~0u : (1u << left) - 1;
  }
}

void prepare_block() {
  const Kernel &k = *s.launch.kernel;
  if (k.shared_begin != nullptr) memset(k.shared_begin, kNaN, static_cast<size_t>(k.shared_end - k.shared_begin));
  memset(dynamic_memory, kNaN, s.launch.shared);
  for (int i = 0; i < s.count; i++) {
    s.threads[i].started = false;
    s.rest[i].copy_group = 0;
    s.rest[i].copies.clear();
  }
  for (int w = 0; w * 32 < s.count; w++) s.warps[w].arrived = 0;
  order_threads();
  make_all_ready();
  s.ended = s.waiting = s.predicates = 0;
}

// recover_stacks takes back what an abandoned block's threads had.
void recover_stacks() {
  for (int i = 0; i < s.count; i++) {
    if (s.rest[i].stack == nullptr) continue;
    s.stacks.push_back(s.rest[i].stack);
    s.rest[i].stack = nullptr;
  }
}

// check_shared looks whether the block wrote past the end of its dynamic shared memory.
void check_shared() {
  int64_t bad = canary_damage(dynamic_memory + s.launch.shared, kSharedCanary);
  if (bad < 0) return;
  report("kernel %s, block (%u, %u, %u): wrote byte %lld of %zu bytes of dynamic shared memory", s.launch.kernel->name, blockIdx.x,
         blockIdx.y, blockIdx.z, static_cast<long long>(s.launch.shared) + static_cast<long long>(bad), s.launch.shared);
  s.error = kIllegalAddress;
}

void run_block() {
  prepare_block();
  int first = pick();
  start(first);
  become(first);
  switch_context(s.host, s.threads[first].context);
  recover_stacks();
  if (s.error == 0) check_shared();
}

// block_stride is the distance of blocks that run one after the other: backward, or a jump that comes to each block once.
int64_t block_stride(int64_t blocks) {
  if (s.order == Order::backward) return blocks - 1;
  constexpr int64_t primes[] = {7919, 104729, 1299709};
  for (int64_t p : primes) {
    if (blocks % p != 0) return p;
  }
  return 1;
}

void become_block(int64_t b) {
  blockIdx = {static_cast<unsigned>(b % gridDim.x), static_cast<unsigned>(b / gridDim.x % gridDim.y),
              static_cast<unsigned>(b / gridDim.x / gridDim.y)};
}

// A fault inside a kernel is an error of the launch, not of the process.
void on_fault(int signal, const void *address) {
  const char *why = signal == SIGILL || signal == SIGTRAP
                        ? "misaligned access, or an index outside of its array"
                        : "illegal address, or more stack than a thread has";
  report("kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s (%p)", s.launch.kernel->name, blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, threadIdx.y, threadIdx.z, why, address);
  s.error = signal == SIGILL || signal == SIGTRAP ? kMisaligned : kIllegalAddress;
}

}  // namespace

int run_grid(const Launch &launch) {
  s.launch = launch;
  s.order = chosen_order();
  s.random = 0x9e3779b97f4a7c15ull;
  s.error = 0;
  gridDim = launch.grid;
  blockDim = launch.block;
  index_threads();
  fill_canary(dynamic_memory + launch.shared, kSharedCanary);

  int64_t blocks = static_cast<int64_t>(gridDim.x) * gridDim.y * gridDim.z;
  int64_t stride = block_stride(blocks);
  FaultGuard guard(on_fault, &s.host);
  for (int64_t i = 0; i < blocks && s.error == 0; i++) {
    become_block(s.order == Order::forward ? i : (i * stride + blocks - 1) % blocks);
    run_block();
  }
  return s.error;
}

}  // namespace emulator
