// Nodes on all threads. In a round every node that can runs until none of its kernels can, and touches
// only its own L1 and the tensors; when the round has ended, what nodes sent to each other lands, in
// their order. So it does not matter how many threads there are, or which was faster.
#include <cstdio>

#include "pool.h"
#include "running.h"
#include "transfers.h"

namespace ttl_host {

namespace {

// Below, one thread has done it before the others are awake.
constexpr uint64_t bytes_worth_sharing = 64 * 1024;

void run_node(Run& run, uint32_t item, uint32_t thread) {
  Node& node = *run.active[item];
  if (!node.is_cleared) clear_l1(run, node);
  run_ready(*node.lane, thread);
}

// Nothing runs there, but others may look.
void clear_idle_nodes(Run& run) {
  for (uint32_t i = 0; i < run.node_count; ++i)
    if (!run.nodes[i].is_cleared && !run.nodes[i].lane->queue_first) clear_l1(run, run.nodes[i]);
}

void land_inbox(Run& run, uint32_t item, uint32_t) {
  Node& node = *run.active[item];
  for (Transfer* transfer = node.inbox_first; transfer; transfer = transfer->next)
    land_data(*transfer->sender, *transfer);
  node.inbox_first = node.inbox_last = nullptr;
}

void fail_not_reserved(const Transfer& transfer, const CircularBuffer& buffer, uint32_t node) {
  const Fiber& sender = *transfer.sender;
  Lane& lane = *sender.lane;
  if (lane.status) return;
  lane.status = TTL_NOT_RESERVED;
  lane.node = sender.node->position;
  lane.kernel = static_cast<uint32_t>(sender.kernel - sender.run->program->kernels);
  lane.line = transfer.line;
  snprintf(lane.message, sizeof(lane.message), "%u %u", buffer.position, node);
}

bool is_for_a_buffer(const Transfer& transfer) {
  return transfer.kind == TransferKind::Write && transfer.source && transfer.tensor == no_tensor;
}

Node& receiver_of(Run& run, const Transfer& transfer) {
  return run.nodes[static_cast<size_t>(transfer.destination - run.l1) / run.node_bytes];
}

// In the round in which it was asked for; it may land in a later one.
void check_receiver(Run& run, Transfer& transfer) {
  if (transfer.is_checked) return;
  transfer.is_checked = true;
  if (!is_for_a_buffer(transfer)) return;
  const Node& node = receiver_of(run, transfer);
  const auto offset = static_cast<uint32_t>(transfer.destination - node.l1);
  if (const auto* buffer = not_reserved(*transfer.sender, node, offset, transfer.bytes))
    fail_not_reserved(transfer, *buffer, node.position);
}

// The nodes that have something in their inbox become the active ones.
void put_into_inbox(Run& run, Transfer& transfer) {
  Node& node = receiver_of(run, transfer);
  if (!node.inbox_first) run.active[run.active_count++] = &node;
  transfer.next = nullptr;
  (node.inbox_last ? node.inbox_last->next : node.inbox_first) = &transfer;
  node.inbox_last = &transfer;
}

template <typename Body>
void for_each_sender(Run& run, Body body) {
  const uint32_t kernels = run.program->kernel_count;
  for (uint32_t node = 0; node < run.node_count; ++node) {
    if (!run.nodes[node].lane->has_sent) continue;
    for (uint32_t kernel = 0; kernel < kernels; ++kernel)
      if (run.fibers[node * kernels + kernel].transfers.count)
        body(run.fibers[node * kernels + kernel]);
  }
}

// What comes from other nodes lands at once, as those left it. Returns the bytes in inboxes.
uint64_t deliver(Run& run) {
  uint64_t bytes = 0;
  run.active_count = 0;
  for_each_sender(run, [&](Fiber& fiber) {
    for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
      Transfer& transfer = fiber.transfers.items[i];
      if (!transfer.is_elsewhere) continue;
      const bool comes_here = !is_elsewhere(fiber, transfer.destination);
      if (!comes_here) check_receiver(run, transfer);
      if (!transfer.is_due) continue;
      if (comes_here) {
        land_data(fiber, transfer);
        continue;
      }
      put_into_inbox(run, transfer);
      bytes += transfer.bytes;
    }
  });
  return bytes;
}

void wake_senders(Lane& lane) {
  while (Fiber* fiber = lane.at_barrier) {
    lane.at_barrier = fiber->next;
    make_ready(lane, *fiber);
  }
  lane.has_sent = false;
  note_move(lane);
}

void exchange(Run& run) {
  const uint64_t bytes = deliver(run);
  if (bytes >= bytes_worth_sharing)
    for_all(run, run.active_count, land_inbox);
  else
    for (uint32_t i = 0; i < run.active_count; ++i) land_inbox(run, i, 0);
  for (uint32_t i = 0; i < run.active_count; ++i) wake_words(*run.active[i]->lane);
  for_each_sender(run, remove_due);
  for (uint32_t i = 0; i < run.lane_count; ++i)
    if (run.lanes[i].has_sent) wake_senders(run.lanes[i]);
}

// What lands decides which kernels can go on; none runs before the next round.
bool land_one_of_each(Run& run) {
  if (!make_one_of_each_due(run)) return false;
  exchange(run);
  run.active_count = 0;
  for (uint32_t i = 0; i < run.lane_count; ++i) wake_words(run.lanes[i]);
  return true;
}

bool has_sent(const Run& run) {
  for (uint32_t i = 0; i < run.lane_count; ++i)
    if (run.lanes[i].has_sent) return true;
  return false;
}

// True where anything happened in the round but that kernels let others run.
bool take_moves(Run& run) {
  bool has_moved = false;
  for (uint32_t i = 0; i < run.lane_count; ++i) {
    has_moved |= run.lanes[i].has_moved;
    run.lanes[i].has_moved = false;
  }
  return has_moved;
}

// Kernels that ask again and again take turns for longer and longer, until their budget is used up.
bool gather(Run& run, uint64_t turns) {
  run.active_count = 0;
  for (uint32_t i = 0; i < run.node_count; ++i) {
    Lane& lane = *run.nodes[i].lane;
    lane.patience = lane.idle_yields + turns * (lane.fiber_count + 1);
    while (Fiber* fiber = lane.parked) {
      lane.parked = fiber->next;
      make_ready(lane, *fiber);
    }
    if (lane.queue_first) run.active[run.active_count++] = &run.nodes[i];
  }
  return run.active_count != 0;
}

bool has_failed(const Run& run) {
  for (uint32_t i = 0; i < run.lane_count; ++i)
    if (run.lanes[i].status) return true;
  return __atomic_load_n(&run.program->stop, __ATOMIC_RELAXED) != 0;
}

}  // namespace

void run_in_rounds(Run& run) {
  uint64_t turns = 1;
  clear_idle_nodes(run);
  while (gather(run, turns) || (!have_ended(run) && land_one_of_each(run))) {
    for_all(run, run.active_count, run_node);
    if (has_sent(run)) exchange(run);
    if (has_failed(run)) return;
    const bool has_moved = take_moves(run) || land_one_of_each(run);
    turns = has_moved ? 1 : 2 * turns;
  }
}

}  // namespace ttl_host
