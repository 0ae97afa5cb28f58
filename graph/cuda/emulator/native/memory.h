// The device's memory: host memory with a canary on both sides, and counts of all that moves.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulator {

// Errors of the driver, as cuda.h numbers them.
enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidPTX = 218,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kMisaligned = 716,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kUnknown = 999,
};

constexpr int kAlgorithms = 8;  // that cuBLASLt has for a product

struct Totals {
  uint64_t up, down, copied, filled;  // bytes: host to device, device to host, device to device, set
  uint64_t uploads, downloads;        // calls
  uint64_t allocations, frees, launches, products, synchronisations;
  uint64_t contexts, modules, handles;  // that were made
  uint64_t events;  // that were recorded
  uint64_t graphs;  // that were launched
  uint64_t choices;  // calls in which cuBLASLt proposed algorithms
  uint64_t algorithms[1 + kAlgorithms];  // products by their algorithm: cuBLAS's own, then cuBLASLt's
  uint64_t in_use, peak;  // bytes
};
extern Totals totals;

uint64_t total_memory();

// occupied_memory is what the driver's blocks of 2 MiB, in which it keeps allocations, take of it.
uint64_t occupied_memory();

// current_device is that of the calling thread's context. Memory of another one is not there for a kernel.
extern thread_local int current_device;

Result allocate(uint64_t *address, uint64_t bytes);
Result release(uint64_t address);

// inside says whether [address, address + bytes) lies in one live allocation. Its end is inside when bytes is 0.
bool inside(uint64_t address, uint64_t bytes);

// damaged looks at all canaries and reports the first that was overwritten; after says what ran before.
bool damaged(const char *after);

}  // namespace emulator
