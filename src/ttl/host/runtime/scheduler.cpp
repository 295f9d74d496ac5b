// One OS thread, one ready queue, first in first out: every run of a program is the same.
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.h"

namespace ttl_host {

namespace {

constexpr size_t stack_bytes = 256 * 1024;
constexpr size_t guard_bytes = 64 * 1024;  // a multiple of every page size in use

thread_local Fiber* running = nullptr;

void make_ready(Run& run, Fiber& fiber) {
  fiber.next = nullptr;
  (run.ready_last ? run.ready_last->next : run.ready_first) = &fiber;
  run.ready_last = &fiber;
}

Fiber* take_ready(Run& run) {
  Fiber* fiber = run.ready_first;
  run.ready_first = fiber->next;
  if (!run.ready_first) run.ready_last = nullptr;
  return fiber;
}

void check_registers_released(Fiber& fiber) {
  Compute* compute = fiber.node->compute;
  if (fiber.kernel->thread == TTL_COMPUTE && compute->state != DstState::Free)
    fault(fiber.line, "the kernel ended between tile_regs_acquire and tile_regs_release");
}

void run_kernel() {
  Fiber& fiber = self();
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_START, 0, 0, 0);
  fiber.kernel->entry();
  check_transfers_complete(fiber);
  check_registers_released(fiber);
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_END, 0, 0, 0);
  fiber.finished = true;
  switch_context(fiber.context, fiber.run->scheduler);
  __builtin_unreachable();
}

// The kernel is left where it stands: nothing on its stack needs to be destroyed.
[[noreturn]] void leave(Fiber& fiber, TtlStatus status, int line) {
  TtlReport& report = *fiber.run->report;
  report.status = status;
  report.node = fiber.node->position;
  report.kernel = static_cast<uint32_t>(fiber.kernel - fiber.run->program->kernels);
  report.line = static_cast<uint32_t>(line);
  switch_context(fiber.context, fiber.run->scheduler);
  __builtin_unreachable();
}

bool is_stopped(const Run& run) { return __atomic_load_n(&run.program->stop, __ATOMIC_RELAXED); }

// A call that knows its line is reported; one that does not gives the next ones a chance.
void check_steps(Fiber& fiber, int line) {
  const uint64_t budget = fiber.run->program->step_budget;
  if (fiber.steps <= budget || (!line && fiber.steps <= 2 * budget)) return;
  TtlReport& report = *fiber.run->report;
  snprintf(report.message, sizeof(report.message), "%llu",
           static_cast<unsigned long long>(fiber.steps));
  leave(fiber, TTL_SPINNING, line);
}

bool can_go_on(const Fiber& fiber) {
  const CircularBuffer& buffer = *fiber.awaited;
  if (fiber.awaits_space) return buffer.plan->pages - buffer.filled >= fiber.awaited_pages;
  return buffer.filled >= fiber.awaited_pages;
}

uint32_t align_up(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Buffers lie in L1 in the order of their declaration, at the same addresses on every node.
bool place_buffers(Run& run, Node& node) {
  const TtlProgram& program = *run.program;
  uint32_t address = program.l1_base;
  for (uint32_t position = 0; position < program.buffer_count; ++position) {
    const TtlBuffer& plan = program.buffers[position];
    CircularBuffer& buffer = node.buffers[plan.index];
    buffer.plan = &plan;
    buffer.position = position;
    buffer.format = find_format(plan.format);
    if (!buffer.format) {
      snprintf(run.report->message, sizeof(run.report->message), "%s", plan.format);
      return false;
    }
    buffer.address = align_up(address, program.buffer_alignment);
    address = buffer.end();
  }
  run.l1_used = address;
  return true;
}

void* map_memory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

bool allocate(Run& run) {
  const TtlProgram& program = *run.program;
  run.node_count =
      (program.last_x - program.first_x + 1) * (program.last_y - program.first_y + 1);
  run.fiber_count = run.node_count * program.kernel_count;
  run.nodes = static_cast<Node*>(calloc(run.node_count, sizeof(Node)));
  run.fibers = static_cast<Fiber*>(calloc(run.fiber_count, sizeof(Fiber)));
  run.stacks = static_cast<uint8_t*>(map_memory(run.fiber_count * (stack_bytes + guard_bytes)));
  return run.nodes && run.fibers && run.stacks;
}

// Memory that nobody wrote reads as NaN.
bool give_memory(Run& run) {
  const uint32_t l1_bytes = align_up(run.l1_used - run.program->l1_base + 1, 64);
  run.l1 = static_cast<uint8_t*>(malloc(size_t{l1_bytes} * run.node_count));
  if (!run.l1) return false;
  memset(run.l1, 0xff, size_t{l1_bytes} * run.node_count);
  for (uint32_t i = 0; i < run.node_count; ++i) {
    run.nodes[i].l1 = run.l1 + size_t{l1_bytes} * i;
    void* compute = map_memory(sizeof(Compute));
    if (!compute) return false;
    run.nodes[i].compute = static_cast<Compute*>(compute);
  }
  return true;
}

void start_fibers(Run& run, Node& node) {
  const TtlProgram& program = *run.program;
  for (uint32_t k = 0; k < program.kernel_count; ++k) {
    const uint32_t position = node.position * program.kernel_count + k;
    Fiber& fiber = run.fibers[position];
    uint8_t* stack = run.stacks + position * (stack_bytes + guard_bytes);
    mprotect(stack, guard_bytes, PROT_NONE);  // a kernel that recurses for ever stops here
    fiber.run = &run;
    fiber.node = &node;
    fiber.kernel = &program.kernels[k];
    prepare(fiber.context, stack + guard_bytes, stack_bytes, run_kernel);
    make_ready(run, fiber);
  }
}

uint32_t set_up(Run& run) {
  const TtlProgram& program = *run.program;
  if (!allocate(run)) return TTL_NO_MEMORY;
  const uint32_t columns = program.last_x - program.first_x + 1;
  for (uint32_t i = 0; i < run.node_count; ++i) {
    Node& node = run.nodes[i];
    node.position = i;
    node.x = program.first_x + i % columns;
    node.y = program.first_y + i / columns;
    if (!place_buffers(run, node)) return TTL_UNKNOWN_FORMAT;
  }
  if (!give_memory(run)) return TTL_NO_MEMORY;
  for (uint32_t i = 0; i < run.node_count; ++i) start_fibers(run, run.nodes[i]);
  return TTL_DONE;
}

void report_waiting(Run& run) {
  TtlReport& report = *run.report;
  report.waiting = static_cast<TtlWaiting*>(calloc(run.fiber_count, sizeof(TtlWaiting)));
  for (uint32_t i = 0; report.waiting && i < run.fiber_count; ++i) {
    const Fiber& fiber = run.fibers[i];
    if (fiber.finished) continue;
    const CircularBuffer& buffer = *fiber.awaited;
    const uint32_t kernel = static_cast<uint32_t>(fiber.kernel - run.program->kernels);
    report.waiting[report.waiting_count++] = {fiber.node->position, kernel, buffer.position,
                                              fiber.awaits_space,   buffer.filled, fiber.line};
  }
  if (report.waiting_count) report.status = TTL_DEADLOCK;
}

void execute(Run& run) {
  Fiber* outer = running;
  while (run.ready_first && run.report->status == TTL_DONE) {
    running = take_ready(run);
    running->steps = 0;
    switch_context(run.scheduler, running->context);
  }
  running = outer;
  if (run.report->status == TTL_DONE) report_waiting(run);
}

void tear_down(Run& run) {
  for (uint32_t i = 0; run.fibers && i < run.fiber_count; ++i) {
    free(run.fibers[i].transfers.items);
    free(run.fibers[i].copies.items);
  }
  for (uint32_t i = 0; run.nodes && i < run.node_count; ++i)
    if (run.nodes[i].compute) munmap(run.nodes[i].compute, sizeof(Compute));
  if (run.stacks) munmap(run.stacks, run.fiber_count * (stack_bytes + guard_bytes));
  free(run.l1);
  free(run.nodes);
  free(run.fibers);
}

}  // namespace

Fiber& self(int line) {
  Fiber& fiber = *running;
  if (is_stopped(*fiber.run)) leave(fiber, TTL_STOPPED, line);
  fiber.steps += 1;
  check_steps(fiber, line);
  return fiber;
}

Compute& compute_of(Fiber& fiber) { return *fiber.node->compute; }

void fault(int line, const char* format, ...) {
  TtlReport& report = *running->run->report;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report.message, sizeof(report.message), format, arguments);
  va_end(arguments);
  leave(*running, TTL_FAULT, line);
}

CircularBuffer& buffer_at(Fiber& fiber, uint32_t index, int line) {
  if (index >= max_buffers || !fiber.node->buffers[index].plan)
    fault(line, "there is no circular buffer with index %u", index);
  return fiber.node->buffers[index];
}

void block(Fiber& fiber, CircularBuffer& buffer, uint32_t pages, bool space, int line) {
  const bool trace = fiber.run->program->trace;
  fiber.awaited = &buffer;
  fiber.awaited_pages = pages;
  fiber.awaits_space = space;
  fiber.line = static_cast<uint32_t>(line);
  if (trace) record_buffer(fiber, TTL_KERNEL_BLOCKED, buffer, line);
  fiber.next = buffer.waiters;
  buffer.waiters = &fiber;
  switch_context(fiber.context, fiber.run->scheduler);
  if (trace) record_buffer(fiber, TTL_KERNEL_RESUMED, buffer, line);
}

void wake(Fiber& fiber, CircularBuffer& buffer) {
  Fiber** link = &buffer.waiters;
  while (*link) {
    Fiber* waiter = *link;
    if (!can_go_on(*waiter)) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    make_ready(*fiber.run, *waiter);
  }
}

bool grow(void** items, uint32_t* capacity, uint32_t item_bytes) {
  const uint32_t wanted = *capacity ? *capacity * 2 : 64;
  void* larger = realloc(*items, size_t{wanted} * item_bytes);
  if (!larger) return false;
  *items = larger;
  *capacity = wanted;
  return true;
}

uint32_t record(Fiber& fiber, TtlEventKind kind, uint32_t subject, uint64_t value, int line) {
  TtlReport& report = *fiber.run->report;
  if (report.event_count == fiber.run->event_capacity &&
      !grow(reinterpret_cast<void**>(&report.events), &fiber.run->event_capacity,
            sizeof(TtlEvent)))
    fault(line, "the host has no memory left for the trace");
  const uint32_t kernel = static_cast<uint32_t>(fiber.kernel - fiber.run->program->kernels);
  report.events[report.event_count] = {kind, fiber.node->position, kernel, subject,
                                       value, static_cast<uint32_t>(line), 0};
  return report.event_count++;
}

void record_buffer(Fiber& fiber, TtlEventKind kind, const CircularBuffer& buffer, int line) {
  record(fiber, kind, buffer.position, buffer.filled / buffer.plan->block_pages, line);
}

}  // namespace ttl_host

void ttl_run(const TtlProgram* program, TtlReport* report) {
  ttl_host::Run run{};
  run.program = program;
  run.report = report;
  memset(report, 0, sizeof(*report));
  report->status = ttl_host::set_up(run);
  if (report->status == TTL_DONE) ttl_host::execute(run);
  ttl_host::tear_down(run);
}

void ttl_free_report(TtlReport* report) {
  free(report->events);
  free(report->waiting);
  report->events = nullptr;
  report->waiting = nullptr;
}
