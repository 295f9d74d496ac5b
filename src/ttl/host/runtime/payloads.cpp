#include "payloads.h"

#include <cstdlib>
#include <cstring>

namespace ttl_host {

namespace {

constexpr uint32_t small_bytes = 4096;  // a tile of the largest format

}  // namespace

Payload* take_payload(Lane& lane, const uint8_t* source, uint32_t bytes) {
  const bool is_small = bytes <= small_bytes;
  Payload* payload = is_small ? lane.factors->kept_payloads : nullptr;
  if (payload)
    lane.factors->kept_payloads = payload->next;
  else
    payload = static_cast<Payload*>(malloc(sizeof(Payload) + (is_small ? small_bytes : bytes)));
  if (!payload) return nullptr;
  *payload = {nullptr, 1, is_small};
  memcpy(bytes_of(payload), source, bytes);
  return payload;
}

void give_back(Lane& lane, Payload* payload) {
  if (!payload || --payload->users) return;
  if (!payload->is_small) return free(payload);
  payload->next = lane.factors->kept_payloads;
  lane.factors->kept_payloads = payload;
}

void free_kept_payloads(Factors& factors) {
  while (Payload* payload = factors.kept_payloads) {
    factors.kept_payloads = payload->next;
    free(payload);
  }
}

}  // namespace ttl_host
