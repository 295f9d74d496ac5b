// A kernel is the user's C++: it may write where it likes, recurse for ever, divide by zero or spin
// without a call. Each of these reaches us as a signal, and ends the run instead of the process:
// the interrupted kernel is made to go on in `divert`, on a stack of its own, and leaves from
// there.
#include <cstdio>
#include <cstring>

#include "forks.h"
#include "running.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

namespace ttl_host {

namespace {

constexpr int stop_signal = SIGURG;  // ignored by default, and used by nobody else
constexpr int caught_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, stop_signal};
constexpr int caught_count = sizeof(caught_signals) / sizeof(int);
constexpr size_t alternate_bytes = 64 * 1024;
constexpr size_t divert_bytes = 64 * 1024;

struct sigaction previous[caught_count];
int guards = 0;  // runs that are going on, in whatever thread
pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;

// What the handler found, for `divert`; a thread runs one program at a time.
thread_local int diverted_signal;
thread_local uintptr_t diverted_address;
thread_local uint8_t* divert_stack;

uintptr_t& program_counter(ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<uintptr_t&>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return reinterpret_cast<uintptr_t&>(context.uc_mcontext.pc);
#endif
}

uintptr_t& stack_pointer(ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<uintptr_t&>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return reinterpret_cast<uintptr_t&>(context.uc_mcontext.sp);
#endif
}

bool is_in_guard(const Fiber& fiber, uintptr_t address) {
  const auto guard = reinterpret_cast<uintptr_t>(fiber.stack - guard_bytes);
  return address >= guard && address < guard + guard_bytes;
}

[[noreturn]] void divert() {
  Fiber& fiber = *running;
  const int line = static_cast<int>(fiber.line);
  if (diverted_signal == stop_signal) {
    snprintf(fiber.lane->message, sizeof(fiber.lane->message), "0");
    leave(fiber, static_cast<TtlStatus>(__atomic_load_n(&fiber.run->program->stop, __ATOMIC_RELAXED)),
          line);
  }
  if (diverted_signal == SIGFPE) fault(line, "the kernel divides by zero after this call");
  if (diverted_signal == SIGILL)
    fault(line, "an int of the kernel leaves its 32 bits after this call");
  if (is_in_guard(fiber, diverted_address))
    fault(line, "the kernel needs more than the %zu bytes of its stack", stack_bytes);
  fault(line, "the kernel uses address 0x%llx, which is not in the L1 of its node",
        static_cast<unsigned long long>(diverted_address));
}

void go_on_in_divert(ucontext_t& context) {
  // As at the start of a function: x86-64 has pushed a return address there.
  uintptr_t top = reinterpret_cast<uintptr_t>(divert_stack + divert_bytes) & ~uintptr_t{15};
#if defined(__x86_64__)
  top -= 8;
#endif
  stack_pointer(context) = top;
  program_counter(context) = reinterpret_cast<uintptr_t>(divert);
}

int position_of(int signal_number) {
  for (int i = 0; i < caught_count; ++i)
    if (caught_signals[i] == signal_number) return i;
  return 0;
}

// Not ours: as if we were not there.
void hand_on(int signal_number, siginfo_t* information, void* context) {
  const struct sigaction& before = previous[position_of(signal_number)];
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal_number, information, context);
  if (before.sa_handler == SIG_IGN || signal_number == stop_signal) return;
  if (before.sa_handler != SIG_DFL) return before.sa_handler(signal_number);
  sigaction(signal_number, &before, nullptr);  // the instruction is tried again, and ends us
}

// Is a kernel's own code to be left for a stop? Elsewhere the runtime may hold a lock of the C library.
bool is_to_leave(const TtlProgram& program, uintptr_t counter) {
  return __atomic_load_n(&program.stop, __ATOMIC_ACQUIRE) &&
         counter >= __atomic_load_n(&program.code_begin, __ATOMIC_RELAXED) &&
         counter < __atomic_load_n(&program.code_end, __ATOMIC_RELAXED);
}

void look_at(int signal_number, siginfo_t* information, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  if (!running || !divert_stack) return hand_on(signal_number, information, raw_context);
  if (signal_number == stop_signal &&
      !is_to_leave(*running->run->program, program_counter(context)))
    return;
  diverted_signal = signal_number;
  diverted_address = reinterpret_cast<uintptr_t>(information->si_addr);
  go_on_in_divert(context);
}

void handle(int signal_number, siginfo_t* information, void* raw_context) {
  const int kept = errno;  // of what was interrupted
  look_at(signal_number, information, raw_context);
  errno = kept;
}

// Finds the code of the library that the first kernel is in.
int note_code(dl_phdr_info* library, size_t, void* raw_program) {
  TtlProgram& program = *static_cast<TtlProgram*>(raw_program);
  const auto wanted = reinterpret_cast<uintptr_t>(program.kernels[0].entry);
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    const uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || wanted < begin || wanted >= begin + segment.p_memsz) continue;
    __atomic_store_n(&program.code_begin, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&program.code_end, begin + segment.p_memsz, __ATOMIC_RELAXED);
    return 1;
  }
  return 0;
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < caught_count; ++i) sigaction(caught_signals[i], &action, &previous[i]);
}

void restore() {
  for (int i = 0; i < caught_count; ++i) sigaction(caught_signals[i], &previous[i], nullptr);
}

// A fork waits until handlers and their count agree. The runs that are going on are not in a child.
void lock_guards() { pthread_mutex_lock(&guards_lock); }
void unlock_guards() { pthread_mutex_unlock(&guards_lock); }
void forget_guards() {
  if (guards != 0) restore();
  guards = 0;
  guards_lock = PTHREAD_MUTEX_INITIALIZER;
}

const AtFork at_fork{forget_guards, lock_guards, unlock_guards};

}  // namespace

void give_signal_stack() {
  void* memory = divert_stack ? nullptr : malloc(alternate_bytes + divert_bytes);
  if (!memory) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = alternate_bytes;
  sigaltstack(&stack, nullptr);
  divert_stack = static_cast<uint8_t*>(memory) + alternate_bytes;
}

SignalGuard::SignalGuard() {
  pthread_mutex_lock(&guards_lock);
  if (guards++ == 0) install();
  pthread_mutex_unlock(&guards_lock);
}

SignalGuard::~SignalGuard() {
  pthread_mutex_lock(&guards_lock);
  if (--guards == 0) restore();
  pthread_mutex_unlock(&guards_lock);
}

}  // namespace ttl_host

void ttl_stop(TtlProgram* program, uint32_t status) {
  if (program->kernel_count) dl_iterate_phdr(ttl_host::note_code, program);
  __atomic_store_n(&program->stop, status, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < program->thread_count; ++i) {
    const uint64_t thread = __atomic_load_n(&program->threads[i], __ATOMIC_ACQUIRE);
    if (thread) pthread_kill(static_cast<pthread_t>(thread), ttl_host::stop_signal);
  }
}

#else

namespace ttl_host {

void give_signal_stack() {}
SignalGuard::SignalGuard() {}
SignalGuard::~SignalGuard() {}

}  // namespace ttl_host

void ttl_stop(TtlProgram* program, uint32_t status) {
  __atomic_store_n(&program->stop, status, __ATOMIC_RELAXED);
}

#endif
