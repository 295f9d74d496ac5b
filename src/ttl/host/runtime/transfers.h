// Transfers that the NoC has been asked for. Each lands as late as it may: at a barrier that waits
// for it, or when no kernel can go on without it. So a missing barrier shows.
#pragma once

#include "addresses.h"

namespace ttl_host {

void begin_transfer(Fiber& fiber, const Place& from, const Place& to, uint32_t bytes,
                    TransferKind kind, uint8_t channel, int line);
// A word that needs no source: a value to write, or a number to add.
void begin_word(Fiber& fiber, const Place& to, uint32_t value, TransferKind kind, uint8_t channel,
                int line);

constexpr uint32_t any_transaction = ~uint32_t{0};

// What a barrier does: lands all of a kind.
void finish(Fiber& fiber, TransferKind kind, uint32_t transaction, int line);
// The data of writes has left the node: the source may change now.
void flush(Fiber& fiber, uint32_t transaction, int line);

// A page of a tensor, from where it is stored to L1 or back.
void load_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1);
void store_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1);

}  // namespace ttl_host
