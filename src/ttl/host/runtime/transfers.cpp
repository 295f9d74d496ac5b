#include "transfers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "payloads.h"
#include "tile_rows.h"
#include "written.h"

namespace ttl_host {

// One of 0 .. count - 1 (xorshift).
uint32_t random_below(Run& run, uint32_t count) {
  uint64_t x = run.random | 1;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  run.random = x;
  return static_cast<uint32_t>(x >> 33) % count;
}

void land_data(Fiber& fiber, const Transfer& transfer) {
  const uint8_t* data = transfer.payload  ? bytes_of(transfer.payload)
                        : transfer.source ? transfer.source
                                          : reinterpret_cast<const uint8_t*>(&transfer.value);
  WriteNote note(fiber, transfer, data);
  if (transfer.kind == TransferKind::Increment) {
    uint32_t word;
    memcpy(&word, transfer.destination, 4);
    word += transfer.value;
    memcpy(transfer.destination, &word, 4);
  } else if (!transfer.tile.row_bytes) {
    memmove(transfer.destination, data, transfer.bytes);
  } else if (transfer.kind == TransferKind::Read) {
    move_to_page(transfer.tile, transfer.bytes, transfer.source, transfer.destination);
  } else {
    move_to_rows(transfer.tile, transfer.bytes, data, transfer.destination);
  }
}

bool is_elsewhere(const Fiber& fiber, const uint8_t* bytes) {
  const Run& run = *fiber.run;
  const auto in_l1 = static_cast<uintptr_t>(bytes - run.l1);
  const auto in_node = static_cast<uintptr_t>(bytes - fiber.node->l1);
  return !run.is_in_turn && in_l1 < size_t{run.node_bytes} * run.node_count &&
         in_node >= run.node_bytes;
}

namespace {

void land(Fiber& fiber, const Transfer& transfer) {
  land_data(fiber, transfer);
  give_back(*fiber.lane, transfer.payload);
  fiber.lane->pending -= 1;
  note_move(*fiber.lane);
}

// One transfer, or several that are faster together; returns how many.
uint32_t land_next(Fiber& fiber, uint32_t position) {
  const Transfer* next = fiber.transfers.items + position;
  const uint32_t count = neighbours(next, fiber.transfers.count - position);
  if (count < 2) {
    if (position + 2 < fiber.transfers.count) expect_write(next[2]);
    land(fiber, *next);
    return 1;
  }
  read_neighbours(*next, count);
  fiber.lane->pending -= count;
  note_move(*fiber.lane);
  return count;
}

void remove(Fiber& fiber, uint32_t position) {
  List<Transfer>& list = fiber.transfers;
  memmove(list.items + position, list.items + position + 1,
          (list.count - position - 1) * sizeof(Transfer));
  list.count -= 1;
  fiber.flushed = 0;
}

bool must_follow(const Transfer& later, const Transfer& earlier) {
  return later.kind == TransferKind::Write && earlier.kind == TransferKind::Write &&
         later.channel == earlier.channel && later.target == earlier.target;
}

// The first of those that must land before it, or itself.
uint32_t first_before(const List<Transfer>& list, uint32_t position) {
  for (uint32_t i = 0; i < position; ++i)
    if (must_follow(list.items[position], list.items[i])) return i;
  return position;
}

void land_at(Fiber& fiber, uint32_t position) {
  const Transfer transfer = fiber.transfers.items[position];
  remove(fiber, position);
  land(fiber, transfer);
}

bool matches(const Transfer& transfer, TransferKind kind, uint32_t transaction) {
  return transfer.kind == kind &&
         (transaction == any_transaction || transfer.transaction == transaction);
}

// Of what is due lands what stays on the node, in order; true where there is more.
bool land_here(Fiber& fiber) {
  uint32_t kept = 0;
  bool has_more = false;
  for (uint32_t i = 0; i < fiber.transfers.count;) {
    Transfer& transfer = fiber.transfers.items[i];
    if (transfer.is_due && !transfer.is_elsewhere) {
      i += land_next(fiber, i);
      continue;
    }
    has_more |= transfer.is_due;
    if (kept != i) fiber.transfers.items[kept] = transfer;
    kept += 1;
    i += 1;
  }
  if (fiber.transfers.count != kept) fiber.flushed = 0;
  fiber.transfers.count = kept;
  fiber.lane->has_sent |= has_more;
  return has_more;
}

// True where something goes to other nodes or comes from there.
bool land_in_order(Fiber& fiber, TransferKind kind, uint32_t transaction) {
  for (uint32_t i = 0; i < fiber.transfers.count; ++i)
    fiber.transfers.items[i].is_due |= matches(fiber.transfers.items[i], kind, transaction);
  return land_here(fiber);
}

void wait_until_landed(Fiber& fiber) {
  fiber.next = fiber.lane->at_barrier;
  fiber.lane->at_barrier = &fiber;
  pass_on(fiber);
}

void land_shuffled(Fiber& fiber, TransferKind kind, uint32_t transaction) {
  for (;;) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < fiber.transfers.count; ++i)
      found += matches(fiber.transfers.items[i], kind, transaction);
    if (!found) return;
    uint32_t chosen = random_below(*fiber.run, found), position = 0;
    while (!matches(fiber.transfers.items[position], kind, transaction) || chosen--) ++position;
    land_at(fiber, first_before(fiber.transfers, position));
  }
}

// Without a seed, what the kernel asked for last comes first: signals before the data they stand
// for.
uint32_t hostile_choice(const List<Transfer>& list) {
  for (uint32_t i = list.count; i-- > 0;)
    if (list.items[i].kind == TransferKind::Increment) return i;
  return first_before(list, list.count - 1);
}

bool are_together(const Transfer& one, const Transfer& other) {
  return one.multicast && one.multicast == other.multicast;
}

// A multicast lands as a whole: after what must come before any of it.
uint32_t first_of_whole(const List<Transfer>& list, uint32_t position) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (!are_together(list.items[i], list.items[position])) continue;
    const uint32_t first = first_before(list, i);
    if (first != i) return first_of_whole(list, first);
  }
  return position;
}

uint8_t transaction_of(const Fiber& fiber, TransferKind kind) {
  return kind == TransferKind::Read ? fiber.read_transaction : fiber.write_transaction;
}

void trace_copy(Fiber& fiber, uint32_t tensor, uint32_t bytes, TransferKind kind, int line) {
  if (!fiber.run->program->trace || tensor == no_tensor) return;
  const uint8_t transaction = transaction_of(fiber, kind);
  for (uint32_t i = 0; i < fiber.copies.count; ++i) {
    const OpenCopy& copy = fiber.copies.items[i];
    if (copy.tensor != tensor || copy.kind != kind || copy.transaction != transaction) continue;
    fiber.run->report->events[copy.event].value += bytes;
    return;
  }
  const uint32_t event = record(fiber, TTL_COPY_START, tensor, bytes, line);
  append(fiber.copies, {tensor, event, kind, transaction});
}

void trace_copies_end(Fiber& fiber, TransferKind kind, uint32_t transaction, int line) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fiber.copies.count; ++i) {
    const OpenCopy copy = fiber.copies.items[i];
    const bool is_ended = copy.kind == kind && (transaction == any_transaction ||
                                                copy.transaction == transaction);
    if (!is_ended)
      fiber.copies.items[kept++] = copy;
    else
      record(fiber, TTL_COPY_END, copy.tensor, fiber.run->report->events[copy.event].value, line);
  }
  fiber.copies.count = kept;
}

void count_open(Fiber& fiber, const Transfer& transfer) {
  if (transfer.kind == TransferKind::Increment)
    fiber.open_increments += 1;
  else if (transfer.kind == TransferKind::Write)
    fiber.open_writes[transfer.transaction] += 1;
  else
    fiber.open_reads[transfer.transaction] += 1;
}

// Written where it stays, field by field: a copy of what was written just now would wait for it.
Transfer& begin(Fiber& fiber, const Place& to, const uint8_t* source, uint32_t bytes,
                TransferKind kind, uint8_t channel) {
  Transfer& transfer = next_of(fiber.transfers);
  transfer.destination = to.bytes;
  transfer.source = source;
  transfer.payload = nullptr;
  transfer.bytes = bytes;
  transfer.value = 0;
  transfer.target = to.node;
  transfer.multicast = channel == multicast ? fiber.multicasts : 0;
  transfer.kind = kind;
  transfer.channel = channel;
  transfer.transaction = transaction_of(fiber, kind);
  transfer.tile = {};
  transfer.tensor = no_tensor;
  transfer.line = 0;
  transfer.page = 0;
  transfer.is_elsewhere =
      is_elsewhere(fiber, to.bytes) || (source && is_elsewhere(fiber, source));
  transfer.is_due = transfer.is_checked = false;
  transfer.sender = &fiber;
  transfer.next = nullptr;
  fiber.lane->has_sent |= transfer.is_elsewhere;
  fiber.lane->pending += 1;
  count_open(fiber, transfer);
  return transfer;
}

void clear(uint32_t (&open)[transaction_ids], uint32_t transaction) {
  if (transaction == any_transaction)
    memset(open, 0, sizeof(open));
  else
    open[transaction % transaction_ids] = 0;
}

bool any(const uint32_t (&open)[transaction_ids]) {
  uint32_t all = 0;
  for (uint32_t count : open) all |= count;
  return all != 0;
}

}  // namespace

void begin_transfer(Fiber& fiber, const Place& from, const Place& to, uint32_t bytes,
                    TransferKind kind, uint8_t channel, int line) {
  const uint32_t stored =
      from.usable_bytes < to.usable_bytes ? from.usable_bytes : to.usable_bytes;
  const bool is_read = kind == TransferKind::Read;
  Transfer& transfer = begin(fiber, to, from.bytes, stored, kind, channel);
  transfer.tile = is_read ? from.tile : to.tile;
  transfer.tensor = is_read ? no_tensor : to.tensor;
  transfer.page = to.page;
  transfer.line = static_cast<uint32_t>(line);
  trace_copy(fiber, is_read ? from.tensor : to.tensor, bytes, kind, line);
  if (!is_read && to.tensor != no_tensor)
    __atomic_store_n(&fiber.run->program->tensors[to.tensor].written, 1, __ATOMIC_RELAXED);
}

void begin_word(Fiber& fiber, const Place& to, uint32_t value, TransferKind kind, uint8_t channel,
                int) {
  begin(fiber, to, nullptr, 4, kind, channel).value = value;
}

void finish(Fiber& fiber, TransferKind kind, uint32_t transaction, int line) {
  if (fiber.transfers.count) {
    if (fiber.run->program->is_seeded)
      land_shuffled(fiber, kind, transaction);
    else if (land_in_order(fiber, kind, transaction))
      wait_until_landed(fiber);
    if (fiber.lane->word_waiters) wake_words(*fiber.lane);
  }
  if (kind == TransferKind::Read) clear(fiber.open_reads, transaction);
  if (kind == TransferKind::Write) clear(fiber.open_writes, transaction);
  if (kind == TransferKind::Increment) fiber.open_increments = 0;
  if (fiber.run->program->trace && kind != TransferKind::Increment)
    trace_copies_end(fiber, kind, transaction, line);
}

void flush(Fiber& fiber, uint32_t transaction, int line) {
  constexpr uint32_t most_on_their_way = 64;  // so many writes are never without an answer
  if (fiber.transfers.count > most_on_their_way)
    land_in_order(fiber, TransferKind::Write, any_transaction);
  for (uint32_t i = fiber.flushed; i < fiber.transfers.count; ++i) {
    Transfer& transfer = fiber.transfers.items[i];
    if (!matches(transfer, TransferKind::Write, transaction) || transfer.payload ||
        !transfer.source)
      continue;
    Payload* before = i ? fiber.transfers.items[i - 1].payload : nullptr;
    const bool shares = before && are_together(fiber.transfers.items[i - 1], transfer);
    transfer.payload =
        shares ? before : take_payload(*fiber.lane, transfer.source, transfer.bytes);
    if (!transfer.payload) fault(0, "the host has no memory left");
    transfer.payload->users += shares;
  }
  if (transaction == any_transaction) fiber.flushed = fiber.transfers.count;
  if (fiber.run->program->trace) trace_copies_end(fiber, TransferKind::Write, transaction, line);
}

bool land_any(Run& run) {
  Lane& lane = run.lanes[0];
  if (!lane.pending) return false;
  uint32_t chosen = run.program->is_seeded ? random_below(run, lane.pending) : 0;
  for (uint32_t i = 0; i < run.fiber_count; ++i) {
    Fiber& fiber = run.fibers[i];
    if (chosen >= fiber.transfers.count) {
      chosen -= fiber.transfers.count;
      continue;
    }
    land_at(fiber, run.program->is_seeded ? first_before(fiber.transfers, chosen)
                                          : hostile_choice(fiber.transfers));
    break;
  }
  wake_words(lane);
  return true;
}

bool make_one_of_each_due(Run& run) {
  bool is_any = false;
  for (uint32_t i = 0; i < run.fiber_count; ++i) {
    Fiber& fiber = run.fibers[i];
    if (!fiber.transfers.count) continue;
    const uint32_t chosen = first_of_whole(fiber.transfers, hostile_choice(fiber.transfers));
    Transfer& first = fiber.transfers.items[chosen];
    for (uint32_t k = 0; k < fiber.transfers.count; ++k)
      fiber.transfers.items[k].is_due |= are_together(fiber.transfers.items[k], first);
    first.is_due = true;
    land_here(fiber);
    is_any = true;
  }
  return is_any;
}

void remove_due(Fiber& fiber) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
    const Transfer& transfer = fiber.transfers.items[i];
    if (!transfer.is_due)
      fiber.transfers.items[kept++] = transfer;
    else
      give_back(*fiber.lane, transfer.payload);
  }
  fiber.lane->pending -= fiber.transfers.count - kept;
  fiber.transfers.count = kept;
  fiber.flushed = 0;
}

namespace {

bool writes_tensor(const Fiber& fiber) {
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
    const Transfer& transfer = fiber.transfers.items[i];
    if (transfer.kind == TransferKind::Write && transfer.tensor != no_tensor) return true;
  }
  return false;
}

const char* open_transfers(const Fiber& fiber) {
  if (any(fiber.open_reads))
    return "the kernel ended without noc_async_read_barrier after its last read";
  if (any(fiber.open_writes))
    return "the kernel ended without noc_async_write_barrier after its last write";
  if (fiber.open_increments)
    return "the kernel ended without noc_async_atomic_barrier after its last increment";
  return nullptr;
}

}  // namespace

void check_transfers_complete(Fiber& fiber) {
  const char* open = open_transfers(fiber);
  if (open && (!fiber.run->program->by_hand || any(fiber.open_reads) || writes_tensor(fiber)))
    fault(static_cast<int>(fiber.line), "%s", open);
}

void check_all_landed(Run& run) {
  for (uint32_t i = 0; i < run.fiber_count; ++i) {
    const Fiber& fiber = run.fibers[i];
    if (!fiber.transfers.count) continue;
    TtlReport& report = *run.report;
    report.status = TTL_FAULT;
    report.node = fiber.node->position;
    report.kernel = static_cast<uint32_t>(fiber.kernel - run.program->kernels);
    report.line = fiber.line;
    snprintf(report.message, sizeof(report.message), "%s", open_transfers(fiber));
    return;
  }
}

void discard_transfers(Fiber& fiber) {
  for (uint32_t i = 0; i < fiber.transfers.count; ++i)
    give_back(*fiber.lane, fiber.transfers.items[i].payload);
}

}  // namespace ttl_host
