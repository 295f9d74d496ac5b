#include "fiber.h"

#include <cstdint>

#ifdef __APPLE__
#define TTL_SYMBOL(name) "_" name
#else
#define TTL_SYMBOL(name) name
#endif

extern "C" void ttl_switch_stack(void** saved, void* next);

#if defined(__x86_64__)

asm(".text\n"
    ".p2align 4\n" TTL_SYMBOL("ttl_switch_stack") ":\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n");

namespace ttl_host {

static void lay_out_stack(Context& context, void* stack, size_t bytes, void (*entry)()) {
  uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t{15};
  auto* slot = reinterpret_cast<uintptr_t*>(top);
  *--slot = 0;  // a return address for `entry`, so that it starts with the alignment of a call
  *--slot = reinterpret_cast<uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--slot = 0;
  context.stack_pointer = slot;
}

}  // namespace ttl_host

#elif defined(__aarch64__)

asm(".text\n"
    ".p2align 4\n" TTL_SYMBOL("ttl_switch_stack") ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");

namespace ttl_host {

static void lay_out_stack(Context& context, void* stack, size_t bytes, void (*entry)()) {
  uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t{15};
  auto* slot = reinterpret_cast<uintptr_t*>(top) - 20;
  for (int saved = 0; saved < 20; ++saved) slot[saved] = 0;
  slot[11] = reinterpret_cast<uintptr_t>(entry);  // x30, where `ret` goes
  context.stack_pointer = slot;
}

}  // namespace ttl_host

#else

namespace ttl_host {

static void lay_out_stack(Context& context, void* stack, size_t bytes, void (*entry)()) {
  getcontext(&context.machine);
  context.machine.uc_stack.ss_sp = stack;
  context.machine.uc_stack.ss_size = bytes;
  context.machine.uc_link = nullptr;
  makecontext(&context.machine, entry, 0);
}

}  // namespace ttl_host

#endif

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TTL_WATCHED(call) call
#else
#define TTL_WATCHED(call)
#endif

namespace ttl_host {

void prepare(Context& context, void* stack, size_t bytes, void (*entry)()) {
  lay_out_stack(context, stack, bytes, entry);
  TTL_WATCHED(context.watched = __tsan_create_fiber(0));
}

void switch_context(Context& from, Context& to) {
  TTL_WATCHED(from.watched = __tsan_get_current_fiber());
  TTL_WATCHED(__tsan_switch_to_fiber(to.watched, 0));
#if defined(__x86_64__) || defined(__aarch64__)
  ttl_switch_stack(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.machine, &to.machine);
#endif
}

void discard([[maybe_unused]] Context& context) {
  TTL_WATCHED(if (context.watched) __tsan_destroy_fiber(context.watched));
}

}  // namespace ttl_host
