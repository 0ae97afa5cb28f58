// Streams and events. There is one order of all work, whatever the stream.
#include <stdlib.h>
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

// Only what asynchronous copies have read is on its way.
EXPORT int cuStreamQuery(void *stream) {
  return guarded([=](Driver &d) {
    if (!known_stream(d, stream)) return kInvalidHandle;
    return d.deliveries.empty() ? kSuccess : kNotReady;
  });
}

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
    *e = {now() + d.delayed, true};
    totals.events++;
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
