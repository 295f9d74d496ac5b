// Transfers that the NoC has been asked for. Each lands as late as it may: at a barrier that waits
// for it, or when no kernel can go on without it. So a missing barrier shows.
#pragma once

#include "addresses.h"

namespace ttl_host {

constexpr uint8_t unicast = 1, multicast = 4;  // virtual channels

void begin_transfer(Fiber& fiber, const Place& from, const Place& to, uint32_t bytes,
                    TransferKind kind, uint8_t channel, int line);
// A word that needs no source: a value to write, or a number to add.
void begin_word(Fiber& fiber, const Place& to, uint32_t value, TransferKind kind, uint8_t channel,
                int line);

// What a node writes into a circular buffer of another goes to pages that are reserved there: the
// buffer where they are not.
const CircularBuffer* not_reserved(const Fiber& fiber, const Node& node, uint32_t offset,
                                   uint32_t bytes);

// A transfer's bytes; nothing is counted.
void land_data(Fiber& fiber, const Transfer& transfer);
// In rounds: does it lie in the L1 of another node than the kernel's?
bool is_elsewhere(const Fiber& fiber, const uint8_t* bytes);
// In rounds, where nobody can go on: one transfer of every kernel is due, a multicast as a whole, and
// lands if it stays on the node. False where none is pending.
bool make_one_of_each_due(Run& run);
// Forgets the transfers that were due, which have landed.
void remove_due(Fiber& fiber);

constexpr uint32_t any_transaction = ~uint32_t{0};

// What a barrier does: lands all of a kind.
void finish(Fiber& fiber, TransferKind kind, uint32_t transaction, int line);
// The data of writes has left the node: the source may change now.
void flush(Fiber& fiber, uint32_t transaction, int line);

}  // namespace ttl_host
