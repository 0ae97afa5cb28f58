#include "driver.h"

#include <string.h>

namespace emulator {

namespace {
Kernel *kernels = nullptr;
bool clash = false;
}  // namespace

int context_objects[kMaxDevices];
thread_local void *current_context = nullptr;

// Never destroyed: a program that ends may still call.
Driver &driver() {
  static Driver *d = new Driver;
  return *d;
}

void add_kernel(Kernel *k) {
  if (find_kernel(k->name) != nullptr) {
    clash = true;
    report("two kernels are named %s", k->name);
  }
  k->next = kernels;
  kernels = k;
}

const Kernel *find_kernel(const char *name) {
  for (const Kernel *k = kernels; k != nullptr; k = k->next) {
    if (strcmp(k->name, name) == 0) return k;
  }
  return nullptr;
}

bool kernels_clash() { return clash; }

Result lose(Result error) {
  driver().lost = error;
  return error;
}

void deliver(Driver &d) {
  for (const Delivery &one : d.deliveries) memcpy(one.to, one.bytes.data(), one.bytes.size());
  d.deliveries.clear();
}

Result synchronise(Driver &d) {
  deliver(d);
  totals.synchronisations++;
  return damaged("synchronisation") ? lose(kIllegalAddress) : kSuccess;
}

bool known_stream(Driver &d, void *stream) {
  return stream == nullptr || stream == reinterpret_cast<void *>(1) || stream == reinterpret_cast<void *>(2) ||
         d.streams.count(stream) != 0;
}

bool on_device(const char *call, uint64_t address, uint64_t bytes) {
  if (inside(address, bytes)) return true;
  report("%s: %llu bytes at 0x%llx are not all in one allocation", call, static_cast<unsigned long long>(bytes),
         static_cast<unsigned long long>(address));
  return false;
}

}  // namespace emulator
