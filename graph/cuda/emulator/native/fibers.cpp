// The scheduler of a block's threads. A thread runs until it waits; then the next that may run takes over, in an order that
// RESIDUA_EMULATOR_ORDER chooses: a kernel whose result depends on the order lacks a barrier. Threads that never wait run one
// after the other on one stack.
#include "fibers.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "canary.h"
#include "fault.h"
#include "memory.h"
#include "switch.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {
namespace {

constexpr size_t kStack = 68 << 10;
constexpr size_t kPage = 4 << 10;
constexpr size_t kSharedCanary = 4 << 10;
constexpr unsigned char kNaN = 0xff;

// A Copy is an asynchronous copy to shared memory that was begun and not waited for.
struct Copy {
  void *to;
  const void *from;
  int group;
};

// A Thread is what every switch needs of a thread; its rest is apart, so that a block's threads fit into the first cache.
struct Thread {
  Context context;
  uint3 index;
  bool started;
};

struct Rest {
  char *stack;  // null: not started, or ended
  int copy_group;
  std::vector<Copy> copies;
};

struct Warp {
  uint32_t existing, arrived;
  Exchange *lanes[32];
};

enum class Order { forward, backward, shuffle };

struct Scheduler {
  Launch launch;
  Order order;
  uint64_t random;

  Thread threads[kMaxThreads];
  Rest rest[kMaxThreads];
  Warp warps[kMaxThreads / 32];
  int count, ended, current;

  int thread_at[kMaxThreads], place_of[kMaxThreads];  // the order of running and its inverse
  uint64_t ready[kMaxThreads / 64];                   // by place
  int cursor;                                         // the place to look at next

  int waiting, predicates, result;  // of the block's barrier
  const char *file;
  int line;

  Context host;
  int error;
  std::vector<char *> stacks;  // free ones
  int stacks_made;
};

Scheduler s;
char failure_text[1024];
alignas(128) char dynamic_memory[kMaxDynamicShared + kSharedCanary];

// ---- stacks ----

// Each stack has a page below it that faults. Its top is shifted by its number: tops that all lie at multiples of a page would
// fall into the same few lines of the processor's cache.
char *take_stack() {
  if (s.stacks.empty()) {
    void *p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, kPage, PROT_NONE) != 0) abort();
    s.stacks_made++;
    s.stacks.push_back(static_cast<char *>(p) + (s.stacks_made * 5 % 64) * 64);
  }
  char *stack = s.stacks.back();
  s.stacks.pop_back();
  return stack;
}

constexpr size_t kUsable = kStack - kPage;  // what is left when the greatest shift is taken off

// ---- the order ----

uint64_t next_random() {  // xorshift64*
  s.random ^= s.random >> 12;
  s.random ^= s.random << 25;
  s.random ^= s.random >> 27;
  return s.random * 2685821657736338717ull;
}

void shuffle_order(int *order, int n) {
  for (int i = n - 1; i > 0; i--) {
    int j = static_cast<int>((next_random() >> 33) % static_cast<uint64_t>(i + 1));
    int t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
}

// arrange puts the n numbers below n into the chosen order.
void arrange(int *order, int n) {
  for (int i = 0; i < n; i++) order[i] = s.order == Order::backward ? n - 1 - i : i;
  if (s.order == Order::shuffle) shuffle_order(order, n);
}

Order chosen_order() {
  const char *name = getenv("RESIDUA_EMULATOR_ORDER");
  if (name != nullptr && strcmp(name, "backward") == 0) return Order::backward;
  if (name != nullptr && strcmp(name, "shuffle") == 0) return Order::shuffle;
  return Order::forward;
}

// ---- who may run ----

void make_ready(int thread) {
  int place = s.place_of[thread];
  s.ready[place / 64] |= 1ull << (place % 64);
}

void make_all_ready() {
  for (int w = 0; w * 64 < s.count; w++) {
    int left = s.count - w * 64;
    s.ready[w] = left >= 64 ? ~0ull : (1ull << left) - 1;
  }
  s.cursor = 0;
}

// pick takes the next ready thread at or after the cursor, going round; -1 if there is none.
int pick() {
  int w = s.cursor / 64;
  uint64_t bits = s.ready[w] & ~0ull << (s.cursor % 64);
  for (int seen = 0; bits == 0; seen++) {
    if (seen > s.count / 64) return -1;
    if (++w * 64 >= s.count) w = 0;
    bits = s.ready[w];
  }
  int place = w * 64 + __builtin_ctzll(bits);
  s.ready[w] &= ~(1ull << (place % 64));
  s.cursor = place + 1 < s.count ? place + 1 : 0;
  return s.thread_at[place];
}

// ---- failures ----

// fail ends the block: what the other threads have on their stacks is abandoned.
[[noreturn]] void fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void fail(int error, const char *format, ...) {
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  report("kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s", s.launch.kernel->name, blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, threadIdx.y, threadIdx.z, what);
  s.error = error;
  Context abandoned;
  switch_context(abandoned, s.host);
  abort();
}

// fail_stuck says why no thread can go on.
[[noreturn]] void fail_stuck() {
  for (int w = 0; w * 32 < s.count; w++) {
    const Warp &warp = s.warps[w];
    if (warp.arrived == 0) continue;
    const Exchange *first = warp.lanes[__builtin_ctz(warp.arrived)];
    uint32_t missing = first->mask & warp.existing & ~warp.arrived;
    fail(kLaunchFailed, "divergent warp %d: lanes %08x wait in %s for lanes %08x, which ended or wait elsewhere", w, warp.arrived,
         first->name, missing);
  }
  fail(kLaunchFailed, "divergent barrier: %d of %d threads wait at %s:%d and no other can come", s.waiting, s.count, s.file, s.line);
}

// ---- switching ----

void fiber();

void become(int thread) {
  s.current = thread;
  threadIdx = s.threads[thread].index;
}

// start gives a thread that has not run yet a stack of its own.
void start(int thread) {
  Thread &t = s.threads[thread];
  t.started = true;
  s.rest[thread].stack = take_stack();
  make_context(t.context, s.rest[thread].stack, kUsable, fiber);
}

// wait lets others run until this thread is made ready and its turn comes.
void wait() {
  int own = s.current, next = pick();
  if (next < 0) fail_stuck();
  if (next == own) return;
  if (!s.threads[next].started) start(next);
  become(next);
  switch_context(s.threads[own].context, s.threads[next].context);
}

void end_thread() {
  s.ended++;
  if (s.waiting > 0) {
    fail(kLaunchFailed, "divergent barrier: this thread ended while %d of %d wait at %s:%d", s.waiting, s.count, s.file, s.line);
  }
}

// fiber runs one thread after the other on one stack, as long as the next to run has not started yet.
void fiber() {
  for (;;) {
    s.launch.kernel->invoke(s.launch.parameters);
    end_thread();
    int own = s.current, next = pick();
    if (next < 0 && s.ended < s.count) fail_stuck();
    if (next >= 0 && !s.threads[next].started) {
      become(next);
      s.threads[next].started = true;
      s.rest[next].stack = s.rest[own].stack;
      s.rest[own].stack = nullptr;
      continue;
    }
    // Nobody writes to a free stack before the switch below has left it.
    s.stacks.push_back(s.rest[own].stack);
    s.rest[own].stack = nullptr;
    if (next >= 0) become(next);
    switch_context(s.threads[own].context, next >= 0 ? s.threads[next].context : s.host);
  }
}

// ---- blocks ----

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

void order_threads() {
  arrange(s.thread_at, s.count);
  for (int i = 0; i < s.count; i++) s.place_of[s.thread_at[i]] = i;
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

const char *failure() { return failure_text; }

void report(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure_text, sizeof failure_text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "emulator: %s\n", failure_text);
}

// ---- what kernels call ----

int sync_threads(const char *file, int line, bool predicate) {
  if (s.ended > 0) {
    fail(kLaunchFailed, "divergent barrier: %d of %d threads ended without coming to %s:%d", s.ended, s.count, file, line);
  }
  if (s.waiting > 0 && (s.line != line || (s.file != file && strcmp(s.file, file) != 0))) {
    fail(kLaunchFailed, "divergent barrier: this thread waits at %s:%d, %d others at %s:%d", file, line, s.waiting, s.file, s.line);
  }
  s.file = file;
  s.line = line;
  s.predicates += predicate;
  if (++s.waiting == s.count) {
    s.result = s.predicates;
    s.waiting = s.predicates = 0;
    if (s.order == Order::shuffle) order_threads();
    make_all_ready();
  }
  wait();
  return s.result;
}

void exchange(Exchange *own) {
  int number = s.current % 32;
  Warp &warp = s.warps[s.current / 32];
  uint32_t mask = own->mask & warp.existing;
  if ((mask >> number & 1) == 0) fail(kLaunchFailed, "%s: lane %d is not in its own mask %08x", own->name, number, own->mask);
  warp.lanes[number] = own;
  warp.arrived |= 1u << number;
  if ((warp.arrived & mask) != mask) {
    wait();
    return;
  }
  for (int i = 0; i < 32; i++) {
    if ((mask >> i & 1) == 0) continue;
    const Exchange *other = warp.lanes[i];
    if (other->execute == own->execute && other->mask == own->mask) continue;
    fail(kLaunchFailed, "divergent warp: lane %d is in %s of lanes %08x, lane %d in %s of lanes %08x", number, own->name, own->mask, i,
         other->name, other->mask);
  }
  own->execute(warp.lanes, mask);
  warp.arrived &= ~mask;
  for (int i = 0; i < 32; i++) {
    if (i != number && (mask >> i & 1) != 0) make_ready(s.current - number + i);
  }
}

int lane() { return s.current % 32; }

void need_whole_warp(const char *name) {
  uint32_t existing = s.warps[s.current / 32].existing;
  if (existing != ~0u) fail(kLaunchFailed, "%s needs a whole warp, the block has lanes %08x of this one", name, existing);
}

void need_aligned(const char *name, const void *p, int bytes) {
  if (reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(bytes) == 0) return;
  fail(kMisaligned, "%s: %p is not aligned to %d bytes", name, p, bytes);
}

void *dynamic_shared() { return dynamic_memory; }

// What will be copied may arrive at any time from now on, so what lay there is gone now and the new comes as late as it may.
void copy_async16(void *shared, const void *global) {
  need_aligned("copy_async16", shared, 16);
  need_aligned("copy_async16", global, 16);
  Rest &t = s.rest[s.current];
  memset(shared, kNaN, 16);
  t.copies.push_back({shared, global, t.copy_group});
}

void copy_async_commit() { s.rest[s.current].copy_group++; }

void copy_async_wait(int newest) {
  Rest &t = s.rest[s.current];
  size_t kept = 0;
  for (const Copy &c : t.copies) {
    if (c.group < t.copy_group - newest) {
      memcpy(c.to, c.from, 16);
    } else {
      t.copies[kept++] = c;
    }
  }
  t.copies.resize(kept);
}

}  // namespace emulator
