// The state of a run: nodes with their L1 and buffers, and one fiber per kernel per node.
// docs/decisions/0030 says who may touch what, and when.
#pragma once

#include <cstdint>

#include "fiber.h"
#include "formats.h"
#include "program.h"
#include "stand_ins.h"
#include "tile_math.h"

#include "api/compute/common_globals.h"

namespace ttl_host {

// Room for what any chip has; the build defines it from the chips' data.
constexpr uint32_t max_dst_slots = TTL_MOST_DST_TILES;

struct Fiber;
struct Lane;
struct Run;

// Without the library's call to find the variable, and that of C++ to construct it: both would be made
// at every device call.
#if defined(__linux__) && defined(__GLIBC__)
#define TTL_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#else
#define TTL_THREAD_LOCAL __thread
#endif

extern TTL_THREAD_LOCAL Fiber* running;  // null in the scheduler

struct CircularBuffer {
  const TtlBuffer* plan;  // null where the index is not used
  const TileFormat* format;
  uint32_t position;  // in the plan
  uint32_t address;   // of page 0 in L1
  uint32_t end;       // the address after the last page
  uint8_t* bytes;     // the same place
  uint32_t filled;    // pages pushed and not popped
  uint32_t read_page, write_page;
  uint32_t waited;       // pages at the front that cb_wait_front has promised
  const TtlKernel* waiter;  // to this kernel
  uint32_t reserved;     // pages at the back that cb_reserve_back has promised
  uint32_t pack_offset;  // pages packed in sequence since the last push
  uint32_t pushed, popped;  // pages, in all
  const TtlKernel* producer;
  const TtlKernel* consumer;
  Fiber* waiters;  // blocked on this buffer, for data or for space
};

// tile_regs_acquire -> commit -> wait -> release; acquire_dst .. release_dst hold all of it.
enum class DstState { Free, Math, Committed, Packing, Held };

// What the last init of the unpack and matrix units was for: one replaces the other.
enum class FpuKind : uint8_t {
  None,
  Copy,
  UnaryBroadcast,
  Transpose,
  TransposeDest,
  Add,
  Subtract,
  Multiply,
  Reduce,
  Matmul,
  Tilize,
  Untilize,
};

struct FpuMode {
  FpuKind kind;
  uint8_t form;  // which broadcast, which source is reused, which pool and dimension
};

// What the packer writes of a tile; the rest becomes 0.
enum class PackMask : uint8_t { All, FirstColumns, FirstRow, FirstValue };

enum class PackRelu : uint8_t { None, Zero, MinThreshold, MaxThreshold };

// What a source is set up to take.
struct Source {
  const TileFormat* format;
  bool goes_to_dst;  // unpacked straight to DST
};

struct Compute {
  DstState state;
  bool started;
  FpuMode mode;
  Source moved;  // what its init was for, if it moves tiles
  bool accumulates;  // where that is for the init to say
  uint32_t matmul_columns, matmul_rows, matmul_transpose;
  uint32_t layout_tiles, layout_row_tiles;
  const char* vector_init;  // the last one that loaded constants; null where none has
  uint32_t vector_parameter;
  Source source_a, source_b;
  bool adds_integers;  // the matrix unit, by the format that was set up last
  const TileFormat* packer;
  PackMask pack_mask;
  PackRelu pack_relu;
  float pack_relu_threshold;
  bool pack_adds_to_l1;
  bool slot_is_live[max_dst_slots];  // the others read as zero
  bool slot_has_sums[max_dst_slots];  // of products, in which a NaN may still have a sign
  alignas(64) float slots[max_dst_slots][tile_values];
  alignas(64) float source_a_values[tile_values];
  alignas(64) float source_b_values[tile_values];
  alignas(64) float packed_values[tile_values];
};

// Nodes, fibers and lanes begin with a line of the cache: neighbours run on other threads.
struct alignas(64) Node {
  uint32_t position, x, y;
  uint32_t buffer_slots;  // one more than the highest index of a buffer
  CircularBuffer* buffers;
  uint8_t* l1;
  uint32_t l1_address;  // of its first byte; every node has the same layout
  Compute* compute;
  Lane* lane;
  uint32_t mailbox;  // nothing of the node runs between the write and the reads
  struct Transfer* inbox_first;  // due to land in its L1, in the order of those who sent them
  struct Transfer* inbox_last;
  Fiber* ready_first;
  Fiber* ready_last;
  Node* next;  // in the queue of nodes that have ready fibers
  bool is_queued;
  bool is_cleared;  // its L1
};

constexpr uint32_t no_tensor = ~uint32_t{0};
constexpr uint32_t transaction_ids = TTL_TRANSACTION_IDS;

enum class TransferKind : uint8_t { Read, Write, Increment };

// A page whose elements lie in the rows of a matrix, and the byte in it where a transfer begins.
struct TileOfRows {
  uint32_t row_bytes;  // 0: the page lies in one piece
  uint32_t element_bytes;
  uint32_t offset;
};

// A transfer the NoC has not carried out yet: it lands as late as the kernel allows.
struct Transfer {
  uint8_t* destination;  // where the tensor's end is a tile of rows: its first row
  const uint8_t* source;  // null: the word in `value`
  struct Payload* payload;  // what `source` held when the data left, if it has
  uint32_t bytes;
  uint32_t value;
  uint32_t target;  // the node written to, or no_node for a tensor
  uint32_t multicast;  // its number among those of the kernel, or 0
  TransferKind kind;
  uint8_t channel;  // writes of one channel to one target stay in order
  uint8_t transaction;
  TileOfRows tile;
  uint32_t tensor;  // that is written, or no_tensor
  uint32_t line;
  uint64_t page;  // of that tensor
  bool is_elsewhere;  // to or from another node
  bool is_due;        // to land when the round has ended
  bool is_checked;    // the receiver has reserved its place
  Fiber* sender;
  Transfer* next;  // in the inbox of a node
};

constexpr uint32_t no_node = ~uint32_t{0}, no_buffer = ~uint32_t{0};

// For tracing: pages of one tensor moved between two barriers, with one id, are one copy.
struct OpenCopy {
  uint32_t tensor, event;
  TransferKind kind;
  uint8_t transaction;
};

// For tracing: a copy to a pipe or from one that is not waited for yet.
struct OpenPipeCopy {
  uint32_t subject;
  bool is_send;
  uint64_t bytes;
};

// For tracing: what a kernel waits for that waits for a word.
struct AwaitedMark {
  uint32_t subject, mark;
  bool is_known, is_semaphore;
};

template <typename Item>
struct List {
  Item* items;
  uint32_t count, capacity;
};

struct alignas(64) Fiber {
  Context context;
  Run* run;
  Lane* lane;
  Node* node;
  const TtlKernel* kernel;
  uint8_t* stack;  // null until it begins; its guard lies before it
  Fiber* next;  // among the ready fibers of its node, in a list of waiters, or of those that have ended
  TtlAwait awaits;
  CircularBuffer* awaited;
  uint32_t awaited_pages;
  const volatile uint32_t* awaited_word;
  uint32_t wanted;
  bool finished;
  uint32_t line;  // of its last call that said where it is
  // What no barrier has waited for yet, whether it has landed or not.
  uint32_t open_reads[transaction_ids], open_writes[transaction_ids], open_increments;
  uint8_t read_transaction, write_transaction;
  uint64_t read_state, write_state;  // addresses of the stateful forms
  uint32_t read_state_bytes, write_state_bytes;
  uint32_t multicasts;  // so far
  List<Transfer> transfers;
  uint32_t flushed;  // so many of these, from the first on, have left as far as a flush asks for it
  List<OpenCopy> copies;
  List<OpenPipeCopy> pipe_copies;
  AwaitedMark awaited_mark;
  uint32_t call_depth;  // of recorded calls, one in another
};

// Of a thread: the tiles of a matrix product, unpacked, memory for what is under way, and stacks.
struct Factors {
  alignas(64) float left[tile_values];
  alignas(64) float right[max_dst_slots][tile_values];
  struct Payload* kept_payloads;
  Fiber* ended;  // whose stacks are free
};

// What one thread runs at a time: a node, or all of them where the order is to be that of one thread.
struct alignas(64) Lane {
  Run* run;
  Context scheduler;
  Node* queue_first;  // the node that is running
  Node* queue_last;
  Fiber* word_waiters;
  Fiber* parked;      // asked again and again in vain, and go on in the next round
  Fiber* at_barrier;  // wait until the transfers that are due have landed
  uint64_t* heartbeat;   // of the thread that runs it: changes while it makes calls
  Factors* factors;      // of that thread
  uint32_t fiber_count;
  uint32_t turns;        // of its fibers in this round
  uint32_t pending;      // transfers of its fibers
  uint64_t steps, next_look;  // calls since the running fiber was resumed
  uint64_t idle_yields;  // since anything happened but that kernels let others run
  uint64_t patience;     // so many of them before one is parked
  bool has_sent, has_moved;  // anything for others in this round; anything happened at all
  uint32_t status;       // a TtlStatus; then of which node, kernel and line
  uint32_t node, kernel, line;
  char message[sizeof(TtlReport::message)];
};

struct Run {
  TtlProgram* program;
  TtlReport* report;
  Node* nodes;
  Fiber* fibers;
  Lane* lanes;
  uint32_t lane_count;
  bool is_in_turn;  // one lane
  Node** active;    // those that run in this round
  uint32_t active_count;
  struct Pool* pool;  // null where this thread is alone
  Factors* factors;   // of each thread
  uint32_t node_count, fiber_count;
  uint32_t buffer_slots;      // of each node
  uint8_t* buffers;           // of all nodes
  size_t node_buffers_bytes;  // from those of one node to those of the next
  struct Memory* memory;  // all that a run works in
  uint8_t* stacks;
  uint32_t stacks_taken;
  uint8_t* l1;
  uint32_t l1_address;  // where kernels find it; the memory itself, where that has 32 bits
  uint32_t node_bytes;  // from one node's L1 to the next
  uint32_t used_bytes;  // of these, from the first on
  uint32_t* buffer_offsets;  // in the L1 of each node, by position
  uint32_t* tensor_offsets;  // of those that kernels written by hand may use there; else 0
  bool l1_is_low;
  int16_t node_at[64][64];  // by virtual row and column; negative where no node is
  uint64_t random;
  uint32_t event_capacity, printed_capacity;
  struct WrittenTensor* written;  // by tensor; null where writes are not followed
  struct CallSites* call_sites;   // null where calls are not recorded
};

constexpr uint32_t semaphore_bytes = 16;
constexpr uint32_t semaphore_area_bytes = TTL_MOST_SEMAPHORES * semaphore_bytes;  // at the start of L1

// The fiber that is running on this OS thread. Whatever a kernel calls comes here, so this is where
// a run is stopped and where the steps of a kernel that spins are counted. One that calls nothing,
// `while (true);`, is stopped by a signal (signals.cpp).
inline Fiber& self(int line = 0);
// Now and then: is the run to stop, does the kernel spin?
void look_up(Fiber& fiber, int line);

// Leaves the kernel where it stands and ends the run. Nothing on its stack needs to be destroyed.
[[noreturn]] void leave(Fiber& fiber, TtlStatus status, int line);

[[noreturn]] __attribute__((format(printf, 2, 3))) void fault(int line, const char* format, ...);

[[noreturn]] void no_such_buffer(uint32_t index, int line);

// The fiber stops; the next one that is ready goes on, or the scheduler where there is none.
void pass_on(Fiber& fiber);

// Stops until pages are there or free.
void block(Fiber& fiber, CircularBuffer& buffer, uint32_t pages, TtlAwait awaits, int line);
// Readies the fibers whose condition now holds.
void wake(Fiber& fiber, CircularBuffer& buffer);

// Stops until a word of L1 is `wanted`, or at least that.
void block_on_word(Fiber& fiber, const volatile uint32_t* word, uint32_t wanted, TtlAwait awaits,
                   int line);
// Readies the fibers whose word is now what they wait for.
bool wake_words(Lane& lane);

// For a kernel that asks again and again: the others run first.
void let_others_run(Fiber& fiber, int line);
// With a seed, now and then: the processors of a node run at once, so another may come between a
// store of this one and the transfer that reads it.
void perhaps_let_others_run(Fiber& fiber);
// With a seed: one of 0 .. count - 1.
uint32_t random_below(Run& run, uint32_t count);

// Returns the event's position; call only when program->trace is set.
uint32_t record(Fiber& fiber, TtlEventKind kind, uint32_t subject, uint64_t value, int line);
void record_buffer(Fiber& fiber, TtlEventKind kind, const CircularBuffer& buffer, int line);

// calls.cpp. False without memory.
bool record_calls(Run& run);
void forget_calls(Run& run);

uint32_t kernel_position(const Run& run, const TtlKernel* kernel);

// transfers.cpp. Faults where a kernel ends with transfers that no barrier has waited for; where all
// have ended and some are under way: by hand a kernel may end before what it sent to other nodes has
// landed, if somebody there waits for it.
void check_transfers_complete(Fiber& fiber);
void check_all_landed(Run& run);
// Lands one transfer of any kernel; false where none is pending.
bool land_any(Run& run);
void discard_transfers(Fiber& fiber);

// signals.cpp. While one exists, a signal in a kernel ends the run and not the process.
struct SignalGuard {
  SignalGuard();
  ~SignalGuard();
};
// For a thread that runs kernels until the process ends.
void give_signal_stack();

// On the way to one's own thread-local variables compilers may keep where these are; a fiber goes on in
// another thread. On x86-64 that is no place but an offset.
#if defined(__x86_64__)
inline Fiber& running_fiber() { return *running; }
#else
Fiber& running_fiber();
#endif

inline Fiber& self(int line) {
  Fiber& fiber = running_fiber();
  if (line) fiber.line = static_cast<uint32_t>(line);
  Lane& lane = *fiber.lane;
  if (__builtin_expect(++lane.steps >= lane.next_look, 0)) look_up(fiber, line);
  return fiber;
}

inline CircularBuffer& buffer_at(Fiber& fiber, uint32_t index, int line) {
  const Node& node = *fiber.node;
  if (__builtin_expect(index >= node.buffer_slots || !node.buffers[index].plan, 0))
    no_such_buffer(index, line);
  return node.buffers[index];
}

inline Compute& compute_of(Fiber& fiber) { return *fiber.node->compute; }

// Something happened but that a kernel let others run.
inline void note_move(Lane& lane) {
  lane.idle_yields = 0;
  lane.has_moved = true;
}

bool grow(void** items, uint32_t* capacity, uint32_t item_bytes);

// The place of one more, with anything in it.
template <typename Item>
Item& next_of(List<Item>& list) {
  if (__builtin_expect(list.count == list.capacity, 0) &&
      !grow(reinterpret_cast<void**>(&list.items), &list.capacity, sizeof(Item)))
    fault(0, "the host has no memory left");
  return list.items[list.count++];
}

template <typename Item>
void append(List<Item>& list, const Item& item) {
  next_of(list) = item;
}

}  // namespace ttl_host
