// The device, what it says of itself, and its context.
#include <stdlib.h>
#include <string.h>

#include "driver.h"

namespace emulator {
namespace {

void compute_capability(int *major, int *minor) {
  const char *text = getenv("RESIDUA_EMULATOR_CAPABILITY");
  if (text == nullptr || sscanf(text, "%d.%d", major, minor) != 2) *major = 9, *minor = 0;
}

// The figures of an H100, under the numbers of cuda.h.
constexpr int kAttributes[][2] = {
    {1, kMaxThreads},        // threads a block
    {2, 1024},               // block dimension x
    {3, 1024},               // y
    {4, 64},                 // z
    {5, 0x7fffffff},         // grid dimension x
    {6, 65535},              // y
    {7, 65535},              // z
    {8, 48 << 10},           // shared memory a block
    {10, 32},                // warp
    {12, 65536},             // registers a block
    {13, 1980000},           // clock in kHz
    {16, 132},               // multiprocessors
    {36, 2619000},           // memory's clock in kHz
    {37, 5120},              // its bus in bits
    {38, 50 << 20},          // level 2 cache
    {39, 2048},              // threads a multiprocessor
    {41, 1},                 // unified addressing
    {81, 228 << 10},         // shared memory a multiprocessor
    {83, 1},                 // managed memory
    {97, kMaxDynamicShared}  // shared memory a block that asks for it
};

Result device_attribute(int attribute, int *value) {
  int major, minor;
  compute_capability(&major, &minor);
  if (attribute == 75 || attribute == 76) {
    *value = attribute == 75 ? major : minor;
    return kSuccess;
  }
  for (const int *entry : kAttributes) {
    if (entry[0] != attribute) continue;
    *value = entry[1];
    return kSuccess;
  }
  report("cuDeviceGetAttribute: attribute %d is not known to the emulator", attribute);
  return kInvalidValue;
}

// devices is how many there are: one, or none for who wants to see that.
int devices() {
  const char *text = getenv("RESIDUA_EMULATOR_DEVICES");
  return text != nullptr && strcmp(text, "0") == 0 ? 0 : 1;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

EXPORT int cuInit(unsigned) {
  if (kernels_clash()) return kUnknown;
  if (devices() == 0) return kNoDevice;
  driver().initialised = true;
  return kSuccess;
}

EXPORT int cuDriverGetVersion(int *version) {
  *version = 12010;
  return kSuccess;
}

EXPORT int cuDeviceGetCount(int *count) {
  return without_context([=](Driver &) {
    *count = devices();
    return kSuccess;
  });
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
  return without_context([=](Driver &) {
    *device = 0;
    return ordinal == 0 ? kSuccess : kInvalidDevice;
  });
}

EXPORT int cuDeviceGetName(char *name, int size, int) {
  return without_context([=](Driver &) {
    snprintf(name, static_cast<size_t>(size), "Emulated GPU");
    return kSuccess;
  });
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  return without_context([=](Driver &) { return device_attribute(attribute, value); });
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
  return without_context([=](Driver &) {
    *bytes = total_memory();
    return kSuccess;
  });
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
  return without_context([=](Driver &) {
    *context = &context_object;
    return kSuccess;
  });
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  return without_context([](Driver &) { return kSuccess; });
}

EXPORT int cuCtxSetCurrent(void *context) {
  return without_context([=](Driver &) {
    if (context != nullptr && context != &context_object) return kInvalidContext;
    current_context = context;
    return kSuccess;
  });
}

EXPORT int cuCtxGetCurrent(void **context) {
  return without_context([=](Driver &) {
    *context = current_context;
    return kSuccess;
  });
}

EXPORT int cuCtxSynchronize() {
  return guarded([](Driver &d) { return synchronise(d); });
}
