// Copies of data that has left a node and not landed yet.
#pragma once

#include "machine.h"

namespace ttl_host {

struct Payload {
  Payload* next;   // among those that a thread keeps for later
  uint32_t users;  // transfers: those of a multicast share one
  bool is_small;
};

inline uint8_t* bytes_of(Payload* payload) { return reinterpret_cast<uint8_t*>(payload + 1); }

// Null without memory. It has one user.
Payload* take_payload(Lane& lane, const uint8_t* source, uint32_t bytes);
// One user less.
void give_back(Lane& lane, Payload* payload);
void free_kept_payloads(Factors& factors);

}  // namespace ttl_host
