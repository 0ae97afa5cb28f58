#include "fault.h"

#include <pthread.h>
#include <stdint.h>
#include <ucontext.h>

namespace emulator {

#if defined(__x86_64__) && !defined(EMULATOR_UCONTEXT)

// Saves the registers that a callee must keep on the stack, changes stacks, and takes the others' registers from there.
asm(R"(
  .text
  .globl emulator_switch
  .hidden emulator_switch
  .type emulator_switch, @function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  .globl emulator_resume
  .hidden emulator_resume
  .type emulator_resume, @function
emulator_resume:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulator_switch, .-emulator_switch
)");

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
constexpr int kCount = sizeof kSignals / sizeof kSignals[0];

pthread_t owner;
FaultGuard::Report report_fault;
Context *resume_at;
struct sigaction before[kCount];

void pass_on(int signal, siginfo_t *info, void *context) {
  for (int i = 0; i < kCount; i++) {
    if (kSignals[i] != signal) continue;
    const struct sigaction &old = before[i];
    if (old.sa_flags & SA_SIGINFO) {
      old.sa_sigaction(signal, info, context);
    } else if (old.sa_handler == SIG_DFL) {
      sigaction(signal, &old, nullptr);  // the instruction faults once more, and then ends the process
    } else if (old.sa_handler != SIG_IGN) {
      old.sa_handler(signal);
    }
  }
}

void handle(int signal, siginfo_t *info, void *context) {
  if (!pthread_equal(pthread_self(), owner)) {
    pass_on(signal, info, context);
    return;
  }
  report_fault(signal, info->si_addr);
  // Returning from the handler goes on as a switch to the guard's context would.
  mcontext_t &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
  machine.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(resume_at->stack_pointer));
  machine.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(&emulator_resume));
}

}  // namespace

FaultGuard::FaultGuard(Report report, Context *resume) {
  owner = pthread_self();
  report_fault = report;
  resume_at = resume;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (int i = 0; i < kCount; i++) sigaction(kSignals[i], &action, &before[i]);
}

FaultGuard::~FaultGuard() {
  for (int i = 0; i < kCount; i++) sigaction(kSignals[i], &before[i], nullptr);
}

#else

// Without a switch of our own there is no safe place to go on at: a fault ends the process.
FaultGuard::FaultGuard(Report, Context *) {}
FaultGuard::~FaultGuard() {}

#endif

}  // namespace emulator
