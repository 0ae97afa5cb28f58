// The state of a block that runs, and how its threads take turns.
#pragma once

#include <stddef.h>

#include <vector>

#include "fibers.h"
#include "switch.h"

namespace emulator {

constexpr size_t kSharedCanary = 4 << 10;
constexpr unsigned char kNaN = 0xff;

// A Copy is an asynchronous copy to shared memory that was begun and not waited for.
struct Copy {
  void *to;
  const void *from;
  int group;
};

// A Thread is what every switch needs of a thread; its rest is apart, so that a block's threads fit into the first cache.
struct Thread {
  Context context;
  uint3 index;
  bool started;
};

struct Rest {
  char *stack;  // null: not started, or ended
  int copy_group;
  std::vector<Copy> copies;
};

struct Warp {
  uint32_t existing, arrived;
  Exchange *lanes[32];
};

enum class Order { forward, backward, shuffle };

struct Scheduler {
  Launch launch;
  Order order;
  uint64_t random;

  Thread threads[kMaxThreads];
  Rest rest[kMaxThreads];
  Warp warps[kMaxThreads / 32];
  int count, ended, current;

  int thread_at[kMaxThreads], place_of[kMaxThreads];  // the order of running and its inverse
  uint64_t ready[kMaxThreads / 64];                   // by place
  int cursor;                                         // the place to look at next

  int waiting, predicates, result;  // of the block's barrier
  const char *file;
  int line;

  Context host;
  int error;
  std::vector<char *> stacks;  // free ones
  int stacks_made;
};

extern Scheduler s;
extern char dynamic_memory[kMaxDynamicShared + kSharedCanary];

// pick takes the next ready thread at or after the cursor, going round; -1 if there is none.
int pick();
void make_ready(int thread);
void make_all_ready();

// become makes a thread the current one; start gives one that has not run yet a stack of its own.
void become(int thread);
void start(int thread);

// wait lets others run until this thread is made ready and its turn comes.
void wait();

// fail ends the block: what the other threads have on their stacks is abandoned.
[[noreturn]] void fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// chosen_order is RESIDUA_EMULATOR_ORDER's; order_threads puts the block's threads into the order of the launch.
Order chosen_order();
void order_threads();

}  // namespace emulator
