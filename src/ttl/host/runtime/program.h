// What the launcher hands to the runtime and gets back. program.py mirrors these structures.
#pragma once

#include <cstdint>

extern "C" {

struct TtlBuffer {
  const char* name;
  const char* format;
  uint32_t index;
  uint32_t page_bytes;
  uint32_t block_pages;
  uint32_t pages;
  uint32_t unpack_to_dest_fp32;
  uint32_t shares;       // the position of the buffer whose memory it has, or ~0
  uint32_t tensor;       // in whose shards it lies, or ~0
  uint32_t tensor_offset;  // in each of them
  const uint8_t* nodes;  // for each whether it has the buffer; null: all have
};

// Where a page of a tensor lies whose shards are in the L1 of nodes.
struct TtlHome {
  uint32_t node;  // by position; ~0: on none of the run
  uint32_t page;  // of its shard
};

struct TtlTensor {
  uint8_t* bytes;        // the pages, or the elements row by row
  uint64_t pages;
  const TtlHome* homes;  // of the pages of a tensor in which buffers lie; else null
  uint32_t page_bytes;
  uint32_t aligned_page_bytes;
  uint32_t address;  // what kernels get as a common runtime argument
  uint32_t in_dram;
  uint32_t written;  // set by the run
  uint32_t row_bytes;      // of elements that are in rows, where a page is a tile of them; else 0
  uint32_t element_bytes;  // of these
  uint32_t unit_bytes;     // what nodes write by itself: a tile or an element; 0: not known
  uint32_t used_rows, used_columns;  // of each matrix of tiles; the rest is padding
  uint32_t tile_rows;                // of each matrix, padding included
  uint32_t is_sharded;
  uint32_t shard_bytes;  // where it has homes
};

enum TtlThread : uint32_t { TTL_COMPUTE, TTL_READER, TTL_WRITER };

struct TtlKernel {
  void (*entry)();
  uint32_t thread;
  uint32_t common_argument_count;
  const uint32_t* common_arguments;
  const uint32_t* arguments;         // of all nodes, one after the other; null where there are none
  const uint32_t* argument_offsets;  // where those of a node begin; one more than there are nodes
  uint32_t scratch_argument;  // the common argument that is the address of the scratch, or ~0
  uint32_t noc;               // of data movement kernels
  uint32_t phases;            // of products in compute kernels: 1 (LoFi) to 4 (HiFi4)
  const uint8_t* nodes;  // for each whether the kernel runs there; null: on all
  uint32_t reads_ahead;  // polls for room: an estimate answers
};

// What is kept of the calls that a unit with TTL_RECORDS_CALLS makes: how many there are of each, or
// each with its operands too; then those of compute units are not made.
enum TtlRecords : uint32_t { TTL_NO_CALLS, TTL_COUNTS, TTL_CALLS };

struct TtlProgram {
  uint32_t first_x, first_y, last_x, last_y;  // inclusive corners
  uint32_t buffer_count, tensor_count, kernel_count;
  uint32_t buffer_alignment, dram_read_alignment;
  uint32_t dst_slots, fp32_dest_acc_en;
  uint32_t semaphore_count;  // one more than the highest id
  uint32_t scratch_bytes;    // of every node's L1, zeroed at the start
  uint32_t grid_columns, grid_rows;
  uint32_t trace;
  uint32_t is_seeded, seed;  // shuffles the order in which transfers land
  uint32_t stop;             // a TtlStatus, set by another thread to end the run with it
  uint32_t follows_writes;   // nothing orders the nodes: do two write a unit of a tensor?
  uint32_t by_hand;          // kernels may use pages of a buffer that nobody reserved
  uint32_t is_in_turn;       // the nodes run in the order of one thread
  uint32_t thread_count;     // at most
  uint32_t has_ended;        // set by the thread that ran it
  uint32_t records;          // a TtlRecords
  uint32_t rounds_like_chip; // ties to bfloat16 away from zero, and products in three phases
  uint64_t step_budget;      // of a kernel that does not let others run
  uint64_t* heartbeats;      // of each thread, in lines of a cache: change while kernels make calls
  uint64_t* threads;         // that run kernels; set by the run
  void* runner;              // whose thread runs it; set by ttl_begin
  uint64_t code_begin, code_end;  // of the kernels; set by ttl_stop
  const uint32_t* semaphores;       // their values at the start, by id
  const uint8_t* virtual_columns;   // the NoC's coordinates of the grid's columns and rows
  const uint8_t* virtual_rows;
  const TtlBuffer* buffers;
  TtlTensor* tensors;
  const TtlKernel* kernels;
};

// The order of EventKind (ttl.trace.events).
enum TtlEventKind : uint32_t {
  TTL_KERNEL_START,
  TTL_KERNEL_END,
  TTL_KERNEL_BLOCKED,
  TTL_KERNEL_RESUMED,
  TTL_BUFFER_RESERVE,
  TTL_BUFFER_PUSH,
  TTL_BUFFER_WAIT,
  TTL_BUFFER_POP,
  TTL_COPY_START,
  TTL_COPY_END,
  TTL_SIGNPOST_BEGIN,  // value: the address of its name
  TTL_SIGNPOST_END,
  TTL_PIPE_SEND,  // in these: marks.cpp says what subject and line are
  TTL_PIPE_SEND_END,
  TTL_PIPE_RECEIVE,
  TTL_PIPE_RECEIVE_END,
  TTL_SEMAPHORE_SET,
  TTL_SEMAPHORE_INC,
  TTL_SEMAPHORE_WAIT,
  // No events of their own.
  TTL_MARK_AWAIT,
  TTL_MARK_SEND_ENDS,
  TTL_MARK_RECEIVE_ENDS,
};

// A call in the text of a kernel, by name, and how often it was made.
struct TtlCallSite {
  uint64_t count;
  uint32_t kernel, line;
  uint32_t buffers[2];  // by index; ~0 where there is none
  char name[64];
};

// One that was made.
struct TtlCall {
  uint32_t node_and_site;  // the lower bits: the number of the site
  uint32_t first, second, third;  // the header recorded_calls.h has what they are
};
constexpr uint32_t call_site_bits = 20;
constexpr uint32_t most_calls = 1u << 25;  // 512 MB of them; then no more are kept

struct TtlEvent {
  uint32_t kind, node, kernel, subject;  // subject: buffer or tensor by position
  uint64_t value;
  uint32_t line;  // of the kernel's C++
  uint32_t unused;
};

// For data or space in a buffer, or for a word in L1 to be a value or at least that.
enum TtlAwait : uint32_t { TTL_AWAIT_DATA, TTL_AWAIT_SPACE, TTL_AWAIT_EQUAL, TTL_AWAIT_AT_LEAST };

struct TtlWaiting {
  uint32_t node, kernel, line;
  uint32_t awaits;
  uint32_t subject;  // buffer by position; semaphore by id, or ~0 for another word of L1
  uint32_t value;    // filled pages, or what the word is
  uint32_t wanted;   // what the word should be
};

// Pages that were pushed and not popped.
struct TtlLeftover {
  uint32_t node, buffer, pages;
  uint32_t pushed_pages, popped_pages;
  uint32_t producer, consumer;  // kernels by position, ~0 where there is none
};

// A unit of a tensor that two nodes have written.
struct TtlClash {
  uint64_t unit;
  uint32_t tensor, is_different;  // the bytes are
  uint32_t node, kernel, line;    // the first line of several where the node writes the tensor
  uint32_t other_node, other_kernel, other_line;
  uint32_t has_others;  // bit 0: the node has other lines, bit 1: the other node has
};

enum TtlStatus : uint32_t {
  TTL_DONE,
  TTL_FAULT,
  TTL_DEADLOCK,
  TTL_UNKNOWN_FORMAT,
  TTL_NO_MEMORY,
  TTL_SPINNING,  // the message is the number of steps, 0 where the kernel calls nothing
  TTL_NOT_RESERVED,  // another node's pages are written; the message: buffer and node, as positions
  TTL_STOPPED,
  TTL_NO_DIVISOR,  // an integer is divided by zero; the message: // or %
};

struct TtlReport {
  uint32_t status;
  uint32_t node, kernel, line;  // of a fault or of a kernel that spins
  uint32_t event_count, waiting_count, leftover_count;
  TtlEvent* events;
  TtlWaiting* waiting;
  TtlLeftover* leftovers;
  uint32_t printed_bytes, clash_count;
  uint8_t* printed;  // records of printing.cpp
  TtlCallSite* call_sites;
  TtlCall* calls;
  uint32_t call_site_count, call_count;
  TtlClash* clashes;  // of a tensor the first alike and the first that differs
  char message[512];
};

// Of a text of events (ttl.trace.texts): what follows a piece, in the order of Slot.
enum TtlSlot : uint32_t {
  TTL_SLOT_NOTHING,
  TTL_SLOT_TRACK,
  TTL_SLOT_PROCESS,
  TTL_SLOT_TICK,
  TTL_SLOT_TRANSFER,
  TTL_SLOT_VALUE,
  TTL_SLOT_PART,  // not known here: nothing
};

struct TtlPiece {
  const char* text;
  uint32_t bytes, slot;
};

struct TtlTemplate {
  uint32_t first_piece, piece_count;
  uint32_t bytes;  // the most that it takes, but for tracks
  uint32_t transfer, channel;  // 1 begins one of this channel, 2 ends one
  uint32_t has_value;
};

struct TtlTexts {
  const TtlTemplate* templates;
  const TtlPiece* pieces;
  const TtlPiece* tracks;     // by node and kernel; these have no slots
  const TtlPiece* processes;  // by node
  uint32_t kernel_count, track_count, channel_count;
  uint32_t track_bytes;  // the most that tracks and processes take in an event
};

// Keeps the events of these kinds, one bit each; returns how many.
uint32_t ttl_keep_events(TtlEvent* events, uint32_t count, uint32_t kinds);
// Numbers events by their templates; `firsts` are the first ones of each. Returns how many templates
// there are, ~0 without memory.
uint32_t ttl_number_events(const TtlEvent* events, uint32_t count, uint32_t* numbers,
                           uint32_t* firsts);
// Null without memory, else to be freed.
char* ttl_event_texts(const TtlTexts* texts, const TtlEvent* events, const uint32_t* numbers,
                      uint32_t count, uint64_t first_tick, uint64_t* bytes);
void ttl_free_text(char* text);
// Runs the program in a thread of the runtime, and waits for it as ttl_wait does. Where there is no
// thread to be had it runs in this one.
uint32_t ttl_begin(TtlProgram* program, TtlReport* report, uint32_t milliseconds);
// Has the run ended, or never begun? Answers no sooner than that, or after so many milliseconds.
uint32_t ttl_wait(const TtlProgram* program, uint32_t milliseconds);
void ttl_run(TtlProgram* program, TtlReport* report);
// From another thread: ends the run, also where a kernel calls nothing. To be asked again until the
// run has ended.
void ttl_stop(TtlProgram* program, uint32_t status);
void ttl_free_report(TtlReport* report);
}
