#include "canary.h"

#include <string.h>

namespace emulator {
namespace {

constexpr unsigned char kEven = 0xa5, kOdd = 0xff;  // 0xffa5 at every even address

unsigned char canary_at(const unsigned char *p) { return reinterpret_cast<uintptr_t>(p) % 2 != 0 ? kOdd : kEven; }

constexpr size_t kPattern = 512;

// pattern is a piece of canary that begins at an even address.
const unsigned char *pattern() {
  alignas(2) static unsigned char bytes[kPattern + 2];
  if (bytes[0] == 0) {
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = canary_at(bytes + i);
  }
  return bytes;
}

}  // namespace

void fill_canary(void *p, size_t bytes) {
  unsigned char *to = static_cast<unsigned char *>(p);
  for (size_t i = 0; i < bytes; i++) to[i] = canary_at(to + i);
}

int64_t canary_damage(const void *p, size_t bytes) {
  const unsigned char *from = static_cast<const unsigned char *>(p);
  const unsigned char *want = pattern() + reinterpret_cast<uintptr_t>(p) % 2;
  for (size_t i = 0; i < bytes; i += kPattern) {
    size_t n = bytes - i < kPattern ? bytes - i : kPattern;
    if (memcmp(from + i, want, n) == 0) continue;
    size_t bad = 0;
    while (from[i + bad] == want[bad]) bad++;
    return static_cast<int64_t>(i + bad);
  }
  return -1;
}

}  // namespace emulator
