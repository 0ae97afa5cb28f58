// Allocations, copies and fills.
#include <string.h>

#include "driver.h"

using namespace emulator;

// As on a real device, contexts and cuBLAS's handles take memory that no allocation has: 256 and 32 MiB of 16 GiB.
EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
  return guarded([=](Driver &d) {
    *total = total_memory();
    uint64_t used = occupied_memory() + static_cast<uint64_t>(d.handles) * (*total / 512);
    for (int holds : d.holds) used += holds > 0 ? *total / 64 : 0;
    *free = *total > used ? *total - used : 0;
    return kSuccess;
  });
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return guarded([=](Driver &) { return allocate(address, bytes); });
}

EXPORT int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned) {
  return guarded([=](Driver &) { return allocate(address, bytes); });
}

// Freeing waits for the device, so that what is on its way arrives first.
EXPORT int cuMemFree_v2(uint64_t address) {
  return guarded([=](Driver &d) {
    deliver(d);
    Result result = release(address);
    return result == kIllegalAddress ? lose(result) : result;
  });
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  return guarded([=](Driver &d) {
    if (Result bad = immediate(d, stream)) return bad;
    if (!on_device("cuMemcpyHtoD", to, bytes)) return kInvalidValue;
    memcpy(at(to), from, bytes);
    totals.up += bytes;
    totals.uploads++;
    return kSuccess;
  });
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr); }

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  return guarded([=](Driver &d) {
    if (Result bad = immediate(d, stream)) return bad;
    if (!on_device("cuMemcpyDtoH", from, bytes)) return kInvalidValue;
    d.deliveries.push_back({to, std::vector<unsigned char>(at(from), at(from) + bytes)});
    totals.down += bytes;
    totals.downloads++;
    return kSuccess;
  });
}

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  if (int error = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr)) return error;
  return guarded([](Driver &d) {
    deliver(d);
    return kSuccess;
  });
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  return guarded([=](Driver &d) {
    return enqueue(d, stream, [=](Driver &) {
      if (!on_device("cuMemcpyDtoD", to, bytes) || !on_device("cuMemcpyDtoD", from, bytes)) return kInvalidValue;
      memmove(at(to), at(from), bytes);
      totals.copied += bytes;
      return kSuccess;
    });
  });
}

EXPORT int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr); }

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream) {
  return guarded([=](Driver &d) {
    return enqueue(d, stream, [=](Driver &) {
      if (!on_device("cuMemsetD8", to, count)) return kInvalidValue;
      memset(at(to), value, count);
      totals.filled += count;
      return kSuccess;
    });
  });
}

EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
  return guarded([=](Driver &d) {
    return enqueue(d, stream, [=](Driver &) {
      if (to % 4 != 0 || !on_device("cuMemsetD32", to, count * 4)) return kInvalidValue;
      unsigned *words = reinterpret_cast<unsigned *>(to);
      for (size_t i = 0; i < count; i++) words[i] = value;
      totals.filled += count * 4;
      return kSuccess;
    });
  });
}

EXPORT int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) { return cuMemsetD8Async(to, value, count, nullptr); }
EXPORT int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) { return cuMemsetD32Async(to, value, count, nullptr); }
