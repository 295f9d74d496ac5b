// One OS thread. A node runs until none of its kernels can, then the next one: its part of the
// tensors and its L1 stay in the processor's caches. Both queues are first in first out, so every
// run of a program is the same.
#include <pthread.h>
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.h"
#include "running.h"

namespace ttl_host {

TTL_THREAD_LOCAL Fiber* running = nullptr;

namespace {

void enqueue(Run& run, Node& node) {
  node.next = nullptr;
  node.is_queued = true;
  (run.queue_last ? run.queue_last->next : run.queue_first) = &node;
  run.queue_last = &node;
}

void dequeue(Run& run) {
  Node& node = *run.queue_first;
  node.is_queued = false;
  run.queue_first = node.next;
  if (!run.queue_first) run.queue_last = nullptr;
}

void make_ready(Run& run, Fiber& fiber) {
  Node& node = *fiber.node;
  fiber.next = nullptr;
  (node.ready_last ? node.ready_last->next : node.ready_first) = &fiber;
  node.ready_last = &fiber;
  if (!node.is_queued) enqueue(run, node);
}

// Of the node that is running; it stays at the head of the queue until nothing of it is ready.
Fiber* take_ready(Run& run) {
  while (run.queue_first && !run.queue_first->ready_first) dequeue(run);
  if (!run.queue_first) return nullptr;
  Node& node = *run.queue_first;
  Fiber* fiber = node.ready_first;
  node.ready_first = fiber->next;
  if (!node.ready_first) node.ready_last = nullptr;
  return fiber;
}

void check_registers_released(Fiber& fiber) {
  Compute* compute = fiber.node->compute;
  if (fiber.kernel->thread == TTL_COMPUTE && compute->state != DstState::Free)
    fault(static_cast<int>(fiber.line),
          "the kernel ended between tile_regs_acquire and tile_regs_release");
}

uint32_t requested_stop(const Run& run) {
  return __atomic_load_n(&run.program->stop, __ATOMIC_RELAXED);
}

// A call that knows its line is reported; one that does not gives the next ones a chance.
void check_steps(Fiber& fiber, uint64_t steps, int line) {
  const uint64_t budget = fiber.run->program->step_budget;
  if (!line && steps <= 2 * budget) return;
  TtlReport& report = *fiber.run->report;
  snprintf(report.message, sizeof(report.message), "%llu",
           static_cast<unsigned long long>(steps));
  leave(fiber, TTL_SPINNING, line);
}

bool can_go_on(const Fiber& fiber) {
  switch (fiber.awaits) {
    case TTL_AWAIT_DATA: return fiber.awaited->filled >= fiber.awaited_pages;
    case TTL_AWAIT_SPACE:
      return fiber.awaited->plan->pages - fiber.awaited->filled >= fiber.awaited_pages;
    case TTL_AWAIT_EQUAL: return *fiber.awaited_word == fiber.wanted;
    default: return *fiber.awaited_word >= fiber.wanted;
  }
}

bool wake_waiters(Run& run, Fiber** link) {
  bool woken = false;
  while (*link) {
    Fiber* waiter = *link;
    if (!can_go_on(*waiter)) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    make_ready(run, *waiter);
    woken = true;
  }
  if (woken) run.idle_yields = 0;
  return woken;
}

uint32_t kernel_position(const Run& run, const TtlKernel* kernel) {
  return kernel ? static_cast<uint32_t>(kernel - run.program->kernels) : ~uint32_t{0};
}

// A semaphore by its id; another word of L1 has none.
uint32_t semaphore_of(const Fiber& fiber) {
  const auto* word = reinterpret_cast<const volatile uint8_t*>(fiber.awaited_word);
  const auto offset = static_cast<size_t>(word - fiber.node->l1);
  const bool is_semaphore = offset < fiber.run->program->semaphore_count * semaphore_bytes;
  return is_semaphore ? static_cast<uint32_t>(offset / semaphore_bytes) : ~uint32_t{0};
}

TtlWaiting waiting_entry(const Run& run, const Fiber& fiber) {
  const bool at_buffer = fiber.awaits == TTL_AWAIT_DATA || fiber.awaits == TTL_AWAIT_SPACE;
  TtlWaiting entry{fiber.node->position, kernel_position(run, fiber.kernel), fiber.line,
                   fiber.awaits, 0, 0, fiber.wanted};
  entry.subject = at_buffer ? fiber.awaited->position : semaphore_of(fiber);
  entry.value = at_buffer ? fiber.awaited->filled : *fiber.awaited_word;
  return entry;
}

void report_waiting(Run& run) {
  TtlReport& report = *run.report;
  report.waiting = static_cast<TtlWaiting*>(calloc(run.fiber_count, sizeof(TtlWaiting)));
  for (uint32_t i = 0; report.waiting && i < run.fiber_count; ++i)
    if (!run.fibers[i].finished)
      report.waiting[report.waiting_count++] = waiting_entry(run, run.fibers[i]);
  if (report.waiting_count) report.status = TTL_DEADLOCK;
}

void report_leftovers(Run& run) {
  TtlReport& report = *run.report;
  const uint32_t most = run.node_count * run.program->buffer_count;
  for (uint32_t i = 0; i < most; ++i) {
    const Node& node = run.nodes[i / run.program->buffer_count];
    const uint32_t position = i % run.program->buffer_count;
    const CircularBuffer& buffer = node.buffers[run.program->buffers[position].index];
    if (!buffer.filled || buffer.position != position) continue;
    if (!report.leftovers)
      report.leftovers = static_cast<TtlLeftover*>(calloc(most, sizeof(TtlLeftover)));
    if (!report.leftovers) return;
    report.leftovers[report.leftover_count++] = {
        node.position, position, buffer.filled, buffer.pushed, buffer.popped,
        kernel_position(run, buffer.producer), kernel_position(run, buffer.consumer)};
  }
}

void resume(Run& run, Fiber& fiber) {
  run.resumed_calls = run.program->calls;
  running = &fiber;
  switch_context(run.scheduler, fiber.context);
  running = nullptr;
}

bool have_ended(const Run& run) {
  for (uint32_t i = 0; i < run.fiber_count; ++i)
    if (!run.fibers[i].finished) return false;
  return true;
}

// Transfers land only when nobody can go on without them, or at a barrier.
void execute(Run& run) {
  while (run.report->status == TTL_DONE) {
    if (const uint32_t status = requested_stop(run)) {
      run.report->status = status;
      return;
    }
    if (Fiber* fiber = take_ready(run))
      resume(run, *fiber);
    else if (!wake_words(run) && (have_ended(run) || !land_any(run)))
      break;
  }
  if (run.report->status == TTL_DONE && have_ended(run)) check_all_landed(run);
  if (run.report->status == TTL_DONE) report_waiting(run);
  if (run.report->status == TTL_DONE) report_leftovers(run);
}

}  // namespace

void run_kernel() {
  Fiber& fiber = self();
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_START, 0, 0, 0);
  fiber.kernel->entry();
  check_transfers_complete(fiber);
  check_registers_released(fiber);
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_END, 0, 0, 0);
  fiber.finished = true;
  fiber.run->idle_yields = 0;
  switch_context(fiber.context, fiber.run->scheduler);
  __builtin_unreachable();
}

void leave(Fiber& fiber, TtlStatus status, int line) {
  TtlReport& report = *fiber.run->report;
  report.status = status;
  report.node = fiber.node->position;
  report.kernel = kernel_position(*fiber.run, fiber.kernel);
  report.line = static_cast<uint32_t>(line);
  switch_context(fiber.context, fiber.run->scheduler);
  __builtin_unreachable();
}

Fiber& self(int line) {
  Fiber& fiber = *running;
  TtlProgram& program = *fiber.run->program;
  if (line) fiber.line = static_cast<uint32_t>(line);
  const uint32_t status = __atomic_load_n(&program.stop, __ATOMIC_RELAXED);
  if (__builtin_expect(status != 0, 0)) leave(fiber, static_cast<TtlStatus>(status), line);
  const uint64_t steps = ++program.calls - fiber.run->resumed_calls;
  if (__builtin_expect(steps > program.step_budget, 0)) check_steps(fiber, steps, line);
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

void block(Fiber& fiber, CircularBuffer& buffer, uint32_t pages, TtlAwait awaits, int line) {
  const bool trace = fiber.run->program->trace;
  fiber.awaited = &buffer;
  fiber.awaited_pages = pages;
  fiber.awaits = awaits;
  if (trace) record_buffer(fiber, TTL_KERNEL_BLOCKED, buffer, line);
  fiber.next = buffer.waiters;
  buffer.waiters = &fiber;
  switch_context(fiber.context, fiber.run->scheduler);
  if (trace) record_buffer(fiber, TTL_KERNEL_RESUMED, buffer, line);
}

void wake(Fiber& fiber, CircularBuffer& buffer) {
  fiber.run->idle_yields = 0;
  if (buffer.waiters) wake_waiters(*fiber.run, &buffer.waiters);
}

void block_on_word(Fiber& fiber, const volatile uint32_t* word, uint32_t wanted, TtlAwait awaits,
                   int line) {
  fiber.awaited_word = word;
  fiber.wanted = wanted;
  fiber.awaits = awaits;
  if (can_go_on(fiber)) return;
  fiber.next = fiber.run->word_waiters;
  fiber.run->word_waiters = &fiber;
  const AwaitedMark mark = fiber.awaited_mark;
  const bool trace = fiber.run->program->trace && mark.is_known;
  const uint32_t value = mark.is_semaphore ? *word : 0;
  if (trace) record(fiber, TTL_KERNEL_BLOCKED, mark.subject, value, mark.mark);
  switch_context(fiber.context, fiber.run->scheduler);
  if (trace) record(fiber, TTL_KERNEL_RESUMED, mark.subject, value, mark.mark);
}

bool wake_words(Run& run) { return wake_waiters(run, &run.word_waiters); }

namespace {

void go_behind_others(Run& run, Fiber& fiber) {
  make_ready(run, fiber);
  Node& node = *run.queue_first;  // others on other nodes, too
  dequeue(run);
  enqueue(run, node);
  switch_context(fiber.context, run.scheduler);
}

}  // namespace

void let_others_run(Fiber& fiber, int line) {
  Run& run = *fiber.run;
  run.idle_yields += 1;
  if (run.idle_yields > run.program->step_budget) check_steps(fiber, run.idle_yields, line);
  // Everybody who can run has asked in vain: something has to land.
  if (run.idle_yields % (run.fiber_count + 1) == 0 && !wake_words(run)) land_any(run);
  go_behind_others(run, fiber);
}

void perhaps_let_others_run(Fiber& fiber) {
  Run& run = *fiber.run;
  if (!run.program->is_seeded || random_below(run, 2)) return;
  // Others wait for what is under way, most of the time.
  while (random_below(run, 4) && land_any(run)) continue;
  go_behind_others(run, fiber);
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
  report.events[report.event_count] = {kind,
                                       fiber.node->position,
                                       kernel_position(*fiber.run, fiber.kernel),
                                       subject,
                                       value,
                                       static_cast<uint32_t>(line),
                                       0};
  return report.event_count++;
}

void record_buffer(Fiber& fiber, TtlEventKind kind, const CircularBuffer& buffer, int line) {
  record(fiber, kind, buffer.position, buffer.filled / buffer.plan->block_pages, line);
}

void start(Run& run, Fiber& fiber) { make_ready(run, fiber); }

}  // namespace ttl_host

void ttl_run(TtlProgram* program, TtlReport* report) {
  ttl_host::Run run{};
  run.program = program;
  run.report = report;
  run.random = program->seed * 2862933555777941757u + 3037000493u;
  memset(report, 0, sizeof(*report));
  report->status = ttl_host::set_up(run);
  if (report->status == TTL_DONE) {
    ttl_host::SignalGuard guard(run);
    ttl_host::execute(run);
  }
  ttl_host::tear_down(run);
}

void ttl_free_report(TtlReport* report) {
  free(report->events);
  free(report->waiting);
  free(report->leftovers);
  free(report->printed);
  free(report->clashes);
  report->events = nullptr;
  report->waiting = nullptr;
  report->leftovers = nullptr;
  report->printed = nullptr;
  report->clashes = nullptr;
}
