// Two ways to leave one stack for another: a dozen instructions on x86-64, ucontext elsewhere.
#pragma once

#include <stddef.h>

namespace emulator {

#if defined(__x86_64__) && !defined(EMULATOR_UCONTEXT)

// A Context is where a fiber stopped: its stack pointer; its registers lie on its stack.
struct Context {
  void *stack_pointer = nullptr;
};

extern "C" void emulator_switch(void **save, void *to);
extern "C" void emulator_resume();  // the second half of emulator_switch

inline void switch_context(Context &from, Context &to) { emulator_switch(&from.stack_pointer, to.stack_pointer); }

// make_context lets the next switch to c call entry on the stack [bottom, bottom + size).
inline void make_context(Context &c, char *bottom, size_t size, void (*entry)()) {
  // The ABI wants the stack a multiple of 16 before a call, so 8 off at a function's first instruction.
  void **top = reinterpret_cast<void **>(bottom + size) - 1;
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  c.stack_pointer = top;
}

#else

}  // namespace emulator
#include <ucontext.h>
namespace emulator {

struct Context {
  ucontext_t context;
};

inline void switch_context(Context &from, Context &to) { swapcontext(&from.context, &to.context); }

inline void make_context(Context &c, char *bottom, size_t size, void (*entry)()) {
  getcontext(&c.context);
  c.context.uc_stack.ss_sp = bottom;
  c.context.uc_stack.ss_size = size;
  c.context.uc_link = nullptr;
  makecontext(&c.context, entry, 0);
}

#endif

}  // namespace emulator
