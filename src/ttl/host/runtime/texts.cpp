// The events of a run as text: a traced run is mostly this. What is in the text is decided by
// ttl.trace; here pieces of it are put together.
#include <cstdlib>
#include <cstring>

#include "program.h"

namespace {

constexpr uint32_t none = ~uint32_t{0}, by_mark = 1u << 31;

// Events that differ in the node and in the value only are told by one template.
bool is_alike(const TtlEvent& one, const TtlEvent& other) {
  if (one.kind != other.kind || one.kernel != other.kernel || one.subject != other.subject ||
      one.line != other.line)
    return false;
  if (one.kind == TTL_SIGNPOST_BEGIN || one.kind == TTL_SIGNPOST_END)
    return one.value == other.value;
  return !(one.subject & by_mark) || one.node == other.node;
}

uint32_t hash_of(const TtlEvent& event) {
  uint64_t hash = event.subject * 0x9e3779b97f4a7c15u + event.line;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u + event.kind * 31 + event.kernel;
  if (event.subject & by_mark) hash += uint64_t{event.node} << 17;
  return static_cast<uint32_t>((hash * 0x94d049bb133111ebu) >> 32);
}

char* put(char* out, const char* text, uint32_t bytes) {
  memcpy(out, text, bytes);
  return out + bytes;
}

char* put_number(char* out, uint64_t number) {
  char digits[20];
  uint32_t count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  while (count) *out++ = digits[--count];
  return out;
}

// Transfers that are under way, by what they move on which track: lists of their first ticks.
struct Transfers {
  uint32_t* first;
  uint32_t* last;
  uint32_t* next;  // by event

  void begin(uint32_t list, uint32_t event) {
    next[event] = none;
    (first[list] == none ? first[list] : next[last[list]]) = event;
    last[list] = event;
  }

  uint32_t end(uint32_t list, uint32_t event) {
    const uint32_t found = first[list];
    if (found == none) return event;
    first[list] = next[found];
    return found;
  }
};

uint64_t largest_size(const TtlTexts& texts, const uint32_t* numbers, uint32_t count) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < count; ++i)
    size += texts.templates[numbers[i]].bytes + texts.track_bytes;
  return size;
}

char* put_event(char* out, const TtlTexts& texts, const TtlEvent& event, const TtlTemplate& form,
                uint64_t tick, uint64_t began) {
  const uint32_t track = event.node * texts.kernel_count + event.kernel;
  for (uint32_t i = 0; i < form.piece_count; ++i) {
    const TtlPiece& piece = texts.pieces[form.first_piece + i];
    out = put(out, piece.text, piece.bytes);
    switch (piece.slot) {
      case TTL_SLOT_TRACK:
        out = put(out, texts.tracks[track].text, texts.tracks[track].bytes);
        break;
      case TTL_SLOT_PROCESS:
        out = put(out, texts.processes[event.node].text, texts.processes[event.node].bytes);
        break;
      case TTL_SLOT_TICK: out = put_number(out, tick); break;
      case TTL_SLOT_TRANSFER: out = put_number(out, began); break;
      case TTL_SLOT_VALUE: out = put_number(out, form.has_value ? event.value : 0); break;
    }
  }
  return out;
}

}  // namespace

uint32_t ttl_keep_events(TtlEvent* events, uint32_t count, uint32_t kinds) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (kinds >> events[i].kind & 1) events[kept++] = events[i];
  return kept;
}

uint32_t ttl_number_events(const TtlEvent* events, uint32_t count, uint32_t* numbers,
                           uint32_t* firsts) {
  uint32_t capacity = 64, found = 0;
  while (capacity < 2 * uint64_t{count}) capacity *= 2;
  auto* places = static_cast<uint32_t*>(malloc(size_t{capacity} * sizeof(uint32_t)));
  if (!places) return none;
  memset(places, 0xff, size_t{capacity} * sizeof(uint32_t));
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t place = hash_of(events[i]) & (capacity - 1);
    while (places[place] != none && !is_alike(events[firsts[places[place]]], events[i]))
      place = (place + 1) & (capacity - 1);
    if (places[place] == none) {
      firsts[found] = i;
      places[place] = found++;
    }
    numbers[i] = places[place];
  }
  free(places);
  return found;
}

char* ttl_event_texts(const TtlTexts* texts, const TtlEvent* events, const uint32_t* numbers,
                      uint32_t count, uint64_t first_tick, uint64_t* bytes) {
  const size_t lists = size_t{texts->channel_count} * texts->track_count;
  auto* text = static_cast<char*>(malloc(largest_size(*texts, numbers, count) + 1));
  auto* words = static_cast<uint32_t*>(malloc((2 * lists + count) * sizeof(uint32_t) + 1));
  if (!text || !words) {
    free(text);
    free(words);
    return nullptr;
  }
  memset(words, 0xff, 2 * lists * sizeof(uint32_t));
  Transfers transfers{words, words + lists, words + 2 * lists};
  char* out = text;
  for (uint32_t i = 0; i < count; ++i) {
    const TtlTemplate& form = texts->templates[numbers[i]];
    const uint32_t track = events[i].node * texts->kernel_count + events[i].kernel;
    const uint32_t list = form.channel * texts->track_count + track;
    uint32_t began = i;
    if (form.transfer == 1) transfers.begin(list, i);
    if (form.transfer == 2) began = transfers.end(list, i);
    out = put_event(out, *texts, events[i], form, first_tick + i, first_tick + began);
  }
  free(words);
  *bytes = static_cast<uint64_t>(out - text);
  return text;
}

void ttl_free_text(char* text) { free(text); }
