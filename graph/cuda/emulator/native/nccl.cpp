// A libnccl.so.2 for emulated devices, of one process or of several on one machine. Ranks share a file in /dev/shm, which the
// id names. A communicator does not block: a thread of its own runs each group of collectives, and its state says when all is
// done, so that later work on the stream finds the results. Sums are in the order of ranks, in float32.
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" int emulatorCollective(uint64_t address, uint64_t bytes, void *stream);

namespace {

enum Result { kSuccess = 0, kUnhandledCuda = 1, kSystem = 2, kInternal = 3, kInvalidArgument = 4, kInvalidUsage = 5, kRemote = 6, kInProgress = 7 };
enum Kind { kReduce, kBroadcast };
constexpr int kFloat32 = 7, kSum = 0, kUndefined = INT_MIN;
constexpr int kMaxRanks = 64;
constexpr size_t kChunk = 1 << 14;  // floats that ranks exchange at a time

struct UniqueId {
  char internal[128];
};

// Config is ncclConfig_t of NCCL 2.18.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster, min_ctas, max_ctas;
  const char *net;
  int split_share;
};

struct Call {
  int kind, root;
  size_t count;
  bool operator==(const Call &c) const { return kind == c.kind && root == c.root && count == c.count; }
};

// Shared is the file.
struct Shared {
  std::atomic<uint64_t> arrived;  // at all meetings so far
  Call calls[kMaxRanks];          // what each rank does at the next meeting
  float data[1];                  // [ranks, kChunk]
};

struct Operation {
  Call call;
  const float *from;
  float *to;
};

struct Comm {
  int rank, ranks;
  std::string path, error;
  Shared *shared = nullptr;
  size_t bytes = 0;
  uint64_t meetings = 0;
  int groups = 0;
  std::atomic<int> state{kInProgress};
  std::atomic<bool> aborted{false};
  std::thread worker;
};

thread_local int depth = 0;
thread_local std::vector<Operation> queued;
thread_local Comm *queued_on = nullptr;

// setting returns the number of "NAME:number" in RESIDUA_EMULATOR_NCCL, or otherwise.
int setting(const char *name, int otherwise) {
  const char *text = getenv("RESIDUA_EMULATOR_NCCL");
  size_t n = strlen(name);
  return text != nullptr && strncmp(text, name, n) == 0 && text[n] == ':' ? atoi(text + n + 1) : otherwise;
}

// meet waits until all ranks have come to their next meeting; false: the communicator was aborted.
bool meet(Comm *c) {
  c->shared->arrived++;
  uint64_t all = ++c->meetings * static_cast<uint64_t>(c->ranks);
  for (int spins = 0; c->shared->arrived < all; spins++) {
    if (c->aborted) return false;
    if (spins > 50) usleep(20);
  }
  return true;
}

void fail(Comm *c, Result state, const char *error) {
  c->error = error;
  c->state = state;
}

// join maps the file; its state is then kSuccess once all ranks have.
void join(Comm *c) {
  c->bytes = sizeof(Shared) + static_cast<size_t>(c->ranks) * kChunk * sizeof(float);
  int file = open(c->path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(c->bytes)) != 0) return fail(c, kSystem, "no shared memory");
  void *p = mmap(nullptr, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (p == MAP_FAILED) return fail(c, kSystem, "no shared memory");
  c->shared = static_cast<Shared *>(p);
  if (!meet(c)) return;
  unlink(c->path.c_str());
  c->state = kSuccess;
}

// run does a collective; false: it was aborted or failed.
bool run(Comm *c, const Operation &o) {
  float *slots = c->shared->data;
  for (size_t at = 0; at < o.call.count; at += kChunk) {
    size_t n = o.call.count - at < kChunk ? o.call.count - at : kChunk;
    bool root = c->rank == o.call.root;
    c->shared->calls[c->rank] = o.call;
    if (o.call.kind == kReduce || root) memcpy(slots + static_cast<size_t>(c->rank) * kChunk, o.from + at, n * sizeof(float));
    if (!meet(c)) return false;
    for (int r = 0; r < c->ranks; r++) {
      if (!(c->shared->calls[r] == o.call)) return fail(c, kInvalidUsage, "ranks have different collectives"), false;
    }
    for (size_t i = 0; root && o.call.kind == kReduce && i < n; i++) {
      float sum = slots[i];
      for (int r = 1; r < c->ranks; r++) sum += slots[static_cast<size_t>(r) * kChunk + i];
      o.to[at + i] = sum;
    }
    if (!root && o.call.kind == kBroadcast) memcpy(o.to + at, slots + static_cast<size_t>(o.call.root) * kChunk, n * sizeof(float));
    if (!meet(c)) return false;
  }
  return true;
}

void run_group(Comm *c, std::vector<Operation> operations) {
  while (c->groups == setting("hangs", 0) && !c->aborted) usleep(1000);
  if (c->groups == setting("fails", 0)) return fail(c, kRemote, "the network is down");
  for (const Operation &o : operations) {
    if (!run(c, o)) return;
  }
  c->state = kSuccess;
}

int queue(Comm *c, Call call, const void *from, void *to, int type, void *stream) {
  if (depth == 0 || (queued_on != nullptr && queued_on != c)) return kInvalidUsage;
  if (type != kFloat32 || call.root < 0 || call.root >= c->ranks) return kInvalidArgument;
  uint64_t bytes = call.count * sizeof(float);
  bool reads = call.kind == kReduce || call.root == c->rank, writes = call.kind == kBroadcast || call.root == c->rank;
  if (reads && emulatorCollective(reinterpret_cast<uint64_t>(from), bytes, stream) != 0) return kUnhandledCuda;
  if (writes && emulatorCollective(reinterpret_cast<uint64_t>(to), bytes, stream) != 0) return kUnhandledCuda;
  queued_on = c;
  queued.push_back({call, static_cast<const float *>(from), static_cast<float *>(to)});
  return kSuccess;
}

int finish(Comm *c) {
  c->aborted = true;
  if (c->worker.joinable()) c->worker.join();
  if (c->shared != nullptr) munmap(c->shared, c->bytes);
  unlink(c->path.c_str());
  delete c;
  return kSuccess;
}

}  // namespace

EXPORT int ncclGetVersion(int *version) {
  *version = setting("version", 21803);
  return kSuccess;
}

EXPORT int ncclGetUniqueId(UniqueId *id) {
  std::random_device random;
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "%08x%08x", random(), random());
  return kSuccess;
}

EXPORT int ncclCommInitRankConfig(Comm **comm, int ranks, UniqueId id, int rank, Config *config) {
  if (config == nullptr || config->size < sizeof(Config) || config->magic != 0xcafebeef || config->blocking != 0) return kInvalidArgument;
  if (config->cluster != kUndefined || config->net != nullptr || config->split_share != kUndefined) return kInvalidArgument;
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks || id.internal[0] == '\0') return kInvalidArgument;
  Comm *c = new Comm;
  c->rank = rank, c->ranks = ranks;
  c->path = std::string("/dev/shm/residua-nccl-") + id.internal;
  c->worker = std::thread(join, c);
  *comm = c;
  return kInProgress;
}

EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, Comm *c, void *stream) {
  return op != kSum ? kInvalidArgument : queue(c, {kReduce, root, count}, from, to, type, stream);
}

EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, Comm *c, void *stream) {
  return queue(c, {kBroadcast, root, count}, from, to, type, stream);
}

EXPORT int ncclGroupStart() {
  depth++;
  return kSuccess;
}

EXPORT int ncclGroupEnd() {
  if (depth == 0) return kInvalidUsage;
  if (--depth > 0 || queued.empty()) return kSuccess;
  Comm *c = queued_on;
  queued_on = nullptr;
  if (c->state != kSuccess) return queued.clear(), kInvalidUsage;
  c->worker.join();
  c->groups++;
  c->state = kInProgress;
  c->worker = std::thread(run_group, c, std::move(queued));
  queued.clear();
  return kInProgress;
}

EXPORT int ncclCommGetAsyncError(Comm *c, int *state) {
  *state = c->state;
  return kSuccess;
}

EXPORT int ncclCommAbort(Comm *c) { return finish(c); }

EXPORT const char *ncclGetLastError(Comm *c) { return c == nullptr ? "" : c->error.c_str(); }

EXPORT const char *ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess: return "no error";
    case kUnhandledCuda: return "unhandled cuda error";
    case kSystem: return "unhandled system error";
    case kInternal: return "internal error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case kRemote: return "remote process exited or there was a network error";
    case kInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}
