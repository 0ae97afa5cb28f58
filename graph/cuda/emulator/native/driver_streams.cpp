// Streams and events. There is one order of all work, whatever the stream.
#include <time.h>

#include "driver.h"

namespace emulator {
namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  constexpr unsigned kNonBlocking = 1;
  return guarded([=](Driver &d) {
    *stream = new Stream{current_device, (flags & kNonBlocking) == 0};
    d.streams.insert(*stream);
    return kSuccess;
  });
}

EXPORT int cuStreamDestroy_v2(void *stream) {
  return guarded([=](Driver &d) {
    if (d.streams.count(stream) == 0) return kInvalidHandle;
    if (Result bad = immediate(d, stream)) return bad;
    d.streams.erase(stream);
    delete static_cast<Stream *>(stream);
    return kSuccess;
  });
}
EXPORT int cuStreamDestroy(void *stream) { return cuStreamDestroy_v2(stream); }

// Only what asynchronous copies have read is on its way.
EXPORT int cuStreamQuery(void *stream) {
  return guarded([=](Driver &d) {
    if (Result bad = immediate(d, stream)) return bad;
    return d.deliveries.empty() ? kSuccess : kNotReady;
  });
}

EXPORT int cuStreamSynchronize(void *stream) {
  return guarded([=](Driver &d) {
    if (Result bad = immediate(d, stream)) return bad;
    return synchronise(d);
  });
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
    if (d.events.count(e) == 0) return kInvalidHandle;
    if (Result bad = admit(d, stream)) return bad;
    if (captures(d, stream)) {
      *e = {0, false, stream};
      return kSuccess;
    }
    *e = {now() + d.delayed, true};
    totals.events++;
    return kSuccess;
  });
}

EXPORT int cuEventSynchronize(void *event) {
  return guarded([=](Driver &d) {
    Event *e = static_cast<Event *>(event);
    if (d.events.count(e) == 0) return kInvalidHandle;
    if (Result bad = timed(d, e)) return bad;
    return synchronise(d);
  });
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  return guarded([=](Driver &d) {
    Event *a = static_cast<Event *>(start), *b = static_cast<Event *>(end);
    if (d.events.count(a) == 0 || d.events.count(b) == 0) return kInvalidHandle;
    for (const Event *e : {a, b}) {
      if (Result bad = timed(d, e)) return bad;
      if (!e->recorded) return kInvalidHandle;
    }
    *milliseconds = static_cast<float>(b->milliseconds - a->milliseconds);
    return kSuccess;
  });
}
