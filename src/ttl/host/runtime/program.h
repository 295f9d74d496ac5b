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
};

struct TtlTensor {
  uint8_t* bytes;
  uint64_t pages;
  uint32_t page_bytes;
  uint32_t aligned_page_bytes;
  uint32_t address;  // what kernels get as a common runtime argument
  uint32_t in_dram;
  uint32_t written;  // set by the run
};

enum TtlThread : uint32_t { TTL_COMPUTE, TTL_READER, TTL_WRITER };

struct TtlKernel {
  void (*entry)();
  uint32_t thread;
  uint32_t common_argument_count;
  const uint32_t* common_arguments;
};

struct TtlProgram {
  uint32_t first_x, first_y, last_x, last_y;  // inclusive corners
  uint32_t buffer_count, tensor_count, kernel_count;
  uint32_t l1_base;  // where buffers begin
  uint32_t buffer_alignment, dram_read_alignment;
  uint32_t dst_slots, fp32_dest_acc_en;
  uint32_t trace;
  uint32_t stop;         // set by another thread to end the run
  uint64_t step_budget;  // of a kernel that does not let others run
  const TtlBuffer* buffers;
  TtlTensor* tensors;
  const TtlKernel* kernels;
};

// The order of _EVENT_KINDS in report.py.
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
};

struct TtlEvent {
  uint32_t kind, node, kernel, subject;  // subject: buffer or tensor by position
  uint64_t value;
  uint32_t line;  // of the kernel's C++
  uint32_t unused;
};

struct TtlWaiting {
  uint32_t node, kernel, buffer, reserves;  // reserves: 1 waits for space, 0 waits for data
  uint32_t filled_pages, line;
};

enum TtlStatus : uint32_t {
  TTL_DONE,
  TTL_FAULT,
  TTL_DEADLOCK,
  TTL_UNKNOWN_FORMAT,
  TTL_NO_MEMORY,
  TTL_SPINNING,  // the message is the number of steps
  TTL_STOPPED,
};

struct TtlReport {
  uint32_t status;
  uint32_t node, kernel, line;  // of a fault or of a kernel that spins
  uint32_t event_count, waiting_count;
  TtlEvent* events;
  TtlWaiting* waiting;
  char message[512];
};

void ttl_run(const TtlProgram* program, TtlReport* report);
void ttl_free_report(TtlReport* report);
}
