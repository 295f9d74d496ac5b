// What a kernel calls of the chip, and its marks. A unit that is compiled with TTL_RECORDS_CALLS tells the
// runtime at every call of a device function (calls.cpp) and at every mark (marks.cpp); in any other
// these lines are nothing.
#pragma once

#include <cstdint>

#ifdef TTL_RECORDS_CALLS

namespace ttl_calls {

constexpr uint32_t no_buffer = ~uint32_t{0};

// Of the arguments, in their order.
struct Buffers {
  uint32_t first = no_buffer, second = no_buffer;
};

// Target or first count, bytes or value or second count, address or third count (ttl.trace.calls).
struct Amounts {
  uint32_t first, second, third;
};

// Is the call not to be made?
bool begin(const char* name, int line, Buffers buffers, Amounts amounts, bool computes);
void end();
// Does an estimate answer, and not the buffer? Then `has_room` is what the kernel gets.
bool answers(const char* name, int line, uint32_t buffer, uint32_t pages, bool& has_room);
uint32_t target_of(uint64_t address);
uint32_t semaphore_at(uint64_t address);
uint32_t word_at(uint32_t address, int line);

// What a device function calls in turn is not recorded.
struct Call {
  const bool is_left_out;
  Call(const char* name, int line, Buffers buffers, Amounts amounts, bool computes)
      : is_left_out(begin(name, line, buffers, amounts, computes)) {}
  ~Call() { end(); }
};

}  // namespace ttl_calls

namespace ttl_trace {
void mark(uint32_t kind, uint32_t mark, uint32_t number, int32_t place, uint32_t value);
}

#define TTL_MARK(...) ttl_trace::mark(__VA_ARGS__)
#define TTL_CALL(line, computes, buffers, first, second, third)                             \
  const ttl_calls::Call ttl_call(__func__, static_cast<int>(line), ttl_calls::Buffers buffers, \
                                 {static_cast<uint32_t>(first), static_cast<uint32_t>(second), \
                                  static_cast<uint32_t>(third)},                             \
                                 computes)
#define TTL_BRACED(...) {__VA_ARGS__}
// At the start of a function of the compute units, with the buffers that it works on: `times`
// `more` times what it does to a tile.
#define TTL_COMPUTES_TIMES(line, times, more, ...)                        \
  TTL_CALL(line, true, TTL_BRACED(__VA_ARGS__), times, more, 1);          \
  if (ttl_call.is_left_out) return
#define TTL_COMPUTES(line, ...) TTL_COMPUTES_TIMES(line, 1, 1, __VA_ARGS__)
// Of pages of a buffer.
#define TTL_USES(line, buffer, pages) TTL_CALL(line, false, {buffer}, pages, 0, 0)
#define TTL_POLLS(line, buffer, pages) \
  if (bool has_room; ttl_calls::answers(__func__, line, buffer, pages, has_room)) return has_room
// Of the NoC: where to, and what.
#define TTL_MOVES(line, address, bytes) \
  TTL_CALL(line, false, {}, ttl_calls::target_of(address), bytes, 0)
#define TTL_MOVES_TO(line, address, bytes, receivers) \
  TTL_CALL(line, false, {}, ttl_calls::target_of(address), bytes, receivers)
#define TTL_SIGNALS(line, address, value) \
  TTL_CALL(line, false, {}, ttl_calls::target_of(address), value, ttl_calls::semaphore_at(address))
#define TTL_SIGNALS_HERE(line, pointer, value) \
  TTL_CALL(line, false, {}, 0, value,          \
           ttl_calls::semaphore_at(reinterpret_cast<uintptr_t>(pointer)))
// Of the NoC without a place; with the id of transfers, or 0.
#define TTL_ORDERS(line, id) TTL_CALL(line, false, {}, 0, id, 0)

#else

#define TTL_MARK(...)
#define TTL_COMPUTES_TIMES(...)
#define TTL_COMPUTES(...)
#define TTL_USES(...)
#define TTL_POLLS(...)
#define TTL_MOVES(...)
#define TTL_MOVES_TO(...)
#define TTL_SIGNALS(...)
#define TTL_SIGNALS_HERE(...)
#define TTL_ORDERS(...)

#endif
