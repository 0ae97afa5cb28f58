// Streams that capture, and the graphs that they make: the work of a stream from the begin to the end of its capture, in order.
#include "driver.h"

namespace emulator {
namespace {

Stream *capturing(Driver &d, void *stream) {
  if (d.streams.count(stream) == 0) return nullptr;
  Stream *s = static_cast<Stream *>(stream);
  return s->capture != nullptr ? s : nullptr;
}

// invalidate ends the use of the device's captures that f names. It returns whether there was one.
template <typename F>
bool invalidate(Driver &d, F f) {
  bool any = false;
  for (void *stream : d.streams) {
    Stream *s = capturing(d, stream);
    if (s == nullptr || s->device != current_device || !f(*s)) continue;
    any = s->invalid = true;
  }
  return any;
}

bool legacy(void *stream) { return stream == nullptr || stream == reinterpret_cast<void *>(1); }

}  // namespace

bool captures(Driver &d, void *stream) { return capturing(d, stream) != nullptr; }

Result admit(Driver &d, void *stream) {
  if (!known_stream(d, stream)) return kInvalidHandle;
  if (legacy(stream) && invalidate(d, [](const Stream &s) { return s.blocking; })) return kCaptureImplicit;
  Stream *s = capturing(d, stream);
  return s != nullptr && s->invalid ? kCaptureInvalidated : kSuccess;
}

Result enqueue(Driver &d, void *stream, const Work &work) {
  if (Result bad = admit(d, stream)) return bad;
  Stream *s = capturing(d, stream);
  if (s == nullptr) return work(d);
  s->capture->work.push_back(work);
  return kSuccess;
}

Result immediate(Driver &d, void *stream) {
  if (Result bad = admit(d, stream)) return bad;
  Stream *s = capturing(d, stream);
  if (s == nullptr) return kSuccess;
  s->invalid = true;
  return kCaptureUnsupported;
}

Result immediate(Driver &d) {
  return invalidate(d, [](const Stream &) { return true; }) ? kCaptureUnsupported : kSuccess;
}

Result timed(Driver &d, const Event *e) {
  if (e->captured_in == nullptr) return kSuccess;
  if (Stream *s = capturing(d, e->captured_in)) s->invalid = true;
  return kCapturedEvent;
}

}  // namespace emulator

using namespace emulator;

// Of the modes there is only the one that lets all threads allocate during a capture.
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
  constexpr int kRelaxed = 2;
  return guarded([=](Driver &d) {
    if (!known_stream(d, stream)) return kInvalidHandle;
    if (d.streams.count(stream) == 0) return kCaptureUnsupported;
    if (mode != kRelaxed) return kNotSupported;
    if (captures(d, stream)) return kInvalidValue;
    Stream *s = static_cast<Stream *>(stream);
    s->capture = new Graph;
    s->invalid = false;
    return kSuccess;
  });
}

EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  return guarded([=](Driver &d) {
    *graph = nullptr;
    Stream *s = capturing(d, stream);
    if (s == nullptr) return known_stream(d, stream) ? kInvalidValue : kInvalidHandle;
    Graph *g = s->capture;
    s->capture = nullptr;
    if (s->invalid) {
      delete g;
      return kCaptureInvalidated;
    }
    d.graphs.insert(g);
    *graph = g;
    return kSuccess;
  });
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  return guarded([=](Driver &d) {
    if (d.graphs.count(graph) == 0) return kInvalidHandle;
    if (flags != 0) return kNotSupported;
    *executable = new Graph(*static_cast<Graph *>(graph));
    d.executables.insert(*executable);
    return kSuccess;
  });
}

// A graph within a graph is not supported: it refuses a stream that captures.
EXPORT int cuGraphLaunch(void *executable, void *stream) {
  return guarded([=](Driver &d) {
    if (d.executables.count(executable) == 0) return kInvalidHandle;
    if (Result bad = immediate(d, stream)) return bad;
    totals.graphs++;
    for (const Work &work : static_cast<Graph *>(executable)->work) {
      if (Result bad = work(d)) return bad;
      if (d.lost != 0) break;  // a fault that comes later
    }
    return kSuccess;
  });
}

static Result drop_graph(std::set<void *> &from, void *graph) {
  if (from.erase(graph) == 0) return kInvalidHandle;
  delete static_cast<Graph *>(graph);
  return kSuccess;
}

EXPORT int cuGraphDestroy(void *graph) {
  return guarded([=](Driver &d) { return drop_graph(d.graphs, graph); });
}

EXPORT int cuGraphExecDestroy(void *executable) {
  return guarded([=](Driver &d) { return drop_graph(d.executables, executable); });
}
