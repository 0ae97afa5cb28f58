// What kernels call: the block's barrier, exchanges within a warp, asynchronous copies.
#include <string.h>

#include "memory.h"
#include "scheduler.h"

namespace emulator {

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
