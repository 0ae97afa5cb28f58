// A libcuda.so.1 whose device is this processor: the part of the driver's interface that the binding calls, with its checks.
// Kernels run where they are launched, before cuLaunchKernel returns; copies to the host that are asynchronous arrive when
// somebody waits for them, as late as a real device's may.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fibers.h"
#include "memory.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace emulator {
namespace {

constexpr size_t kDefaultDynamicShared = 48 << 10;

struct Function {
  const Kernel *kernel;
  size_t dynamic_shared = kDefaultDynamicShared;
  int max_threads = kMaxThreads;
};

struct Module {
  std::map<std::string, Function> functions;
};

struct Event {
  double milliseconds;
  bool recorded;
};

// A Delivery is what an asynchronous copy has read and not yet given to the host.
struct Delivery {
  void *to;
  std::vector<unsigned char> bytes;
};

struct Driver {
  std::mutex mutex;
  bool initialised = false;
  int lost = 0;  // the error that every call returns from now on
  std::set<Module *> modules;
  std::set<Function *> functions;
  std::set<Event *> events;
  std::set<void *> streams;
  std::vector<Delivery> deliveries;
  std::map<std::string, uint64_t> launches;
};

// Never destroyed: a program that ends may still call.
Driver &driver() {
  static Driver *d = new Driver;
  return *d;
}

Kernel *kernels = nullptr;
bool duplicate_kernels = false;

int context_object;  // its address is the one context
thread_local void *current_context = nullptr;

const Kernel *find_kernel(const char *name) {
  for (const Kernel *k = kernels; k != nullptr; k = k->next) {
    if (strcmp(k->name, name) == 0) return k;
  }
  return nullptr;
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// lose makes an error stay, as one in a kernel does.
Result lose(Result error) {
  driver().lost = error;
  return error;
}

// guarded runs f with the driver locked, initialised, not lost, and with a context on the calling thread.
template <typename F>
Result guarded(F f) {
  Driver &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (d.lost != 0) return static_cast<Result>(d.lost);
  if (!d.initialised) return kNotInitialized;
  if (current_context == nullptr) return kInvalidContext;
  return f(d);
}

// without_context is guarded for the calls that need none.
template <typename F>
Result without_context(F f) {
  Driver &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (d.lost != 0) return static_cast<Result>(d.lost);
  if (!d.initialised) return kNotInitialized;
  return f(d);
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

unsigned char *at(uint64_t address) { return reinterpret_cast<unsigned char *>(address); }

// ---- modules ----

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

const char *skip_blanks(const char *p) {
  while (*p == ' ' || *p == '\t' || *p == '\n') p++;
  return p;
}

// read_entry reads an entry's name at p and, before its body begins, the most threads it was compiled for.
void read_entry(const char *p, Module *m) {
  p = skip_blanks(p);
  const char *end = p;
  while (name_character(*end)) end++;
  Function f;
  std::string name(p, end);
  f.kernel = find_kernel(name.c_str());
  const char *body = strchr(end, '{'), *limit = strstr(end, ".maxntid");
  if (limit != nullptr && body != nullptr && limit < body) {
    int x = 1, y = 1, z = 1;
    if (sscanf(limit, ".maxntid %d, %d, %d", &x, &y, &z) >= 1) f.max_threads = x * y * z;
  }
  m->functions[name] = f;
}

Module *read_module(const char *ptx) {
  Module *m = new Module;
  for (const char *p = strstr(ptx, ".entry"); p != nullptr; p = strstr(p, ".entry")) {
    p += strlen(".entry");
    read_entry(p, m);
  }
  return m;
}

// ---- launches ----

Result check_sizes(const Function &f, const Launch &l) {
  uint64_t threads = static_cast<uint64_t>(l.block.x) * l.block.y * l.block.z;
  uint64_t blocks = static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z;
  const char *name = f.kernel->name;
  if (blocks == 0 || threads == 0 || l.grid.x > 0x7fffffffu || l.grid.y > 65535 || l.grid.z > 65535 || threads > kMaxThreads ||
      l.block.z > 64) {
    report("%s: no grid of %ux%ux%u blocks of %ux%ux%u threads", name, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z);
    return kInvalidValue;
  }
  if (l.shared > f.dynamic_shared) {
    report("%s: %zu bytes of dynamic shared memory, allowed are %zu (cuFuncSetAttribute)", name, l.shared, f.dynamic_shared);
    return kInvalidValue;
  }
  if (threads > static_cast<uint64_t>(f.max_threads)) {
    report("%s: %llu threads, compiled for at most %d", name, static_cast<unsigned long long>(threads), f.max_threads);
    return kLaunchOutOfResources;
  }
  return kSuccess;
}

// check_pointers catches the host's addresses, which a real device could not follow.
Result check_pointers(const Launch &l) {
  const void *values[kMaxParameters];
  int n = l.kernel->pointers(l.parameters, values);
  for (int i = 0; i < n; i++) {
    uint64_t address = reinterpret_cast<uint64_t>(values[i]);
    if (address == 0 || inside(address, 0)) continue;
    report("%s: pointer %d of its parameters, 0x%llx, is not in the device's memory", l.kernel->name, i,
           static_cast<unsigned long long>(address));
    return kIllegalAddress;
  }
  return kSuccess;
}

Result launch_kernel(Driver &d, const Function &f, const Launch &l) {
  if (Result bad = check_sizes(f, l)) return bad;
  if (Result bad = check_pointers(l)) return lose(bad);
  d.launches[l.kernel->name]++;
  totals.launches++;
  if (int error = run_grid(l)) return lose(static_cast<Result>(error));
  return damaged(l.kernel->name) ? lose(kIllegalAddress) : kSuccess;
}

// ---- attributes ----

void compute_capability(int *major, int *minor) {
  const char *text = getenv("RESIDUA_EMULATOR_CAPABILITY");
  if (text == nullptr || sscanf(text, "%d.%d", major, minor) != 2) *major = 9, *minor = 0;
}

// device_attribute gives an H100's figures under the numbers of cuda.h.
bool device_attribute(int attribute, int *value) {
  int major, minor;
  compute_capability(&major, &minor);
  switch (attribute) {
    case 1: *value = kMaxThreads; return true;         // threads a block
    case 2: case 3: *value = 1024; return true;        // block dimension x, y
    case 4: *value = 64; return true;                  // z
    case 5: *value = 0x7fffffff; return true;          // grid dimension x
    case 6: case 7: *value = 65535; return true;       // y, z
    case 8: *value = kDefaultDynamicShared; return true;  // shared memory a block
    case 10: *value = 32; return true;                 // warp
    case 12: *value = 65536; return true;              // registers a block
    case 13: *value = 1980000; return true;            // clock in kHz
    case 16: *value = 132; return true;                // multiprocessors
    case 36: *value = 2619000; return true;            // memory's clock in kHz
    case 37: *value = 5120; return true;               // its bus in bits
    case 38: *value = 50 << 20; return true;           // level 2 cache
    case 39: *value = 2048; return true;               // threads a multiprocessor
    case 41: *value = 1; return true;                  // unified addressing
    case 75: *value = major; return true;
    case 76: *value = minor; return true;
    case 81: *value = 228 << 10; return true;          // shared memory a multiprocessor
    case 83: *value = 1; return true;                  // managed memory
    case 97: *value = static_cast<int>(kMaxDynamicShared); return true;  // shared memory a block, opted in
    default: *value = 0; return true;
  }
}

const char *error_name(int error) {
  switch (error) {
    case kSuccess: return "CUDA_SUCCESS";
    case kInvalidValue: return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory: return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNotInitialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case kNoDevice: return "CUDA_ERROR_NO_DEVICE";
    case kInvalidDevice: return "CUDA_ERROR_INVALID_DEVICE";
    case kInvalidContext: return "CUDA_ERROR_INVALID_CONTEXT";
    case kInvalidPTX: return "CUDA_ERROR_INVALID_PTX";
    case kInvalidHandle: return "CUDA_ERROR_INVALID_HANDLE";
    case kNotFound: return "CUDA_ERROR_NOT_FOUND";
    case kNotReady: return "CUDA_ERROR_NOT_READY";
    case kIllegalAddress: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case kLaunchOutOfResources: return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    case kMisaligned: return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case kLaunchFailed: return "CUDA_ERROR_LAUNCH_FAILED";
    case kNotSupported: return "CUDA_ERROR_NOT_SUPPORTED";
    case kUnknown: return "CUDA_ERROR_UNKNOWN";
    default: return nullptr;
  }
}

const char *error_text(int error) {
  switch (error) {
    case kSuccess: return "no error";
    case kInvalidValue: return "invalid argument";
    case kOutOfMemory: return "out of memory";
    case kNotInitialized: return "initialization error";
    case kNoDevice: return "no CUDA-capable device is detected";
    case kInvalidDevice: return "invalid device ordinal";
    case kInvalidContext: return "invalid device context";
    case kInvalidPTX: return "a PTX JIT compilation failed";
    case kInvalidHandle: return "invalid resource handle";
    case kNotFound: return "named symbol not found";
    case kNotReady: return "device not ready";
    case kIllegalAddress: return "an illegal memory access was encountered";
    case kLaunchOutOfResources: return "too many resources requested for launch";
    case kMisaligned: return "misaligned address";
    case kLaunchFailed: return "unspecified launch failure";
    case kNotSupported: return "operation not supported";
    case kUnknown: return "unknown error";
    default: return nullptr;
  }
}

}  // namespace

void add_kernel(Kernel *k) {
  if (find_kernel(k->name) != nullptr) {
    duplicate_kernels = true;
    report("two kernels are named %s", k->name);
  }
  k->next = kernels;
  kernels = k;
}

}  // namespace emulator

using namespace emulator;

// ---- device and context ----

// devices is how many there are: one, or none for who wants to see that.
static int devices() {
  const char *text = getenv("RESIDUA_EMULATOR_DEVICES");
  return text != nullptr && strcmp(text, "0") == 0 ? 0 : 1;
}

EXPORT int cuInit(unsigned) {
  if (duplicate_kernels) return kUnknown;
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
  return without_context([=](Driver &) { return device_attribute(attribute, value) ? kSuccess : kInvalidValue; });
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

// ---- memory ----

EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
  return guarded([=](Driver &) {
    *total = total_memory();
    *free = *total > totals.in_use ? *total - totals.in_use : 0;
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
    if (!known_stream(d, stream)) return kInvalidHandle;
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
    if (!known_stream(d, stream)) return kInvalidHandle;
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
    if (!known_stream(d, stream)) return kInvalidHandle;
    if (!on_device("cuMemcpyDtoD", to, bytes) || !on_device("cuMemcpyDtoD", from, bytes)) return kInvalidValue;
    memmove(at(to), at(from), bytes);
    totals.copied += bytes;
    return kSuccess;
  });
}

EXPORT int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr); }

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream) {
  return guarded([=](Driver &d) {
    if (!known_stream(d, stream)) return kInvalidHandle;
    if (!on_device("cuMemsetD8", to, count)) return kInvalidValue;
    memset(at(to), value, count);
    totals.filled += count;
    return kSuccess;
  });
}

EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
  return guarded([=](Driver &d) {
    if (!known_stream(d, stream)) return kInvalidHandle;
    if (to % 4 != 0 || !on_device("cuMemsetD32", to, count * 4)) return kInvalidValue;
    unsigned *words = reinterpret_cast<unsigned *>(to);
    for (size_t i = 0; i < count; i++) words[i] = value;
    totals.filled += count * 4;
    return kSuccess;
  });
}

EXPORT int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) { return cuMemsetD8Async(to, value, count, nullptr); }
EXPORT int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) { return cuMemsetD32Async(to, value, count, nullptr); }

// ---- modules and kernels ----

EXPORT int cuModuleLoadData(void **module, const void *image) {
  return guarded([=](Driver &d) {
    const char *ptx = static_cast<const char *>(image);
    if (strstr(ptx, ".version") == nullptr) return kInvalidPTX;
    Module *m = read_module(ptx);
    d.modules.insert(m);
    *module = m;
    return kSuccess;
  });
}

// The options only steer the compiler that a real driver runs over the PTX.
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) { return cuModuleLoadData(module, image); }

EXPORT int cuModuleUnload(void *module) {
  return guarded([=](Driver &d) {
    Module *m = static_cast<Module *>(module);
    if (d.modules.erase(m) == 0) return kInvalidHandle;
    for (auto &f : m->functions) d.functions.erase(&f.second);
    delete m;
    return kSuccess;
  });
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  return guarded([=](Driver &d) {
    Module *m = static_cast<Module *>(module);
    if (d.modules.count(m) == 0) return kInvalidHandle;
    auto found = m->functions.find(name);
    if (found == m->functions.end()) return kNotFound;
    if (found->second.kernel == nullptr) {
      report("%s is in the PTX but in no kernel file", name);
      return kNotFound;
    }
    d.functions.insert(&found->second);
    *function = &found->second;
    return kSuccess;
  });
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  return guarded([=](Driver &d) {
    Function *f = static_cast<Function *>(function);
    if (d.functions.count(f) == 0) return kInvalidHandle;
    if (attribute != 8) return kSuccess;  // hints: where caches end and shared memory begins
    if (value < 0 || static_cast<size_t>(value) > kMaxDynamicShared) return kInvalidValue;
    f->dynamic_shared = static_cast<size_t>(value);
    return kSuccess;
  });
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  return guarded([=](Driver &d) {
    Function *f = static_cast<Function *>(function);
    if (d.functions.count(f) == 0) return kInvalidHandle;
    *value = attribute == 0 ? f->max_threads : attribute == 8 ? static_cast<int>(f->dynamic_shared) : 0;
    return kSuccess;
  });
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
  return guarded([=](Driver &d) {
    Function *f = static_cast<Function *>(function);
    if (d.functions.count(f) == 0 || !known_stream(d, stream)) return kInvalidHandle;
    if (extra != nullptr) return kNotSupported;
    Launch launch = {f->kernel, parameters, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared};
    return launch_kernel(d, *f, launch);
  });
}

// ---- streams and events ----

EXPORT int cuStreamCreate(void **stream, unsigned) {
  return guarded([=](Driver &d) {
    *stream = malloc(1);
    d.streams.insert(*stream);
    return kSuccess;
  });
}

EXPORT int cuStreamDestroy_v2(void *stream) {
  return guarded([=](Driver &d) {
    if (d.streams.erase(stream) == 0) return kInvalidHandle;
    free(stream);
    return kSuccess;
  });
}
EXPORT int cuStreamDestroy(void *stream) { return cuStreamDestroy_v2(stream); }

EXPORT int cuStreamSynchronize(void *stream) {
  return guarded([=](Driver &d) { return known_stream(d, stream) ? synchronise(d) : kInvalidHandle; });
}

EXPORT int cuEventCreate(void **event, unsigned) {
  return guarded([=](Driver &d) {
    Event *e = new Event{0, false};
    d.events.insert(e);
    *event = e;
    return kSuccess;
  });
}

EXPORT int cuEventDestroy_v2(void *event) {
  return guarded([=](Driver &d) {
    Event *e = static_cast<Event *>(event);
    if (d.events.erase(e) == 0) return kInvalidHandle;
    delete e;
    return kSuccess;
  });
}
EXPORT int cuEventDestroy(void *event) { return cuEventDestroy_v2(event); }

EXPORT int cuEventRecord(void *event, void *stream) {
  return guarded([=](Driver &d) {
    Event *e = static_cast<Event *>(event);
    if (d.events.count(e) == 0 || !known_stream(d, stream)) return kInvalidHandle;
    *e = {now(), true};
    return kSuccess;
  });
}

EXPORT int cuEventSynchronize(void *event) {
  return guarded([=](Driver &d) { return d.events.count(static_cast<Event *>(event)) != 0 ? synchronise(d) : kInvalidHandle; });
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  return guarded([=](Driver &d) {
    Event *a = static_cast<Event *>(start), *b = static_cast<Event *>(end);
    if (d.events.count(a) == 0 || d.events.count(b) == 0 || !a->recorded || !b->recorded) return kInvalidHandle;
    *milliseconds = static_cast<float>(b->milliseconds - a->milliseconds);
    return kSuccess;
  });
}

// ---- errors in words ----

EXPORT int cuGetErrorName(int error, const char **text) {
  *text = error_name(error);
  return *text != nullptr ? kSuccess : kInvalidValue;
}

EXPORT int cuGetErrorString(int error, const char **text) {
  *text = error_text(error);
  return *text != nullptr ? kSuccess : kInvalidValue;
}

// ---- for tests and for the cuBLAS beside this library ----

EXPORT void emulatorTotals(Totals *to) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  *to = totals;
}

// emulatorLaunches writes a line "name count" for each kernel that ran; it returns the bytes that all lines need.
EXPORT uint64_t emulatorLaunches(char *to, uint64_t size) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  std::string lines;
  for (const auto &entry : driver().launches) lines += entry.first + " " + std::to_string(entry.second) + "\n";
  if (lines.size() <= size) memcpy(to, lines.data(), lines.size());
  return lines.size();
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

EXPORT const char *emulatorFailure() { return failure(); }

// emulatorProduct is asked by the cuBLAS before it multiplies: 0, or the driver's error that forbids it.
EXPORT int emulatorProduct(const uint64_t addresses[3], const uint64_t bytes[3]) {
  return guarded([=](Driver &) {
    for (int i = 0; i < 3; i++) {
      if (!on_device("cuBLAS", addresses[i], bytes[i])) return lose(kIllegalAddress);
    }
    totals.products++;
    return kSuccess;
  });
}
