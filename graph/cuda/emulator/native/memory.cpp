#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>

#include "canary.h"
#include "fibers.h"

namespace emulator {

Totals totals;
thread_local int current_device = 0;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kFront = kPage, kBack = 256;  // bytes of canary before and, at least, after
constexpr unsigned char kNaN = 0xff;

struct Block {
  uint64_t bytes;   // as asked for
  uint64_t mapped;  // canaries included, whole pages
  int device;
};
std::map<uint64_t, Block> blocks;  // by the address of their first byte

unsigned char *at(uint64_t address) { return reinterpret_cast<unsigned char *>(address); }

uint64_t back_canary(const Block &b) { return b.mapped - kFront - b.bytes; }

// checked is what is looked at of the canary after a block: what lies further off is rarely hit.
uint64_t checked(const Block &b) { return back_canary(b) < 2 * kBack ? back_canary(b) : 2 * kBack; }

bool block_damaged(uint64_t address, const Block &b, const char *after) {
  int64_t back = canary_damage(at(address + b.bytes), checked(b));
  int64_t front = canary_damage(at(address - kBack), kBack);
  if (back < 0 && front < 0) return false;
  int64_t offset = back >= 0 ? static_cast<int64_t>(b.bytes) + back : front - static_cast<int64_t>(kBack);
  report("%s: byte %lld of an allocation of %llu bytes at 0x%llx was written", after, static_cast<long long>(offset),
         static_cast<unsigned long long>(b.bytes), static_cast<unsigned long long>(address));
  return true;
}

}  // namespace

uint64_t total_memory() {
  const char *text = getenv("RESIDUA_EMULATOR_MEMORY");
  uint64_t bytes = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  return bytes != 0 ? bytes : 16ull << 30;
}

// Large allocations have blocks of their own, small ones share them.
uint64_t occupied_memory() {
  constexpr uint64_t kBlock = 2 << 20;
  uint64_t large = 0, small = 0;
  for (const auto &entry : blocks) {
    uint64_t bytes = entry.second.bytes;
    if (bytes < kBlock / 2) {
      small += bytes;
    } else {
      large += (bytes + kBlock - 1) / kBlock * kBlock;
    }
  }
  return large + (small + kBlock - 1) / kBlock * kBlock;
}

// A block begins on a page, so that it is aligned as the driver's are; whoever uses it after its release faults.
Result allocate(uint64_t *address, uint64_t bytes) {
  if (bytes == 0) return kInvalidValue;
  if (bytes > total_memory() || totals.in_use + bytes > total_memory()) return kOutOfMemory;
  Block b = {bytes, (kFront + bytes + kBack + kPage - 1) / kPage * kPage, current_device};
  void *p = mmap(nullptr, b.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(p) + kFront;
  fill_canary(p, kFront);
  memset(at(*address), kNaN, bytes);
  fill_canary(at(*address + bytes), back_canary(b));
  blocks[*address] = b;
  totals.allocations++;
  totals.in_use += bytes;
  if (totals.in_use > totals.peak) totals.peak = totals.in_use;
  return kSuccess;
}

Result release(uint64_t address) {
  if (address == 0) return kSuccess;
  auto found = blocks.find(address);
  if (found == blocks.end()) {
    report("cuMemFree: 0x%llx is no allocation", static_cast<unsigned long long>(address));
    return kInvalidValue;
  }
  Block b = found->second;
  bool bad = block_damaged(address, b, "cuMemFree");
  munmap(at(address - kFront), b.mapped);
  blocks.erase(found);
  totals.frees++;
  totals.in_use -= b.bytes;
  return bad ? kIllegalAddress : kSuccess;
}

bool inside(uint64_t address, uint64_t bytes) {
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return false;
  auto found = --next;
  uint64_t offset = address - found->first;
  return found->second.device == current_device && offset <= found->second.bytes && bytes <= found->second.bytes - offset;
}

bool damaged(const char *after) {
  for (const auto &entry : blocks) {
    if (block_damaged(entry.first, entry.second, after)) return true;
  }
  return false;
}

}  // namespace emulator
