// The scheduler of a block's threads. A thread runs until it waits; then the next that may run takes over, in an order that
// RESIDUA_EMULATOR_ORDER chooses: a kernel whose result depends on the order lacks a barrier. Threads that never wait run one
// after the other on one stack.
#include "scheduler.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

namespace emulator {

Scheduler s;

// ---- stacks ----

namespace {

constexpr size_t kStack = 68 << 10;
constexpr size_t kPage = 4 << 10;

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

}  // namespace

// ---- the order ----

namespace {

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

}  // namespace

Order chosen_order() {
  const char *name = getenv("RESIDUA_EMULATOR_ORDER");
  if (name != nullptr && strcmp(name, "backward") == 0) return Order::backward;
  if (name != nullptr && strcmp(name, "shuffle") == 0) return Order::shuffle;
  return Order::forward;
}

void order_threads() {
  arrange(s.thread_at, s.count);
  for (int i = 0; i < s.count; i++) s.place_of[s.thread_at[i]] = i;
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

namespace {

char failure_text[1024];

}  // namespace

const char *failure() { return failure_text; }

void report(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure_text, sizeof failure_text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "emulator: %s\n", failure_text);
}

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

namespace {

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

}  // namespace

// ---- switching ----

namespace {

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

}  // namespace

void become(int thread) {
  s.current = thread;
  threadIdx = s.threads[thread].index;
}

void start(int thread) {
  Thread &t = s.threads[thread];
  t.started = true;
  s.rest[thread].stack = take_stack();
  make_context(t.context, s.rest[thread].stack, kUsable, fiber);
}

void wait() {
  int own = s.current, next = pick();
  if (next < 0) fail_stuck();
  if (next == own) return;
  if (!s.threads[next].started) start(next);
  become(next);
  switch_context(s.threads[own].context, s.threads[next].context);
}

}  // namespace emulator
