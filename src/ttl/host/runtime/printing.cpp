// Signposts, assertions, and what kernels print, one record after the other, for the launcher to
// read: a tag, then its data.
#include <cstring>

#include "machine.h"

#include "api/debug/assert.h"
#include "api/debug/dprint.h"
#include "api/debug/kernel_profiler.hpp"

namespace ttl_host {

namespace {

// The order of the tags in printed.py.
enum class Tag : uint8_t { Begin, Bool, Signed, Unsigned, Double, Text, Slice, End };

void put(const void* data, uint32_t bytes) {
  Fiber& fiber = self();
  TtlReport& report = *fiber.run->report;
  while (fiber.run->printed_capacity - report.printed_bytes < bytes)
    if (!grow(reinterpret_cast<void**>(&report.printed), &fiber.run->printed_capacity, 1))
      fault(0, "the host has no memory left for what is printed");
  memcpy(report.printed + report.printed_bytes, data, bytes);
  report.printed_bytes += bytes;
}

void put_word(uint32_t word) { put(&word, sizeof(word)); }

void put_tag(Tag tag) { put(&tag, sizeof(tag)); }

void put_text(const char* text) {
  const auto bytes = static_cast<uint32_t>(strlen(text));
  put_word(bytes);
  put(text, bytes);
}

template <typename Value>
void put_value(Tag tag, Value value) {
  put_tag(tag);
  put(&value, sizeof(value));
}

}  // namespace

}  // namespace ttl_host

using namespace ttl_host;

// internal/circular_buffer_interface.h
LocalCBInterface get_local_cb_interface(uint32_t cb) {
  const CircularBuffer& buffer = buffer_at(self(), cb, 0);
  const uint32_t page_bytes = buffer.plan->page_bytes, pages = buffer.plan->pages;
  return {pages * page_bytes,
          buffer.end,
          page_bytes,
          pages,
          buffer.address + buffer.read_page * page_bytes,
          buffer.address + buffer.write_page * page_bytes,
          buffer.popped,
          buffer.pushed,
          (buffer.write_page + buffer.reserved) % pages};
}

namespace ttl_profile {

// The value of the event is where the name stands; the libraries of kernels stay loaded.
void zone(const char* name, bool is_end, int line) {
  Fiber& fiber = self(line);
  if (fiber.run->program->trace)
    record(fiber, is_end ? TTL_SIGNPOST_END : TTL_SIGNPOST_BEGIN, 0,
           reinterpret_cast<uintptr_t>(name), line);
}

}  // namespace ttl_profile

void assert_and_hang(int line) { fault(line, "an assertion of the kernel is false"); }

namespace ttl_print {

void begin(const char* format, int line) {
  const Fiber& fiber = self(line);
  put_tag(Tag::Begin);
  put_word(fiber.node->position);
  put_word(static_cast<uint32_t>(fiber.kernel - fiber.run->program->kernels));
  put_text(format);
}

void argument(bool value) { put_value(Tag::Bool, static_cast<uint8_t>(value)); }
void argument(int64_t value) { put_value(Tag::Signed, value); }
void argument(uint64_t value) { put_value(Tag::Unsigned, value); }
void argument(double value) { put_value(Tag::Double, value); }

void argument_text(const char* value) {
  put_tag(Tag::Text);
  put_text(value);
}

// The whole page, or all after the pointer: what of it is shown is for the launcher, which knows the formats.
void argument(const Slice& slice, End of_processor, int line) {
  const CircularBuffer& buffer = buffer_at(self(line), slice.cb, line);
  const End end = slice.end == End::OfProcessor ? of_processor : slice.end;
  const uint32_t first = end == End::Read ? buffer.read_page : buffer.write_page;
  const uint32_t pages = buffer.plan->pages, page_bytes = buffer.plan->page_bytes;
  const uint32_t page = slice.is_tilized ? (first + slice.tile) % pages : first;
  const uint32_t count = slice.is_tilized ? 1 : pages - first;
  put_tag(Tag::Slice);
  put_word(buffer.position);
  put(&slice.range, sizeof(slice.range));
  put_word(slice.is_tilized ? UINT32_MAX : slice.tile);
  put_word(count * page_bytes);
  put(buffer.bytes + page * page_bytes, count * page_bytes);
}

void end() { put_tag(Tag::End); }

}  // namespace ttl_print
