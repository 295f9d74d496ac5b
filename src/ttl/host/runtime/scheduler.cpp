// A lane: one OS thread at a time. A node runs until none of its kernels can, then the next one of the
// lane: its part of the tensors and its L1 stay in the processor's caches. Both queues are first in
// first out, so every run of a program is the same.
#include <pthread.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.h"
#include "pool.h"
#include "running.h"
#include "written.h"

namespace ttl_host {

namespace {

void enqueue(Lane& lane, Node& node) {
  node.next = nullptr;
  node.is_queued = true;
  (lane.queue_last ? lane.queue_last->next : lane.queue_first) = &node;
  lane.queue_last = &node;
}

void dequeue(Lane& lane) {
  Node& node = *lane.queue_first;
  node.is_queued = false;
  lane.queue_first = node.next;
  if (!lane.queue_first) lane.queue_last = nullptr;
}

}  // namespace

uint32_t kernel_position(const Run& run, const TtlKernel* kernel) {
  return kernel ? static_cast<uint32_t>(kernel - run.program->kernels) : ~uint32_t{0};
}

void make_ready(Lane& lane, Fiber& fiber) {
  Node& node = *fiber.node;
  fiber.next = nullptr;
  (node.ready_last ? node.ready_last->next : node.ready_first) = &fiber;
  node.ready_last = &fiber;
  if (!node.is_queued) enqueue(lane, node);
}

namespace {

// Of the node that is running; it stays at the head of the queue until nothing of it is ready.
Fiber* take_ready(Lane& lane) {
  while (lane.queue_first && !lane.queue_first->ready_first) dequeue(lane);
  if (!lane.queue_first) return nullptr;
  Node& node = *lane.queue_first;
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
  snprintf(fiber.lane->message, sizeof(fiber.lane->message), "%llu",
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

bool wake_waiters(Lane& lane, Fiber** link) {
  bool woken = false;
  while (*link) {
    Fiber* waiter = *link;
    if (!can_go_on(*waiter)) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    make_ready(lane, *waiter);
    woken = true;
  }
  if (woken) note_move(lane);
  return woken;
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

void beat(Lane& lane) { __atomic_store_n(lane.heartbeat, *lane.heartbeat + 1, __ATOMIC_RELAXED); }

constexpr uint64_t look_every = 256;  // calls of a kernel

// Where the budget is over every call is looked at.
void set_next_look(Lane& lane) {
  const uint64_t last = lane.run->program->step_budget, next = lane.steps + look_every;
  lane.next_look = next <= last ? next : lane.steps < last ? last + 1 : lane.steps + 1;
}

// The next one, which `running` then is; null where there is none or the run is to end.
Fiber* begin_turn(Lane& lane) {
  if (lane.status != TTL_DONE || requested_stop(*lane.run)) return nullptr;
  Fiber* fiber = take_ready(lane);
  if (!fiber) return nullptr;
  if (lane.turns++ > lane.fiber_count) call_helpers(*lane.run);  // kernels go on that had to wait
  lane.steps = 0;
  set_next_look(lane);
  beat(lane);
  if (!fiber->stack) give_stack(lane, *fiber);
  running = fiber;
  return fiber;
}

// Transfers land only when nobody can go on without them, or at a barrier.
void run_in_turn(Run& run) {
  Lane& lane = run.lanes[0];
  do {
    run_ready(lane, 0);
  } while (!lane.status && !requested_stop(run) &&
           (wake_words(lane) || (!have_ended(run) && land_any(run))));
}

void report_end(Run& run) {
  report_clashes(run);
  if (take_status(run)) return;
  if (have_ended(run)) check_all_landed(run);
  if (run.report->status == TTL_DONE) report_waiting(run);
  if (run.report->status == TTL_DONE) report_leftovers(run);
}

}  // namespace

TTL_THREAD_LOCAL Fiber* running = nullptr;

#if !defined(__x86_64__)
Fiber& running_fiber() { return *running; }
#endif

void run_ready(Lane& lane, uint32_t thread) {
  lane.heartbeat = lane.run->program->heartbeats + thread * words_per_heartbeat;
  lane.factors = lane.run->factors + thread;
  lane.turns = 0;
  while (Fiber* fiber = begin_turn(lane)) {
    switch_context(lane.scheduler, fiber->context);
    running = nullptr;
  }
}

// Not by way of the scheduler: that would be a second switch, to a place that no processor foresees.
void pass_on(Fiber& fiber) {
  Lane& lane = *fiber.lane;
  Fiber* next = begin_turn(lane);
  if (next != &fiber) switch_context(fiber.context, next ? next->context : lane.scheduler);
}

bool have_ended(const Run& run) {
  for (uint32_t i = 0; i < run.fiber_count; ++i)
    if (!run.fibers[i].finished) return false;
  return true;
}

// The first node that failed, whichever was faster.
bool take_status(Run& run) {
  TtlReport& report = *run.report;
  for (uint32_t i = 0; i < run.lane_count && report.status == TTL_DONE; ++i) {
    const Lane& lane = run.lanes[i];
    if (lane.status == TTL_DONE) continue;
    report.status = lane.status;
    report.node = lane.node;
    report.kernel = lane.kernel;
    report.line = lane.line;
    memcpy(report.message, lane.message, sizeof(report.message));
  }
  if (report.status == TTL_DONE) report.status = requested_stop(run);
  return report.status != TTL_DONE;
}

// For fibers of this thread, which begin when this one has gone.
void free_stack(Fiber& fiber) {
  Factors& factors = *fiber.lane->factors;
  fiber.next = factors.ended;
  factors.ended = &fiber;
}

void run_kernel() {
  Fiber& fiber = self();
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_START, 0, 0, 0);
  fiber.kernel->entry();
  check_transfers_complete(fiber);
  check_registers_released(fiber);
  if (fiber.run->program->trace) record(fiber, TTL_KERNEL_END, 0, 0, 0);
  fiber.finished = true;
  note_move(*fiber.lane);
  free_stack(fiber);
  switch_context(fiber.context, fiber.lane->scheduler);
  __builtin_unreachable();
}

void leave(Fiber& fiber, TtlStatus status, int line) {
  Lane& lane = *fiber.lane;
  lane.status = status;
  lane.node = fiber.node->position;
  lane.kernel = kernel_position(*fiber.run, fiber.kernel);
  lane.line = static_cast<uint32_t>(line);
  switch_context(fiber.context, lane.scheduler);
  __builtin_unreachable();
}

void look_up(Fiber& fiber, int line) {
  Lane& lane = *fiber.lane;
  beat(lane);
  set_next_look(lane);
  call_helpers(*fiber.run);
  if (const uint32_t status = requested_stop(*fiber.run))
    leave(fiber, static_cast<TtlStatus>(status), line);
  if (lane.steps > fiber.run->program->step_budget) check_steps(fiber, lane.steps, line);
}

void fault(int line, const char* format, ...) {
  Fiber& fiber = running_fiber();
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fiber.lane->message, sizeof(fiber.lane->message), format, arguments);
  va_end(arguments);
  leave(fiber, TTL_FAULT, line);
}

void no_such_buffer(uint32_t index, int line) {
  fault(line, "there is no circular buffer with index %u", index);
}

void block(Fiber& fiber, CircularBuffer& buffer, uint32_t pages, TtlAwait awaits, int line) {
  const bool trace = fiber.run->program->trace;
  fiber.awaited = &buffer;
  fiber.awaited_pages = pages;
  fiber.awaits = awaits;
  if (trace) record_buffer(fiber, TTL_KERNEL_BLOCKED, buffer, line);
  fiber.next = buffer.waiters;
  buffer.waiters = &fiber;
  pass_on(fiber);
  if (trace) record_buffer(fiber, TTL_KERNEL_RESUMED, buffer, line);
}

void wake(Fiber& fiber, CircularBuffer& buffer) {
  note_move(*fiber.lane);
  if (buffer.waiters) wake_waiters(*fiber.lane, &buffer.waiters);
}

void block_on_word(Fiber& fiber, const volatile uint32_t* word, uint32_t wanted, TtlAwait awaits,
                   int line) {
  fiber.awaited_word = word;
  fiber.wanted = wanted;
  fiber.awaits = awaits;
  if (can_go_on(fiber)) return;
  fiber.next = fiber.lane->word_waiters;
  fiber.lane->word_waiters = &fiber;
  const AwaitedMark mark = fiber.awaited_mark;
  const bool trace = fiber.run->program->trace && mark.is_known;
  const uint32_t value = mark.is_semaphore ? *word : 0;
  if (trace) record(fiber, TTL_KERNEL_BLOCKED, mark.subject, value, mark.mark);
  pass_on(fiber);
  if (trace) record(fiber, TTL_KERNEL_RESUMED, mark.subject, value, mark.mark);
}

bool wake_words(Lane& lane) { return wake_waiters(lane, &lane.word_waiters); }

namespace {

void go_behind_others(Lane& lane, Fiber& fiber) {
  make_ready(lane, fiber);
  Node& node = *lane.queue_first;  // others on other nodes, too
  dequeue(lane);
  enqueue(lane, node);
  pass_on(fiber);
}

void park(Lane& lane, Fiber& fiber) {
  fiber.next = lane.parked;
  lane.parked = &fiber;
  pass_on(fiber);
}

}  // namespace

void let_others_run(Fiber& fiber, int line) {
  Run& run = *fiber.run;
  Lane& lane = *fiber.lane;
  lane.idle_yields += 1;
  if (lane.idle_yields > run.program->step_budget) check_steps(fiber, lane.idle_yields, line);
  if (!run.is_in_turn && lane.idle_yields >= lane.patience) return park(lane, fiber);
  // Everybody who can run has asked in vain: something has to land.
  if (run.is_in_turn && lane.idle_yields % (lane.fiber_count + 1) == 0 && !wake_words(lane))
    land_any(run);
  go_behind_others(lane, fiber);
}

void perhaps_let_others_run(Fiber& fiber) {
  Run& run = *fiber.run;
  if (!run.program->is_seeded || random_below(run, 2)) return;
  // Others wait for what is under way, most of the time.
  while (random_below(run, 4) && land_any(run)) continue;
  go_behind_others(*fiber.lane, fiber);
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

}  // namespace ttl_host

void ttl_run(TtlProgram* program, TtlReport* report) {
  ttl_host::Run run{};
  run.program = program;
  run.report = report;
  run.random = program->seed * 2862933555777941757u + 3037000493u;
  run.is_in_turn = program->is_in_turn || program->trace || program->is_seeded;
  memset(report, 0, sizeof(*report));
  ttl_host::give_signal_stack();
  __atomic_store_n(&program->threads[0], static_cast<uint64_t>(pthread_self()), __ATOMIC_RELEASE);
  if (!run.is_in_turn) ttl_host::join_pool(run);
  report->status = ttl_host::set_up(run);
  if (report->status == TTL_DONE) {
    ttl_host::SignalGuard guard;
    run.is_in_turn ? ttl_host::run_in_turn(run) : ttl_host::run_in_rounds(run);
    ttl_host::report_end(run);
  }
  ttl_host::tear_down(run);
  ttl_host::leave_pool(run);
}

void ttl_free_report(TtlReport* report) {
  free(report->events);
  free(report->waiting);
  free(report->leftovers);
  free(report->printed);
  free(report->clashes);
  free(report->call_sites);
  free(report->calls);
  report->events = nullptr;
  report->waiting = nullptr;
  report->leftovers = nullptr;
  report->printed = nullptr;
  report->clashes = nullptr;
  report->call_sites = nullptr;
  report->calls = nullptr;
}
