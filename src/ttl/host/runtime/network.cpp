// Data movement: NoC transfers between L1 and tensors. A transfer is carried out at the barrier
// that waits for it, the latest moment the chip allows, so that a missing barrier shows.
#include <cstring>

#include "arguments.h"
#include "buffers.h"

#include "api/dataflow/dataflow_api.h"

namespace ttl_host {

namespace {

// A NoC address: the kind in the top byte, the tensor in the next, then the byte in it.
constexpr uint64_t kind_l1 = 1, kind_tensor = 2;

struct Place {
  uint8_t* bytes;
  uint32_t alignment_offset;  // the address modulo every alignment the chip knows
  uint32_t usable_bytes;      // the padding of a page is not stored
  uint32_t tensor;
  bool in_dram;
};

uint64_t tensor_address(uint64_t tensor, uint64_t byte) {
  return kind_tensor << 56 | tensor << 48 | byte;
}

uint32_t find_tensor(const TtlProgram& program, uint32_t base, int line) {
  for (uint32_t i = 0; i < program.tensor_count; ++i)
    if (program.tensors[i].address == base) return i;
  fault(line, "there is no tensor at address 0x%x", base);
}

Place place_in_tensor(const TtlProgram& program, uint64_t address, uint32_t bytes, int line) {
  const uint32_t index = address >> 48 & 0xff;
  const TtlTensor& tensor = program.tensors[index];
  const uint64_t byte = address & ((uint64_t{1} << 48) - 1);
  const uint64_t page = byte / tensor.aligned_page_bytes;
  const uint32_t offset = static_cast<uint32_t>(byte % tensor.aligned_page_bytes);
  if (page >= tensor.pages || bytes > tensor.aligned_page_bytes - offset)
    fault(line, "a transfer of %u bytes from byte %u of page %llu leaves the page (%u bytes)",
          bytes, offset, static_cast<unsigned long long>(page), tensor.aligned_page_bytes);
  const uint32_t stored = offset < tensor.page_bytes ? tensor.page_bytes - offset : 0;
  return {tensor.bytes + page * tensor.page_bytes + offset, offset,
          bytes < stored ? bytes : stored, index, tensor.in_dram != 0};
}

Place place_in_l1(Fiber& fiber, uint32_t address, uint32_t bytes, int line) {
  const TtlProgram& program = *fiber.run->program;
  for (uint32_t i = 0; i < program.buffer_count; ++i) {
    const CircularBuffer& buffer = fiber.node->buffers[program.buffers[i].index];
    if (address < buffer.address || address >= buffer.end()) continue;
    if (bytes > buffer.end() - address)
      fault(line, "a transfer of %u bytes reaches past the end of `%s`", bytes,
            buffer.plan->name);
    return {fiber.node->l1 + (address - program.l1_base), address, bytes, no_tensor, false};
  }
  fault(line, "L1 address 0x%x lies in no circular buffer", address);
}

Place place(Fiber& fiber, uint64_t address, uint32_t bytes, int line) {
  const uint64_t kind = address >> 56;
  if (kind == kind_tensor) return place_in_tensor(*fiber.run->program, address, bytes, line);
  if (kind == kind_l1) return place_in_l1(fiber, static_cast<uint32_t>(address), bytes, line);
  fault(line, "0x%llx is not a NoC address", static_cast<unsigned long long>(address));
}

void check_alignment(const Place& a, const Place& b, uint32_t alignment, int line) {
  if ((a.alignment_offset - b.alignment_offset) % alignment != 0)
    fault(line, "source and destination of a transfer differ modulo %u (byte %u and byte %u)",
          alignment, a.alignment_offset, b.alignment_offset);
}

void check_noc(const Fiber& fiber, uint8_t noc, int line) {
  const uint8_t own = fiber.kernel->thread == TTL_READER ? 0 : 1;
  if (noc != ttl_dataflow::own_noc && noc != own)
    fault(line, "the host runtime does not model NoC %u for this kernel", noc);
}

void trace_copy(Fiber& fiber, uint32_t tensor, uint32_t bytes, bool is_read, int line) {
  if (!fiber.run->program->trace || tensor == no_tensor) return;
  for (uint32_t i = 0; i < fiber.copies.count; ++i) {
    const OpenCopy& copy = fiber.copies.items[i];
    if (copy.tensor != tensor || copy.is_read != is_read) continue;
    fiber.run->report->events[copy.event].value += bytes;
    return;
  }
  append(fiber.copies, {tensor, record(fiber, TTL_COPY_START, tensor, bytes, line), is_read});
}

void trace_copies_end(Fiber& fiber, bool are_reads, int line) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fiber.copies.count; ++i) {
    const OpenCopy copy = fiber.copies.items[i];
    if (copy.is_read != are_reads)
      fiber.copies.items[kept++] = copy;
    else
      record(fiber, TTL_COPY_END, copy.tensor, fiber.run->report->events[copy.event].value, line);
  }
  fiber.copies.count = kept;
}

void begin_transfer(Fiber& fiber, const Place& from, const Place& to, uint32_t bytes, bool is_read,
                    int line) {
  const uint32_t stored =
      from.usable_bytes < to.usable_bytes ? from.usable_bytes : to.usable_bytes;
  append(fiber.transfers, {to.bytes, from.bytes, stored, is_read});
  trace_copy(fiber, is_read ? from.tensor : to.tensor, bytes, is_read, line);
  if (!is_read && to.tensor != no_tensor) fiber.run->program->tensors[to.tensor].written = 1;
  if (!is_read) fiber.unacknowledged_writes += 1;
  fiber.line = static_cast<uint32_t>(line);
}

void carry_out(Fiber& fiber, bool reads) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fiber.transfers.count; ++i) {
    const Transfer transfer = fiber.transfers.items[i];
    if (transfer.is_read != reads)
      fiber.transfers.items[kept++] = transfer;
    else
      memmove(transfer.destination, transfer.source, transfer.bytes);
  }
  fiber.transfers.count = kept;
}

}  // namespace

void check_transfers_complete(Fiber& fiber) {
  const int line = static_cast<int>(fiber.line);
  for (uint32_t i = 0; i < fiber.transfers.count; ++i)
    if (fiber.transfers.items[i].is_read)
      fault(line, "the kernel ended without noc_async_read_barrier after its last read");
  if (fiber.unacknowledged_writes)
    fault(line, "the kernel ended without noc_async_write_barrier after its last write");
}

}  // namespace ttl_host

namespace ttl_dataflow {

using namespace ttl_host;

namespace tensor_accessor {

// api/tensor/tensor_accessor.h: get_noc_addr
uint64_t page_address(uint32_t base, uint32_t page_bytes, bool is_dram, uint32_t page,
                      uint32_t offset, int line) {
  const TtlProgram& program = *self(line).run->program;
  const uint32_t index = find_tensor(program, base, line);
  const TtlTensor& tensor = program.tensors[index];
  if (page_bytes != tensor.aligned_page_bytes || is_dram != (tensor.in_dram != 0))
    fault(line, "the accessor's page size or memory is not that of the tensor at 0x%x", base);
  if (page >= tensor.pages)
    fault(line, "page %d of a tensor with %llu pages", static_cast<int>(page),
          static_cast<unsigned long long>(tensor.pages));
  return tensor_address(index, page * uint64_t{page_bytes} + offset);
}

}  // namespace tensor_accessor

namespace detail {

// api/dataflow/dataflow_api.h: get_arg_val
uint32_t argument(int index, int line) { return runtime_argument(index, line); }

// api/dataflow/dataflow_api.h: get_common_arg_val
uint32_t common_argument(int index, int line) { return common_runtime_argument(index, line); }

// api/dataflow/dataflow_api.h: noc_async_read, noc_async_read_page
void read(uint64_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = self(line);
  check_noc(fiber, noc, line);
  const Place from = place(fiber, source, bytes, line);
  const Place to = place_in_l1(fiber, destination, bytes, line);
  const uint32_t l1_alignment = 16;
  check_alignment(from, to, from.in_dram ? fiber.run->program->dram_read_alignment : l1_alignment,
                  line);
  begin_transfer(fiber, from, to, bytes, true, line);
}

// api/dataflow/dataflow_api.h: noc_async_write, noc_async_write_page
void write(uint32_t source, uint64_t destination, uint32_t bytes, uint8_t noc, int line) {
  Fiber& fiber = self(line);
  check_noc(fiber, noc, line);
  const Place from = place_in_l1(fiber, source, bytes, line);
  const Place to = place(fiber, destination, bytes, line);
  check_alignment(from, to, 16, line);
  begin_transfer(fiber, from, to, bytes, false, line);
}

}  // namespace detail

// api/dataflow/dataflow_api.h
void noc_async_read_barrier(uint8_t noc, int line) {
  Fiber& fiber = self(line);
  check_noc(fiber, noc, line);
  carry_out(fiber, true);
  if (fiber.run->program->trace) trace_copies_end(fiber, true, line);
}

// api/dataflow/dataflow_api.h
void noc_async_write_barrier(uint8_t noc, int line) {
  Fiber& fiber = self(line);
  check_noc(fiber, noc, line);
  carry_out(fiber, false);
  fiber.unacknowledged_writes = 0;
  if (fiber.run->program->trace) trace_copies_end(fiber, false, line);
}

// api/dataflow/dataflow_api.h: the data has left the node but is not acknowledged.
void noc_async_writes_flushed(uint8_t noc, int line) {
  Fiber& fiber = self(line);
  check_noc(fiber, noc, line);
  carry_out(fiber, false);
}

// internal/dataflow/dataflow_api_addrgen.h
uint64_t get_noc_addr(uint32_t addr, uint8_t) { return kind_l1 << 56 | addr; }

// api/dataflow/dataflow_api.h
void cb_push_back(const int32_t operand, const int32_t num_pages, int line) {
  push_back(static_cast<uint32_t>(operand), static_cast<uint32_t>(num_pages), line);
}

// api/dataflow/dataflow_api.h
void cb_pop_front(int32_t operand, int32_t num_pages, int line) {
  pop_front(static_cast<uint32_t>(operand), static_cast<uint32_t>(num_pages), line);
}

// api/dataflow/dataflow_api.h
void cb_reserve_back(int32_t operand, int32_t num_pages, int line) {
  reserve_back(static_cast<uint32_t>(operand), static_cast<uint32_t>(num_pages), line);
}

// api/dataflow/dataflow_api.h
void cb_wait_front(int32_t operand, int32_t num_pages, int line) {
  wait_front(static_cast<uint32_t>(operand), static_cast<uint32_t>(num_pages), line);
}

// api/dataflow/dataflow_api.h
uint32_t get_write_ptr(uint32_t operand, int line) {
  const CircularBuffer& buffer = buffer_at(self(line), operand, line);
  return buffer.address + buffer.write_page * buffer.plan->page_bytes;
}

// api/dataflow/dataflow_api.h
uint32_t get_read_ptr(uint32_t operand, int line) {
  const CircularBuffer& buffer = buffer_at(self(line), operand, line);
  return buffer.address + buffer.read_page * buffer.plan->page_bytes;
}

// api/dataflow/dataflow_api.h
uint8_t get_absolute_logical_x() { return static_cast<uint8_t>(self().node->x); }

// api/dataflow/dataflow_api.h
uint8_t get_absolute_logical_y() { return static_cast<uint8_t>(self().node->y); }

// api/dataflow/dataflow_api.h
uint8_t get_relative_logical_x() { return get_absolute_logical_x(); }

// api/dataflow/dataflow_api.h
uint8_t get_relative_logical_y() { return get_absolute_logical_y(); }

}  // namespace ttl_dataflow
