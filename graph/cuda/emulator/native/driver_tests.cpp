// What a real driver does not have: counts and failures for tests, and questions of the cuBLAS in this library's folder.
#include <string.h>

#include "driver.h"
#include "product.h"

using namespace emulator;

EXPORT void emulatorTotals(Totals *to) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  *to = totals;
}

// put_text writes a text if there is room for it; it returns the bytes that it needs.
static uint64_t put_text(const std::string &text, char *to, uint64_t size) {
  if (text.size() <= size) memcpy(to, text.data(), text.size());
  return text.size();
}

// emulatorLaunches gives a line "name count" for each kernel that ran.
EXPORT uint64_t emulatorLaunches(char *to, uint64_t size) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  std::string lines;
  for (const auto &entry : driver().launches) lines += entry.first + " " + std::to_string(entry.second) + "\n";
  return put_text(lines, to, size);
}

// emulatorFailure gives the last report.
EXPORT uint64_t emulatorFailure(char *to, uint64_t size) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  return put_text(failure(), to, size);
}

EXPORT void emulatorReset() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  uint64_t in_use = totals.in_use;
  totals = {};
  totals.in_use = totals.peak = in_use;
  driver().launches.clear();
}

// emulatorLose makes every call return error from now on; 0 ends that.
EXPORT void emulatorLose(int error) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  driver().lost = error;
}

// emulatorHandle counts the cuBLAS's handles: by is 1 of a new one, -1 of one that ends.
EXPORT void emulatorHandle(int by) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  driver().handles += by;
  if (by > 0) totals.handles++;
}

// emulatorDelay makes products by an algorithm, from 0, take more milliseconds on the events' clock. No time passes.
EXPORT void emulatorDelay(int algorithm, double milliseconds) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  driver().delays[algorithm] = milliseconds;
}

// emulatorChoice counts a call in which the cuBLASLt proposes algorithms.
EXPORT void emulatorChoice() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  totals.choices++;
}

static Result multiply(Driver &d, const Product &p) {
  for (int i = 0; i < 5; i++) {
    if (p.bytes[i] > 0 && !on_device("cuBLAS", p.addresses[i], p.bytes[i])) return lose(kIllegalAddress);
  }
  totals.products++;
  totals.algorithms[p.algorithm]++;
  d.delayed += d.delays[p.algorithm];
  p.multiply();
  return kSuccess;
}

EXPORT int emulatorProduct(const Product *product) {
  return guarded([=](Driver &d) {
    if (!product->workspace && captures(d, product->stream)) {
      report("cuBLAS: a product on a stream that captures wants cublasSetWorkspace after cublasSetStream, or cuBLAS may allocate");
      return kNotSupported;
    }
    return enqueue(d, product->stream, [p = *product](Driver &d) { return multiply(d, p); });
  });
}

// emulatorCollective is asked by NCCL about memory that it is given: 0, or the driver's error that forbids it.
EXPORT int emulatorCollective(uint64_t address, uint64_t bytes, void *stream) {
  return guarded([=](Driver &d) {
    if (Result bad = immediate(d, stream)) return bad;
    return on_device("NCCL", address, bytes) ? kSuccess : lose(kIllegalAddress);
  });
}
