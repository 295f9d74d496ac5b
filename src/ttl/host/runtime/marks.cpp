// Events of pipes and semaphores: the executor's own copy of a kernel's C++ has a TTL_MARK at each mark of
// the artifact.
//
// The subject of such an event is `by_mark`, the number of the net or the semaphore and the place of
// the pipe among those of the node; its line is the number of the mark.
#include "machine.h"

namespace ttl_trace {

using namespace ttl_host;

namespace {

constexpr uint32_t by_mark = 1u << 31, no_subject = 0x7fff, any_place = 0xffff;

bool matches(const OpenPipeCopy& copy, uint32_t subject, bool is_send) {
  const uint32_t net = subject >> 16 & no_subject, place = subject & any_place;
  return copy.is_send == is_send && (net == no_subject || net == (copy.subject >> 16 & no_subject)) &&
         (place == any_place || place == (copy.subject & any_place));
}

void end(Fiber& fiber, uint32_t subject, bool is_send, bool all, uint32_t mark) {
  List<OpenPipeCopy>& copies = fiber.pipe_copies;
  uint32_t kept = 0, ended = 0;
  for (uint32_t i = 0; i < copies.count; ++i) {
    const OpenPipeCopy copy = copies.items[i];
    if (!matches(copy, subject, is_send) || (ended && !all)) {
      copies.items[kept++] = copy;
      continue;
    }
    record(fiber, is_send ? TTL_PIPE_SEND_END : TTL_PIPE_RECEIVE_END, copy.subject, copy.bytes,
           static_cast<int>(mark));
    ended += 1;
  }
  copies.count = kept;
}

}  // namespace

void mark(uint32_t kind, uint32_t mark, uint32_t number, int32_t place, uint32_t value) {
  Fiber& fiber = self();
  if (!fiber.run->program->trace) return;
  const uint32_t subject = by_mark | number << 16 | (static_cast<uint32_t>(place) & any_place);
  switch (kind) {
    case TTL_MARK_AWAIT:
      fiber.awaited_mark = {subject, mark, true, value != 0};
      return;
    case TTL_PIPE_SEND_END:
    case TTL_MARK_SEND_ENDS:
      return end(fiber, subject, true, kind == TTL_MARK_SEND_ENDS, mark);
    case TTL_PIPE_RECEIVE_END:
    case TTL_MARK_RECEIVE_ENDS:
      return end(fiber, subject, false, kind == TTL_MARK_RECEIVE_ENDS, mark);
    case TTL_PIPE_SEND:
      fiber.awaited_mark = {subject, mark, true, false};
      [[fallthrough]];
    case TTL_PIPE_RECEIVE:
      append(fiber.pipe_copies, {subject, kind == TTL_PIPE_SEND, value});
  }
  record(fiber, static_cast<TtlEventKind>(kind), subject, value, static_cast<int>(mark));
}

}  // namespace ttl_trace
