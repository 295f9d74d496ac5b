// api/dataflow/dataflow_api.h, and what it includes: reads, writes and multicasts over the NoC,
// barriers and addresses.
#include <cstdio>

#include "buffers.h"
#include "transfers.h"

#include "api/dataflow/dataflow_api.h"

namespace ttl_host {

// A kernel that posts receives tells a sender where its block is: it may be one that it has waited
// for.
bool is_posted(const CircularBuffer& buffer, uint32_t first, uint32_t last, uint32_t pages) {
  if (!buffer.waiter || buffer.waiter->scratch_argument == ~0u) return false;
  const uint32_t distance = (first + pages - buffer.read_page) % pages;
  return distance + (last - first) < buffer.waited;
}

// By hand pages that hold nothing do.
const CircularBuffer* not_reserved(const Fiber& fiber, const Node& node, uint32_t offset,
                                   uint32_t bytes) {
  const TtlProgram& program = *fiber.run->program;
  for (uint32_t i = 0; &node != fiber.node && i < program.buffer_count; ++i) {
    const CircularBuffer& buffer = node.buffers[program.buffers[i].index];
    const uint32_t start = buffer.address - node.l1_address;
    if (!buffer.plan || offset < start) continue;
    const uint32_t page_bytes = buffer.plan->page_bytes, pages = buffer.plan->pages;
    const uint32_t first = (offset - start) / page_bytes;
    if (first >= pages) continue;
    const uint32_t last = (offset - start + bytes - 1) / page_bytes;
    const uint32_t distance = (first + pages - buffer.write_page) % pages;
    const uint32_t free = program.by_hand ? pages - buffer.filled : 0;
    const bool is_ready = distance + (last - first) < (buffer.reserved > free ? buffer.reserved : free);
    return is_ready || is_posted(buffer, first, last, pages) ? nullptr : &buffer;
  }
  return nullptr;
}

namespace {

void check_alignment(const Place& a, const Place& b, uint32_t alignment, int line) {
  if ((a.alignment_offset - b.alignment_offset) % alignment != 0)
    fault(line, "source and destination of a transfer differ modulo %u (byte %u and byte %u)",
          alignment, a.alignment_offset, b.alignment_offset);
}

uint8_t own_noc_of(const Fiber& fiber) { return static_cast<uint8_t>(fiber.kernel->noc); }

Fiber& on_own_noc(uint8_t noc, int line) {
  Fiber& fiber = self(line);
  if (noc != ttl_dataflow::own_noc && noc != own_noc_of(fiber))
    fault(line, "the host runtime does not model NoC %u for this kernel", noc);
  return fiber;
}

[[noreturn]] void leave_not_reserved(Fiber& fiber, const CircularBuffer& buffer, uint32_t node,
                                     int line) {
  snprintf(fiber.lane->message, sizeof(fiber.lane->message), "%u %u", buffer.position, node);
  leave(fiber, TTL_NOT_RESERVED, line);
}

uint32_t checked_transaction(uint32_t id, int line) {
  if (id >= transaction_ids) fault(line, "there is no transaction id %u", id);
  return id;
}

constexpr uint32_t l1_alignment = TTL_L1_ALIGNMENT;

// Calls `body` with every node of the rectangle of a multicast.
template <typename Body>
uint32_t for_each_receiver(Fiber& fiber, const Rectangle& r, bool with_sender, Body body) {
  const Run& run = *fiber.run;
  uint32_t count = 0;
  fiber.multicasts += 1;
  for (uint32_t y = r.first_y; y <= r.last_y; ++y)
    for (uint32_t x = r.first_x; x <= r.last_x; ++x) {
      const int node = run.node_at[y][x];
      if (node < 0 || (!with_sender && static_cast<uint32_t>(node) == fiber.node->position))
        continue;
      body(static_cast<uint32_t>(node));
      count += 1;
    }
  return count;
}

void check_receiver_is_ready(Fiber& fiber, const Place& to, uint32_t bytes, int line) {
  if (!fiber.run->is_in_turn) return;  // in rounds that is seen when the transfer lands
  const CircularBuffer* buffer =
      not_reserved(fiber, fiber.run->nodes[to.node], to.alignment_offset, bytes);
  if (buffer) leave_not_reserved(fiber, *buffer, to.node, line);
}

void check_receivers(uint32_t found, uint32_t given, int line) {
  if (found != given)
    fault(line, "num_dests is %u, but the multicast reaches %u nodes: its barrier would never end",
          given, found);
  if (!found) fault(line, "a multicast to no node");
}

}  // namespace

}  // namespace ttl_host

namespace ttl_dataflow {

using namespace ttl_host;

namespace accessors {

// api/tensor/tensor_accessor.h: get_noc_addr
uint64_t page_address(uint32_t base, uint32_t page_bytes, bool is_dram, uint32_t page,
                      uint32_t offset, int line) {
  const Fiber& fiber = self(line);
  const TtlProgram& program = *fiber.run->program;
  const uint32_t index = find_tensor(fiber, base, line);
  const TtlTensor& tensor = program.tensors[index];
  if (page_bytes != tensor.aligned_page_bytes || is_dram != (tensor.in_dram != 0))
    fault(line, "the accessor's page size or memory is not that of the tensor at 0x%x", base);
  if (page >= tensor.pages)
    fault(line, "page %d of a tensor with %llu pages", static_cast<int>(page),
          static_cast<unsigned long long>(tensor.pages));
  return tensor_address(index, page * uint64_t{page_bytes} + offset);
}

// Pages of an interleaved tensor are dealt out to the banks in turn: those of one bank follow each
// other there.
uint64_t bank_address(uint32_t bank, uint32_t address, uint32_t banks, int line) {
  if (bank >= banks) fault(line, "there is no DRAM bank %u", bank);
  const TtlProgram& program = *self(line).run->program;
  const uint32_t index = find_dram_tensor(program, address, banks, line);
  const TtlTensor& tensor = program.tensors[index];
  if (tensor.is_sharded)
    fault(line, "the host runtime does not know the banks of a sharded tensor");
  const uint32_t distance = address - tensor.address;
  const uint64_t row = distance / tensor.aligned_page_bytes;
  return tensor_address(index, (row * banks + bank) * tensor.aligned_page_bytes +
                                   distance % tensor.aligned_page_bytes);
}

}  // namespace accessors

namespace detail {

uint8_t number_of_own_noc() { return own_noc_of(self()); }

// noc_async_read and its like
void read(uint64_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  const Place from = place(fiber, source, bytes, line);
  const Place to = place_in_own_l1(fiber, destination, bytes, line);
  check_alignment(from, to, from.in_dram ? fiber.run->program->dram_read_alignment : l1_alignment,
                  line);
  begin_transfer(fiber, from, to, bytes, TransferKind::Read, unicast, line);
}

// noc_async_write and its like
void write(uint32_t source, uint64_t destination, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  const Place from = place_in_own_l1(fiber, source, bytes, line);
  const Place to = place(fiber, destination, bytes, line);
  check_alignment(from, to, l1_alignment, line);
  if (to.tensor == no_tensor) check_receiver_is_ready(fiber, to, bytes, line);
  begin_transfer(fiber, from, to, bytes, TransferKind::Write, unicast, line);
}

// the forms for one packet
void check_packet(uint32_t bytes, uint32_t most, int line) {
  if (bytes > most) fault(line, "one packet takes %u bytes, not %u", most, bytes);
}

// noc_async_read_one_packet_set_state, noc_async_read_set_state
void set_read_state(uint64_t source, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  fiber.read_state = source;
  fiber.read_state_bytes = bytes;
}

// The node or bank of the state, with an address of its own. `bytes` 0: as set.
void read_with_state(uint32_t source, uint32_t destination, uint32_t bytes, uint8_t noc,
                     int line) {
  const Fiber& fiber = self(line);
  const uint64_t high = fiber.read_state & 0xffffffff00000000u;
  read(high | source, destination, bytes ? bytes : fiber.read_state_bytes, noc, line);
}

// noc_async_write_one_packet_set_state, noc_async_write_set_state
void set_write_state(uint64_t destination, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  fiber.write_state = destination;
  fiber.write_state_bytes = bytes;
}

void write_with_state(uint32_t source, uint32_t destination, uint32_t bytes, uint8_t noc,
                      int line) {
  const Fiber& fiber = self(line);
  const uint64_t high = fiber.write_state & 0xffffffff00000000u;
  write(source, high | destination, bytes ? bytes : fiber.write_state_bytes, noc, line);
}

// noc_async_write_one_packet_with_trid
void write_with_transaction(uint32_t source, uint64_t destination, uint32_t bytes,
                            uint32_t transaction, uint8_t noc, int line) {
  Fiber& fiber = self(line);
  fiber.write_transaction = static_cast<uint8_t>(checked_transaction(transaction, line));
  write(source, destination, bytes, noc, line);
}

// noc_async_write_multicast, noc_semaphore_set_multicast and those
// with _loopback_src, which reach the sender too
void write_multicast(uint32_t source, uint64_t destination, uint32_t bytes, uint32_t receivers,
                     bool with_sender, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  const Place from = place_in_own_l1(fiber, source, bytes, line);
  const Rectangle r = rectangle_of(fiber, destination, own_noc_of(fiber), line);
  const uint32_t found = for_each_receiver(fiber, r, with_sender, [&](uint32_t node) {
    const Place to = place_on_node(fiber, node, r.address, bytes, line);
    check_alignment(from, to, l1_alignment, line);
    check_receiver_is_ready(fiber, to, bytes, line);
    begin_transfer(fiber, from, to, bytes, TransferKind::Write, multicast, line);
  });
  check_receivers(found, receivers, line);
}

// noc_semaphore_inc
void increment(uint64_t destination, uint32_t value, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  begin_word(fiber, place(fiber, destination, 4, line), value, TransferKind::Increment, unicast,
             line);
}

// noc_semaphore_inc_multicast. The sender is left out.
void increment_multicast(uint64_t destination, uint32_t value, uint32_t receivers, uint8_t noc,
                         int line) {
  Fiber& fiber = on_own_noc(noc, line);
  const Rectangle r = rectangle_of(fiber, destination, own_noc_of(fiber), line);
  const uint32_t found = for_each_receiver(fiber, r, false, [&](uint32_t node) {
    begin_word(fiber, place_on_node(fiber, node, r.address, 4, line), value,
               TransferKind::Increment, multicast, line);
  });
  check_receivers(found, receivers, line);
}

// noc_inline_dw_write
void write_word(uint64_t destination, uint32_t value, uint8_t noc, int line) {
  Fiber& fiber = on_own_noc(noc, line);
  const Place to = place(fiber, destination, 4, line);
  if (to.alignment_offset % 4) fault(line, "an inline write to byte %u", to.alignment_offset);
  if (to.tensor != no_tensor) fault(line, "an inline write goes to L1, not to a tensor");
  begin_word(fiber, to, value, TransferKind::Write, unicast, line);
}

// firmware_common.h: worker_logical_col_to_virtual_col and worker_logical_row_to_virtual_row
uint8_t virtual_column(uint32_t x) {
  const Fiber& fiber = self();
  const TtlProgram& program = *fiber.run->program;
  if (x >= program.grid_columns) fault(static_cast<int>(fiber.line), "there is no column %u", x);
  return program.virtual_columns[x];
}

uint8_t virtual_row(uint32_t y) {
  const Fiber& fiber = self();
  const TtlProgram& program = *fiber.run->program;
  if (y >= program.grid_rows) fault(static_cast<int>(fiber.line), "there is no row %u", y);
  return program.virtual_rows[y];
}

// firmware_common.h: my_x and my_y, of any NoC
uint8_t own_column(uint32_t) { return virtual_column(self().node->x); }
uint8_t own_row(uint32_t) { return virtual_row(self().node->y); }

void noc_async_read_barrier(uint8_t noc, int line) {
  finish(on_own_noc(noc, line), TransferKind::Read, any_transaction, line);
}

void noc_async_write_barrier(uint8_t noc, int line) {
  finish(on_own_noc(noc, line), TransferKind::Write, any_transaction, line);
}

void noc_async_atomic_barrier(uint8_t noc, int line) {
  finish(on_own_noc(noc, line), TransferKind::Increment, any_transaction, line);
}

void noc_async_full_barrier(uint8_t noc, int line) {
  noc_async_read_barrier(noc, line);
  noc_async_write_barrier(noc, line);
  noc_async_atomic_barrier(noc, line);
}

// the data has left the node but is not acknowledged.
void noc_async_writes_flushed(uint8_t noc, int line) {
  flush(on_own_noc(noc, line), any_transaction, line);
}

void noc_async_read_set_trid(uint32_t trid, uint8_t noc, int line) {
  on_own_noc(noc, line).read_transaction = static_cast<uint8_t>(checked_transaction(trid, line));
}

void noc_async_write_set_trid(uint32_t trid, uint8_t noc, int line) {
  on_own_noc(noc, line).write_transaction = static_cast<uint8_t>(checked_transaction(trid, line));
}

void noc_async_read_barrier_with_trid(uint32_t trid, uint8_t noc, int line) {
  finish(on_own_noc(noc, line), TransferKind::Read, checked_transaction(trid, line), line);
}

void noc_async_write_barrier_with_trid(uint32_t trid, uint8_t noc, int line) {
  finish(on_own_noc(noc, line), TransferKind::Write, checked_transaction(trid, line), line);
}

void noc_async_write_flushed_with_trid(uint32_t trid, uint8_t noc, int line) {
  flush(on_own_noc(noc, line), checked_transaction(trid, line), line);
}

}  // namespace detail

uint64_t get_noc_addr(uint32_t addr, uint8_t) {
  const Fiber& fiber = self();
  const TtlProgram& program = *fiber.run->program;
  return node_address(program.virtual_columns[fiber.node->x], program.virtual_rows[fiber.node->y],
                      addr);
}

uint64_t get_noc_addr(uint32_t noc_x, uint32_t noc_y, uint32_t addr, uint8_t) {
  self();
  return node_address(noc_x, noc_y, addr);
}

uint64_t get_noc_multicast_addr(uint32_t x_start, uint32_t y_start, uint32_t x_end,
                                uint32_t y_end, uint32_t addr, uint8_t) {
  self();
  return multicast_address({x_start, y_start, x_end, y_end, addr});
}

uint32_t get_write_ptr(uint32_t operand, int line) {
  const CircularBuffer& buffer = buffer_at(self(line), operand, line);
  return buffer.address + buffer.write_page * buffer.plan->page_bytes;
}

uint32_t get_read_ptr(uint32_t operand, int line) {
  const CircularBuffer& buffer = buffer_at(self(line), operand, line);
  return buffer.address + buffer.read_page * buffer.plan->page_bytes;
}

}  // namespace ttl_dataflow
