#include "transfers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

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

namespace {

// Calls `copy(in_rows, in_page, bytes)` for each row of a face: there a page is in one piece.
template <typename Copy>
void for_each_face_row(uint8_t* first_row, const TileOfRows& tile, uint32_t bytes, Copy copy) {
  const uint32_t piece = 16 * tile.element_bytes;
  uint32_t done = 0;
  while (done < bytes) {
    const uint32_t position = tile.offset + done;
    const uint32_t number = position / piece, within = position % piece;
    const uint32_t face = number / 16, row = number % 16 + face / 2 * 16;
    const uint32_t left = piece - within < bytes - done ? piece - within : bytes - done;
    copy(first_row + size_t{row} * tile.row_bytes + face % 2 * piece + within, done, left);
    done += left;
  }
}

// A whole tile, which is nearly always what is moved: all sizes are known to the compiler.
template <uint32_t piece, bool to_rows>
void move_tile(uint8_t* rows, size_t row_bytes, uint8_t* page) {
  for (uint32_t row = 0; row < 32; ++row, rows += row_bytes) {
    uint8_t* left = page + row / 16 * 32 * piece + row % 16 * piece;
    uint8_t* right = left + 16 * piece;
    if (to_rows) {
      memcpy(rows, left, piece);
      memcpy(rows + piece, right, piece);
    } else {
      memcpy(left, rows, piece);
      memcpy(right, rows + piece, piece);
    }
  }
}

template <bool to_rows>
void land_tile(const TileOfRows& tile, uint32_t bytes, uint8_t* rows, uint8_t* page) {
  if (bytes == 2048 && tile.element_bytes == 2)
    return move_tile<32, to_rows>(rows, tile.row_bytes, page);
  if (bytes == 4096 && tile.element_bytes == 4)
    return move_tile<64, to_rows>(rows, tile.row_bytes, page);
  for_each_face_row(rows, tile, bytes, [&](uint8_t* in_rows, uint32_t at, uint32_t n) {
    if (to_rows)
      memcpy(in_rows, page + at, n);
    else
      memcpy(page + at, in_rows, n);
  });
}

}  // namespace

void land_data(Fiber& fiber, const Transfer& transfer) {
  Run& run = *fiber.run;
  const void* data = transfer.payload  ? static_cast<const void*>(transfer.payload)
                     : transfer.source ? static_cast<const void*>(transfer.source)
                                       : &transfer.value;
  WriteNote note(fiber, transfer, static_cast<const uint8_t*>(data));
  if (transfer.kind == TransferKind::Increment) {
    uint32_t word;
    memcpy(&word, transfer.destination, 4);
    word += transfer.value;
    memcpy(transfer.destination, &word, 4);
  } else if (!transfer.tile.row_bytes) {
    memmove(transfer.destination, data, transfer.bytes);
  } else if (transfer.kind == TransferKind::Read) {
    land_tile<false>(transfer.tile, transfer.bytes, const_cast<uint8_t*>(transfer.source),
                     transfer.destination);
  } else {
    land_tile<true>(transfer.tile, transfer.bytes, transfer.destination,
                    static_cast<uint8_t*>(const_cast<void*>(data)));
  }
  if (transfer.payload) free(transfer.payload);
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
  fiber.lane->pending -= 1;
  note_move(*fiber.lane);
}

template <bool to_tensor>
void move_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1) {
  if (!tensor.row_bytes) {
    uint8_t* stored = tensor.bytes + page * tensor.page_bytes;
    memcpy(to_tensor ? stored : in_l1, to_tensor ? in_l1 : stored, tensor.page_bytes);
    return;
  }
  const TileOfRows tile{tensor.row_bytes, tensor.element_bytes, 0};
  const uint32_t tile_row_bytes = 32 * tensor.element_bytes;
  const uint64_t columns = tensor.row_bytes / tile_row_bytes;
  uint8_t* rows = tensor.bytes + page / columns * 32 * tensor.row_bytes +
                  page % columns * tile_row_bytes;
  land_tile<to_tensor>(tile, tensor.page_bytes, rows, in_l1);
}

void remove(List<Transfer>& list, uint32_t position) {
  memmove(list.items + position, list.items + position + 1,
          (list.count - position - 1) * sizeof(Transfer));
  list.count -= 1;
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
  remove(fiber.transfers, position);
  land(fiber, transfer);
}

bool matches(const Transfer& transfer, TransferKind kind, uint32_t transaction) {
  return transfer.kind == kind &&
         (transaction == any_transaction || transfer.transaction == transaction);
}

// What goes to other nodes or comes from there is due now; true where there is any.
bool land_in_order(Fiber& fiber, TransferKind kind, uint32_t transaction) {
  uint32_t kept = 0;
  bool is_due = false;
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
    Transfer& transfer = fiber.transfers.items[i];
    const bool lands = matches(transfer, kind, transaction);
    if (lands && !transfer.is_elsewhere) {
      land(fiber, transfer);
      continue;
    }
    is_due |= transfer.is_due |= lands;
    if (kept != i) fiber.transfers.items[kept] = transfer;
    kept += 1;
  }
  fiber.transfers.count = kept;
  fiber.lane->has_sent |= is_due;
  return is_due;
}

void wait_until_landed(Fiber& fiber) {
  fiber.next = fiber.lane->at_barrier;
  fiber.lane->at_barrier = &fiber;
  switch_context(fiber.context, fiber.lane->scheduler);
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

void begin(Fiber& fiber, const Transfer& transfer) {
  append(fiber.transfers, transfer);
  Transfer& kept = fiber.transfers.items[fiber.transfers.count - 1];
  kept.sender = &fiber;
  kept.is_elsewhere = is_elsewhere(fiber, transfer.destination) ||
                      (transfer.source && is_elsewhere(fiber, transfer.source));
  fiber.lane->has_sent |= kept.is_elsewhere;
  fiber.lane->pending += 1;
  count_open(fiber, transfer);
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

// The rows of a tile lie far apart: their way to the processor begins now, not when they are
// copied.
void fetch_ahead(const uint8_t* rows, const TileOfRows& tile) {
  for (uint32_t row = 0; row < 32; ++row) __builtin_prefetch(rows + size_t{row} * tile.row_bytes);
}

}  // namespace

void begin_transfer(Fiber& fiber, const Place& from, const Place& to, uint32_t bytes,
                    TransferKind kind, uint8_t channel, int line) {
  const uint32_t stored =
      from.usable_bytes < to.usable_bytes ? from.usable_bytes : to.usable_bytes;
  const bool is_read = kind == TransferKind::Read;
  begin(fiber, {to.bytes, from.bytes, nullptr, stored, 0, to.node, kind, channel,
                transaction_of(fiber, kind), is_read ? from.tile : to.tile,
                is_read ? no_tensor : to.tensor, static_cast<uint32_t>(line), false, false,
                false, nullptr, nullptr});
  if (is_read && from.tile.row_bytes) fetch_ahead(from.bytes, from.tile);
  if (!is_read && to.tile.row_bytes) fetch_ahead(to.bytes, to.tile);
  trace_copy(fiber, is_read ? from.tensor : to.tensor, bytes, kind, line);
  if (!is_read && to.tensor != no_tensor)
    __atomic_store_n(&fiber.run->program->tensors[to.tensor].written, 1, __ATOMIC_RELAXED);
}

void begin_word(Fiber& fiber, const Place& to, uint32_t value, TransferKind kind, uint8_t channel,
                int) {
  begin(fiber,
        {to.bytes, nullptr, nullptr, 4, value, to.node, kind, channel,
         transaction_of(fiber, kind), {}, no_tensor, 0, false, false, false, nullptr,
         nullptr});
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
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
    Transfer& transfer = fiber.transfers.items[i];
    if (!matches(transfer, TransferKind::Write, transaction) || transfer.payload ||
        !transfer.source)
      continue;
    transfer.payload = static_cast<uint8_t*>(malloc(transfer.bytes ? transfer.bytes : 1));
    if (!transfer.payload) fault(0, "the host has no memory left");
    memcpy(transfer.payload, transfer.source, transfer.bytes);
  }
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

bool land_one_of_each(Run& run) {
  bool has_landed = false;
  for (uint32_t i = 0; i < run.fiber_count; ++i) {
    Fiber& fiber = run.fibers[i];
    if (!fiber.transfers.count) continue;
    land_at(fiber, hostile_choice(fiber.transfers));
    has_landed = true;
  }
  for (uint32_t i = 0; i < run.lane_count; ++i) wake_words(run.lanes[i]);
  return has_landed;
}

void remove_due(Fiber& fiber) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fiber.transfers.count; ++i)
    if (!fiber.transfers.items[i].is_due) fiber.transfers.items[kept++] = fiber.transfers.items[i];
  fiber.lane->pending -= fiber.transfers.count - kept;
  fiber.transfers.count = kept;
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

void load_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1) {
  move_page<false>(tensor, page, in_l1);
}

void store_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1) {
  move_page<true>(tensor, page, in_l1);
}

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
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) free(fiber.transfers.items[i].payload);
}

}  // namespace ttl_host
