// What cuBLAS and cuBLASLt ask of the driver: a product is work of a stream as a kernel is.
#pragma once

#include <stdint.h>

#include <functional>

namespace emulator {

struct Product {
  void *stream;
  uint64_t addresses[5], bytes[5];  // the memory of A, B, C, aux and the workspace
  int algorithm;                    // 0 is cuBLAS's own, from 1 they are cuBLASLt's
  bool workspace;                   // it was given one, and will not allocate
  std::function<void()> multiply;
};

}  // namespace emulator

// emulatorProduct runs a product, or records it if its stream captures. It returns 0 or the driver's error.
extern "C" __attribute__((visibility("default"))) int emulatorProduct(const emulator::Product *product);
