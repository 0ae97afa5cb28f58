// A kernel that touches memory it must not raises a signal; while a FaultGuard lives, such a signal in its thread is reported
// and the run goes on at the guard's context, where the grid was launched. Other threads' signals go on to who had them before.
#pragma once

#include <signal.h>

#include "switch.h"

namespace emulator {

class FaultGuard {
 public:
  typedef void (*Report)(int signal, const void *address);
  FaultGuard(Report report, Context *resume);
  ~FaultGuard();
};

}  // namespace emulator
