#include "buffers.h"

#include "hostdevcommon/kernel_calls.h"

namespace ttl_host {

namespace {

void trace(Fiber& fiber, TtlEventKind kind, const CircularBuffer& buffer, int line) {
  if (fiber.run->program->trace) record_buffer(fiber, kind, buffer, line);
}

void check_capacity(const CircularBuffer& buffer, uint32_t pages, const char* call, int line) {
  if (pages > buffer.plan->pages)
    fault(line, "%s asks for %d pages of `%s`, which has %u", call, static_cast<int>(pages),
          buffer.plan->name, buffer.plan->pages);
}

// Each processor keeps its own pointers into a buffer, so only one may move each end.
void claim(const TtlKernel*& owner, Fiber& fiber, const CircularBuffer& buffer, const char* verb,
           int line) {
  if (owner && owner != fiber.kernel)
    fault(line, "a second kernel %s `%s` on this node", verb, buffer.plan->name);
  owner = fiber.kernel;
}

uint32_t advance(uint32_t page, uint32_t pages, const CircularBuffer& buffer, const char* call,
                 int line) {
  const uint32_t next = page + pages;
  if (next > buffer.plan->pages)
    fault(line, "%s moves past the end of `%s`: page %u plus %u of %u pages; blocks must not wrap",
          call, buffer.plan->name, page, pages, buffer.plan->pages);
  return next == buffer.plan->pages ? 0 : next;
}

uint8_t* tile_bytes(const CircularBuffer& buffer, uint32_t page, uint32_t tile, int line) {
  if (page + tile >= buffer.plan->pages)
    fault(line, "tile %u lies past the end of `%s`: blocks must not wrap", tile,
          buffer.plan->name);
  return buffer.bytes + (page + tile) * buffer.plan->page_bytes;
}

// Pages that a kernel may fill. By hand also those that nobody has ever filled: no consumer, however
// slow, still needs them.
uint32_t fillable(const Fiber& fiber, const CircularBuffer& buffer) {
  const uint32_t pages = buffer.plan->pages;
  const bool has_new = fiber.run->program->by_hand && buffer.pushed < pages;
  const uint32_t unused = has_new ? pages - static_cast<uint32_t>(buffer.pushed) : 0;
  return unused > buffer.reserved ? unused : buffer.reserved;
}

}  // namespace

const uint8_t* front_tile(Fiber&, CircularBuffer& buffer, uint32_t tile, int line) {
  if (tile >= buffer.waited)
    fault(line, "tile %d of `%s` is read, but %u tiles were waited for", static_cast<int>(tile),
          buffer.plan->name, buffer.waited);
  return tile_bytes(buffer, buffer.read_page, tile, line);
}

uint8_t* reserved_tile(Fiber& fiber, CircularBuffer& buffer, uint32_t tile, int line) {
  if (tile >= fillable(fiber, buffer))
    fault(line, "tile %d of `%s` is packed, but %u tiles are reserved", static_cast<int>(tile),
          buffer.plan->name, buffer.reserved);
  return tile_bytes(buffer, buffer.write_page, tile, line);
}

}  // namespace ttl_host

namespace ttl_kernel {

using namespace ttl_host;

namespace detail {

// A second wait counts from the same front as the first.
void cb_wait_front(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_capacity(buffer, pages, "cb_wait_front", line);
  while (buffer.filled < pages) block(fiber, buffer, pages, TTL_AWAIT_DATA, line);
  if (pages > buffer.waited) buffer.waited = pages;
  buffer.waiter = fiber.kernel;
  trace(fiber, TTL_BUFFER_WAIT, buffer, line);
}

void cb_pop_front(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  claim(buffer.consumer, fiber, buffer, "pops", line);
  if (pages > buffer.waited)
    fault(line, "cb_pop_front pops %d pages of `%s`, of which %u were waited for",
          static_cast<int>(pages), buffer.plan->name, buffer.waited);
  buffer.read_page = advance(buffer.read_page, pages, buffer, "cb_pop_front", line);
  buffer.waited -= pages;
  buffer.filled -= pages;
  buffer.popped += pages;
  trace(fiber, TTL_BUFFER_POP, buffer, line);
  wake(fiber, buffer);
}

void cb_reserve_back(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_capacity(buffer, pages, "cb_reserve_back", line);
  while (buffer.plan->pages - buffer.filled < pages)
    block(fiber, buffer, pages, TTL_AWAIT_SPACE, line);
  if (pages > buffer.reserved) buffer.reserved = pages;
  trace(fiber, TTL_BUFFER_RESERVE, buffer, line);
}

void cb_push_back(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  claim(buffer.producer, fiber, buffer, "pushes to", line);
  if (pages > fillable(fiber, buffer))
    fault(line, "cb_push_back pushes %d pages to `%s`, of which %u were reserved",
          static_cast<int>(pages), buffer.plan->name, buffer.reserved);
  buffer.write_page = advance(buffer.write_page, pages, buffer, "cb_push_back", line);
  buffer.reserved -= pages < buffer.reserved ? pages : buffer.reserved;
  buffer.filled += pages;
  buffer.pushed += pages;
  buffer.pack_offset = 0;
  trace(fiber, TTL_BUFFER_PUSH, buffer, line);
  wake(fiber, buffer);
}

bool cb_pages_reservable_at_back(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_capacity(buffer, pages, "cb_pages_reservable_at_back", line);
  if (buffer.plan->pages - buffer.filled < pages) let_others_run(fiber, line);
  return buffer.plan->pages - buffer.filled >= pages;
}

}  // namespace detail

bool cb_pages_available_at_front(uint32_t index, uint32_t pages, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_capacity(buffer, pages, "cb_pages_available_at_front", line);
  if (buffer.filled < pages) let_others_run(fiber, line);
  return buffer.filled >= pages;
}

}  // namespace ttl_kernel
