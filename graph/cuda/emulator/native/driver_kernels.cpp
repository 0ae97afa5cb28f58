// Modules, which are PTX of which only the kernels' names, most threads and static shared memory are read, and launches.
#include <stdlib.h>
#include <string.h>

#include <cstddef>

#include "driver.h"

namespace emulator {
namespace {

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

const char *skip_blanks(const char *p) {
  while (*p == ' ' || *p == '\t' || *p == '\n') p++;
  return p;
}

// mentions says whether a name stands in a text as a whole word.
bool mentions(const std::string &text, const std::string &name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if ((at == 0 || !name_character(text[at - 1])) && !name_character(text.c_str()[at + name.size()])) return true;
  }
  return false;
}

// static_shared adds up the shared arrays that a kernel's body mentions. They are declared anywhere in the PTX, as in
// ".shared .align 4 .b8 name[768];", and those of a launch, which begin after them at a multiple of their alignment, as ".extern .shared".
size_t static_shared(const std::string &body, const char *ptx) {
  size_t sum = 0, launch = 1;
  for (const char *p = strstr(ptx, ".shared .align "); p != nullptr; p = strstr(p + 1, ".shared .align ")) {
    size_t alignment = 1, width = 0, count = 0;
    char name[512];
    if (sscanf(p, ".shared .align %zu .%*c%zu %511[^][; ][%zu]", &alignment, &width, name, &count) < 3) continue;
    if (p - ptx > 8 && strncmp(p - 8, ".extern ", 8) == 0) {
      launch = alignment;
      continue;
    }
    if (mentions(body, name)) sum = (sum + alignment - 1) / alignment * alignment + width / 8 * (count == 0 ? 1 : count);
  }
  return (sum + launch - 1) / launch * launch;
}

// read_entry reads an entry's name at p and, before its body begins, the most threads it was compiled for.
void read_entry(const char *p, const char *ptx, Module *m) {
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
  const char *next = strstr(end, ".entry");
  if (body != nullptr) f.static_shared = static_shared(std::string(body, next != nullptr ? next : end + strlen(end)), ptx);
  m->functions[name] = f;
}

Module *read_module(const char *ptx) {
  Module *m = new Module;
  for (const char *p = strstr(ptx, ".entry"); p != nullptr; p = strstr(p, ".entry")) {
    p += strlen(".entry");
    read_entry(p, ptx, m);
  }
  return m;
}

Result check_sizes(const Function &f, const Launch &l) {
  uint64_t threads = static_cast<uint64_t>(l.block.x) * l.block.y * l.block.z;
  uint64_t blocks = static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z;
  const char *name = f.kernel->name;
  if (blocks == 0 || threads == 0 || l.grid.x > 0x7fffffffu || l.grid.y > 65535 || l.grid.z > 65535 || threads > kMaxThreads ||
      l.block.z > 64) {
    report("%s: no grid of %ux%ux%u blocks of %ux%ux%u threads", name, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z);
    return kInvalidValue;
  }
  if (l.shared > f.dynamic_shared && l.shared + f.static_shared > kFreeShared) {
    report("%s: %zu bytes of static and %zu of dynamic shared memory, want at most %zu in all, or %zu dynamic ones (cuFuncSetAttribute)",
           name, f.static_shared, l.shared, kFreeShared, f.dynamic_shared);
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

// later makes a kernel's error come as a real device's does: the launch succeeds, calls after it fail, unless CUDA_LAUNCH_BLOCKING=1
// makes every launch wait.
Result later(Result error) {
  const char *faults = getenv("RESIDUA_EMULATOR_FAULTS"), *blocking = getenv("CUDA_LAUNCH_BLOCKING");
  lose(error);
  if (faults == nullptr || strcmp(faults, "later") != 0) return error;
  return blocking != nullptr && strcmp(blocking, "1") == 0 ? error : kSuccess;
}

// A Parameters holds the values of a kernel's parameters, each aligned as any type wants it.
class Parameters {
 public:
  Parameters(const Kernel &kernel, void **from) : kernel_(kernel) {
    for (int i = 0; i < kernel.count; i++) {
      size_t at = values_.size();
      values_.resize(at + units(i));
      memcpy(&values_[at], from[i], kernel.sizes[i]);
    }
  }

  // list writes the address of each.
  void list(void *to[kMaxParameters]) {
    for (int i = 0, at = 0; i < kernel_.count; at += units(i++)) to[i] = &values_[at];
  }

 private:
  int units(int i) const { return static_cast<int>((kernel_.sizes[i] + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)); }
  const Kernel &kernel_;
  std::vector<std::max_align_t> values_;
};

Result launch_kernel(Driver &d, const Launch &l) {
  if (Result bad = check_pointers(l)) return later(bad);
  d.launches[l.kernel->name]++;
  totals.launches++;
  const char *faulty = getenv("RESIDUA_EMULATOR_FAULT");
  if (faulty != nullptr && strcmp(faulty, l.kernel->name) == 0) {
    report("%s: a fault that RESIDUA_EMULATOR_FAULT asks for", faulty);
    return later(kIllegalAddress);
  }
  if (int error = run_grid(l)) return later(static_cast<Result>(error));
  return damaged(l.kernel->name) ? later(kIllegalAddress) : kSuccess;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

EXPORT int cuModuleLoadData(void **module, const void *image) {
  return guarded([=](Driver &d) {
    const char *ptx = static_cast<const char *>(image);
    if (strstr(ptx, ".version") == nullptr) return kInvalidPTX;
    Module *m = read_module(ptx);
    d.modules.insert(m);
    totals.modules++;
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
    if (value < 0 || static_cast<size_t>(value) + f->static_shared > most_shared()) return kInvalidValue;
    f->dynamic_shared = static_cast<size_t>(value);
    return kSuccess;
  });
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  return guarded([=](Driver &d) {
    Function *f = static_cast<Function *>(function);
    if (d.functions.count(f) == 0) return kInvalidHandle;
    *value = attribute == 0   ? f->max_threads
             : attribute == 1 ? static_cast<int>(f->static_shared)
             : attribute == 8 ? static_cast<int>(f->dynamic_shared)
                              : 0;
    return kSuccess;
  });
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
  return guarded([=](Driver &d) {
    Function *f = static_cast<Function *>(function);
    if (d.functions.count(f) == 0) return kInvalidHandle;
    if (extra != nullptr) return kNotSupported;
    Launch launch = {f->kernel, parameters, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared};
    if (Result bad = check_sizes(*f, launch)) return bad;
    return enqueue(d, stream, [f, launch, values = Parameters(*f->kernel, parameters)](Driver &d) mutable {
      if (d.functions.count(f) == 0) return kInvalidHandle;
      void *addresses[kMaxParameters];
      Launch again = launch;
      again.parameters = addresses;
      values.list(addresses);
      return launch_kernel(d, again);
    });
  });
}
