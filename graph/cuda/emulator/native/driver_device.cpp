// The device, what it says of itself, and its context.
#include <stdlib.h>
#include <string.h>

#include "driver.h"

namespace emulator {
namespace {

void compute_capability(int *major, int *minor) {
  const char *text = getenv("RESIDUA_EMULATOR_CAPABILITY");
  if (text == nullptr || sscanf(text, "%d.%d", major, minor) != 2) *major = 8, *minor = 6;
}

// devices lists those that the program sees: all there are, or what CUDA_VISIBLE_DEVICES lists up to the first that is not there.
std::vector<int> devices() {
  const char *count = getenv("RESIDUA_EMULATOR_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
  int n = count == nullptr ? 1 : atoi(count);
  std::vector<int> list;
  if (visible == nullptr) {
    for (int i = 0; i < n && i < kMaxDevices; i++) list.push_back(i);
    return list;
  }
  for (char *end; *visible != '\0'; visible = *end == ',' ? end + 1 : end) {
    long i = strtol(visible, &end, 10);
    if (end == visible || i < 0 || i >= n || i >= kMaxDevices) break;
    list.push_back(static_cast<int>(i));
  }
  return list;
}

// The figures of an H100, but for the shared memory, of which a GPU of its compute capability has less, under the numbers of cuda.h.
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
    {83, 1}                  // managed memory
};

Result device_attribute(int attribute, int *value) {
  int major, minor;
  compute_capability(&major, &minor);
  if (attribute == 75 || attribute == 76) {
    *value = attribute == 75 ? major : minor;
    return kSuccess;
  }
  if (attribute == 81 || attribute == 97) {  // shared memory a multiprocessor, and a block that asks for it
    *value = static_cast<int>(most_shared()) + (attribute == 81 ? 1 << 10 : 0);
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

}  // namespace

size_t most_shared() {
  int major, minor;
  compute_capability(&major, &minor);
  if (major == 8) return (minor == 0 || minor == 7 ? 163 : 99) << 10;
  return major == 12 ? 99 << 10 : kMaxDynamicShared;
}

}  // namespace emulator

using namespace emulator;

EXPORT int cuInit(unsigned) {
  if (kernels_clash()) return kUnknown;
  if (devices().empty()) return kNoDevice;
  driver().initialised = true;
  return kSuccess;
}

EXPORT int cuDriverGetVersion(int *version) {
  *version = 12010;
  return kSuccess;
}

EXPORT int cuDeviceGetCount(int *count) {
  return without_context([=](Driver &) {
    *count = static_cast<int>(devices().size());
    return kSuccess;
  });
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
  return without_context([=](Driver &) {
    std::vector<int> list = devices();
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= list.size()) return kInvalidDevice;
    *device = list[static_cast<size_t>(ordinal)];
    return kSuccess;
  });
}

EXPORT int cuDeviceGetName(char *name, int size, int device) {
  return without_context([=](Driver &) {
    std::string number = device == 0 ? "" : " " + std::to_string(device);
    snprintf(name, static_cast<size_t>(size), "Emulated GPU%s", number.c_str());
    return kSuccess;
  });
}

EXPORT int cuDeviceGetPCIBusId(char *id, int size, int device) {
  return without_context([=](Driver &) {
    snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
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

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  return without_context([=](Driver &d) {
    if (device < 0 || device >= kMaxDevices) return kInvalidDevice;
    if (d.holds[device]++ == 0) totals.contexts++;
    *context = &context_objects[device];
    return kSuccess;
  });
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  return without_context([=](Driver &d) {
    if (device < 0 || device >= kMaxDevices || d.holds[device] == 0) return kInvalidContext;
    d.holds[device]--;
    return kSuccess;
  });
}

EXPORT int cuCtxSetCurrent(void *context) {
  return without_context([=](Driver &) {
    int *first = context_objects, *c = static_cast<int *>(context);
    if (c != nullptr && (c < first || c >= first + kMaxDevices)) return kInvalidContext;
    current_context = context;
    if (c != nullptr) current_device = static_cast<int>(c - first);
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
  return guarded([](Driver &d) {
    if (Result bad = immediate(d)) return bad;
    return synchronise(d);
  });
}
