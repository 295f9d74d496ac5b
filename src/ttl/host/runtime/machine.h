// The state of a run: nodes with their L1 and buffers, and one fiber per kernel per node.
#pragma once

#include <cstdint>

#include "fiber.h"
#include "formats.h"
#include "program.h"
#include "stand_ins.h"
#include "tile_math.h"

namespace ttl_host {

constexpr uint32_t max_buffers = 64;
constexpr uint32_t max_dst_slots = 16;

struct Fiber;
struct Run;

struct CircularBuffer {
  const TtlBuffer* plan;  // null where the index is not used
  const TileFormat* format;
  uint32_t position;  // in the plan
  uint32_t address;   // of page 0 in L1
  uint32_t filled;    // pages pushed and not popped
  uint32_t read_page, write_page;
  uint32_t waited;       // pages at the front that cb_wait_front has promised
  uint32_t reserved;     // pages at the back that cb_reserve_back has promised
  uint32_t pack_offset;  // pages packed in sequence since the last push
  const TtlKernel* producer;
  const TtlKernel* consumer;
  Fiber* waiters;  // blocked on this buffer, for data or for space

  uint32_t end() const { return address + plan->pages * plan->page_bytes; }
};

// tile_regs_acquire -> commit -> wait -> release
enum class DstState { Free, Math, Committed, Packing };

// What the last init of the unpack and matrix units was for: one replaces the other.
enum class FpuMode { None, Copy, Add, Subtract, Multiply, Matmul };

// Inits of vector operations that load constants and so undo one another.
enum class SfpuConstants { None, Exponential };

struct Compute {
  DstState state;
  bool started;
  FpuMode mode;
  bool add_accumulates;
  uint32_t matmul_columns, matmul_rows, matmul_transpose;
  SfpuConstants sfpu_constants;
  const TileFormat* source_a;
  const TileFormat* source_b;
  const TileFormat* packer;
  bool slot_is_live[max_dst_slots];  // the others read as zero
  alignas(64) float slots[max_dst_slots][tile_values];
  alignas(64) float source_a_values[tile_values];
  alignas(64) float source_b_values[tile_values];
};

struct Node {
  uint32_t position, x, y;
  uint8_t* l1;  // of [program.l1_base, run.l1_used)
  Compute* compute;
  CircularBuffer buffers[max_buffers];
};

constexpr uint32_t no_tensor = ~uint32_t{0};

// A transfer the NoC has not carried out yet: it lands as late as the kernel allows.
struct Transfer {
  uint8_t* destination;
  const uint8_t* source;
  uint32_t bytes;
  bool is_read;
};

// For tracing: the pages of one tensor moved between two barriers are one copy.
struct OpenCopy {
  uint32_t tensor, event;
  bool is_read;
};

template <typename Item>
struct List {
  Item* items;
  uint32_t count, capacity;
};

struct Fiber {
  Context context;
  Run* run;
  Node* node;
  const TtlKernel* kernel;
  Fiber* next;  // in the ready queue or in a buffer's waiters
  CircularBuffer* awaited;
  uint32_t awaited_pages;
  bool awaits_space;
  bool started, finished;
  uint32_t line;
  uint64_t steps;  // since it was resumed
  uint32_t unacknowledged_writes;
  List<Transfer> transfers;
  List<OpenCopy> copies;
};

struct Run {
  const TtlProgram* program;
  TtlReport* report;
  Node* nodes;
  Fiber* fibers;
  uint32_t node_count, fiber_count, l1_used;
  uint8_t* stacks;
  uint8_t* l1;
  Context scheduler;
  Fiber* ready_first;
  Fiber* ready_last;
  uint32_t event_capacity;
};

// The fiber that is running on this OS thread. Whatever a kernel calls comes here, so this is where
// a run is stopped and where the steps of a kernel that spins are counted. One that calls nothing,
// `while (true);`, cannot be stopped.
Fiber& self(int line = 0);

[[noreturn]] __attribute__((format(printf, 2, 3))) void fault(int line, const char* format, ...);

CircularBuffer& buffer_at(Fiber& fiber, uint32_t index, int line);
Compute& compute_of(Fiber& fiber);

// Stops until pages are there (or free, if `space`).
void block(Fiber& fiber, CircularBuffer& buffer, uint32_t pages, bool space, int line);
// Readies the fibers whose condition now holds.
void wake(Fiber& fiber, CircularBuffer& buffer);

// Returns the event's position; call only when program->trace is set.
uint32_t record(Fiber& fiber, TtlEventKind kind, uint32_t subject, uint64_t value, int line);
void record_buffer(Fiber& fiber, TtlEventKind kind, const CircularBuffer& buffer, int line);

// Faults where a kernel ends with transfers or registers that are still in use.
void check_transfers_complete(Fiber& fiber);

bool grow(void** items, uint32_t* capacity, uint32_t item_bytes);

template <typename Item>
void append(List<Item>& list, const Item& item) {
  if (list.count == list.capacity &&
      !grow(reinterpret_cast<void**>(&list.items), &list.capacity, sizeof(Item)))
    fault(0, "the host has no memory left");
  list.items[list.count++] = item;
}

}  // namespace ttl_host
