// A grid's run: blocks one after the other, each thread of a block a fiber.
#pragma once

#include "emulator.h"

namespace emulator {

constexpr int kMaxThreads = 1024;             // of a block
constexpr size_t kMaxDynamicShared = 227 << 10;  // bytes, as an H100 has

// A Launch is one kernel with its grid.
struct Launch {
  const Kernel *kernel;
  void **parameters;
  dim3 grid, block;
  size_t shared;  // bytes of dynamic shared memory
};

// run_grid returns 0, or the driver's error code; failure() then says in words what happened.
int run_grid(const Launch &launch);
const char *failure();

// report sets failure() and writes it to the standard error.
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace emulator
