// A libcuda.so.1 whose devices are this processor: the part of the driver's interface that the binding calls, with its checks.
// Kernels run where they are launched, before cuLaunchKernel returns, unless their stream captures; copies to the host that are
// asynchronous arrive when somebody waits for them, as late as a real device's may. driver_*.cpp hold the interface, this file what
// they share.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fibers.h"
#include "memory.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace emulator {

constexpr size_t kFreeShared = 48 << 10;  // static and dynamic shared memory of a kernel that did not ask for more

constexpr int kMaxDevices = 8;

struct Function {
  const Kernel *kernel;
  size_t static_shared = 0;   // bytes that its PTX declares
  size_t dynamic_shared = 0;  // bytes that it asked for
  int max_threads = kMaxThreads;
};

struct Module {
  std::map<std::string, Function> functions;
};

struct Event {
  double milliseconds;
  bool recorded;
  void *captured_in = nullptr;  // the stream that captured when the event was last recorded in it
};

// A Delivery is what an asynchronous copy has read and not yet given to the host.
struct Delivery {
  void *to;
  std::vector<unsigned char> bytes;
};

struct Driver;

// A Work is a piece of a stream's work: its call runs it, or, if the stream captures, each launch of its graph.
typedef std::function<Result(Driver &)> Work;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  int device;
  bool blocking;             // it waits for the legacy stream, and that for it
  Graph *capture = nullptr;  // what it has recorded
  bool invalid = false;      // there was a call that a capture does not allow
};

struct Driver {
  std::mutex mutex;
  bool initialised = false;
  int lost = 0;  // the error that every call returns from now on
  std::set<Module *> modules;
  std::set<Function *> functions;
  std::set<Event *> events;
  std::set<void *> streams;  // Streams
  std::set<void *> graphs, executables;  // Graphs
  std::vector<Delivery> deliveries;
  std::map<std::string, uint64_t> launches;
  int holds[kMaxDevices] = {};  // on the devices' primary contexts
  int handles = 0;              // of cuBLAS
  double delays[1 + kAlgorithms] = {};  // further milliseconds of a product on the events' clock, by its algorithm
  double delayed = 0;                   // their sum
};

Driver &driver();

// current_context is the calling thread's: null or the address of its device's entry here.
extern int context_objects[kMaxDevices];
extern thread_local void *current_context;

// most_shared is the static and dynamic shared memory that a block may have if its kernel asks for it.
size_t most_shared();

const Kernel *find_kernel(const char *name);
bool kernels_clash();  // two have one name

// lose makes an error stay, as one in a kernel does.
Result lose(Result error);

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

// deliver hands over what asynchronous copies have read.
void deliver(Driver &d);

// synchronise is what waiting for the device comes to.
Result synchronise(Driver &d);

// known_stream is true of the default streams and of those that were made.
bool known_stream(Driver &d, void *stream);

// captures is whether a stream records its work.
bool captures(Driver &d, void *stream);

// enqueue runs a stream's work, or records it if the stream captures.
Result enqueue(Driver &d, void *stream, const Work &work);

// immediate is asked by calls that cannot be recorded: a stream that captures refuses them, and its capture becomes invalid. Without a
// stream, all of the device's are asked.
Result immediate(Driver &d, void *stream);
Result immediate(Driver &d);

// admit is the part of enqueue and immediate that they share: a stream that exists, whose capture is valid, and is not the legacy one
// while a stream captures that waits for it.
Result admit(Driver &d, void *stream);

// timed refuses an event that was last recorded in a stream that captured, for it has no time.
Result timed(Driver &d, const Event *e);

// on_device reports a call with memory that is not all in one allocation.
bool on_device(const char *call, uint64_t address, uint64_t bytes);

inline unsigned char *at(uint64_t address) { return reinterpret_cast<unsigned char *>(address); }

}  // namespace emulator
