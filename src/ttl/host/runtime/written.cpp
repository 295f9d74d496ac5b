#include "written.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "forks.h"
#include "formats.h"

namespace ttl_host {

namespace {

// The two nodes with the smallest numbers that wrote it, counted from 1, whichever was faster.
struct Owners {
  uint16_t first;
  uint16_t second : 15, differs : 1;
};

// Where a node writes a tensor: the first place, in the order of kernels and their lines.
struct Writer {
  uint32_t kernel, line;
  bool is_known, has_others;
};

}  // namespace

struct WrittenTensor {
  Owners* owners;   // by unit; null until somebody writes
  Writer* writers;  // by node
  bool has_clashes;
};

namespace {

constexpr uint32_t lock_count = 256;
uint8_t locks[lock_count];  // of pages
uint8_t one_at_a_time;  // allocates

void lock_up(uint8_t& lock) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

void unlock(uint8_t& lock) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

// A child of fork() has none of the threads that may hold them.
void unlock_all() {
  for (uint8_t& lock : locks) unlock(lock);
  unlock(one_at_a_time);
}

const AtFork at_fork{unlock_all};

uint64_t unit_count(const TtlTensor& tensor) {
  return tensor.pages * tensor.page_bytes / tensor.unit_bytes;
}

uint64_t first_unit(const TtlTensor& tensor, const Transfer& transfer) {
  if (tensor.row_bytes) return transfer.page;  // units are tiles
  return static_cast<uint64_t>(transfer.destination - tensor.bytes) / tensor.unit_bytes;
}

// Kernels that are not ours may write parts of tiles; these are not followed.
bool is_whole(const TtlTensor& tensor, const Transfer& transfer) {
  if (!tensor.unit_bytes || transfer.bytes % tensor.unit_bytes) return false;
  if (tensor.row_bytes) return transfer.tile.offset == 0;
  return (transfer.destination - tensor.bytes) % tensor.unit_bytes == 0;
}

uint32_t at_most(uint32_t value, uint32_t most) { return value < most ? value : most; }

struct Used {
  uint32_t rows, columns;
};

Used used_part(const TtlTensor& tensor, uint64_t unit, uint32_t tile_columns) {
  const auto top = static_cast<uint32_t>(unit / tile_columns % tensor.tile_rows * 32);
  const auto left = static_cast<uint32_t>(unit % tile_columns * 32);
  return {at_most(tensor.used_rows - top, 32), at_most(tensor.used_columns - left, 32)};
}

uint32_t face_row_of(uint32_t row, uint32_t column) {
  return (row / 16 * 2 + column / 16) * 16 + row % 16;
}

// Padding does not count: nobody sees it.
bool tile_differs(const TtlTensor& tensor, const Transfer& transfer, const uint8_t* tile,
                  uint64_t unit) {
  const uint32_t size = tensor.element_bytes, columns = tensor.row_bytes / (32 * size);
  const Used used = used_part(tensor, unit, columns);
  for (uint32_t row = 0; row < used.rows; ++row) {
    for (uint32_t column = 0; column < used.columns; column += 16) {
      const uint8_t* there = transfer.destination + size_t{row} * tensor.row_bytes + column * size;
      if (memcmp(there, tile + face_row_of(row, column) * 16 * size,
                 at_most(used.columns - column, 16) * size))
        return true;
    }
  }
  return false;
}

// Padding among 16 block floats may give them another exponent: what counts is what they are.
bool block_floats_differ(const TtlTensor& tensor, const TileFormat& format, const uint8_t* one,
                         const uint8_t* other, uint64_t unit) {
  float values[2][tile_values];
  format.unpack(one, values[0]);
  format.unpack(other, values[1]);
  const Used used = used_part(tensor, unit, (tensor.used_columns + 31) / 32);
  for (uint32_t row = 0; row < used.rows; ++row) {
    for (uint32_t column = 0; column < used.columns; column += 16) {
      const uint32_t first = face_row_of(row, column) * 16;
      const uint32_t count = at_most(used.columns - column, 16);
      if (memcmp(values[0] + first, values[1] + first, count * sizeof(float))) return true;
    }
  }
  return false;
}

// By their size, which nothing else has.
const TileFormat* block_float_format(const TtlTensor& tensor) {
  constexpr const char* names[] = {"BFP_BFloat8", "BFP_BFloat4"};
  for (const char* name : names) {
    const TileFormat* format = find_format(name);
    if (tensor.used_rows && format && format->tile_bytes == tensor.unit_bytes) return format;
  }
  return nullptr;
}

bool differs(const TtlTensor& tensor, const Transfer& transfer, const uint8_t* data,
             uint64_t first, uint64_t unit) {
  if (tensor.row_bytes) return tile_differs(tensor, transfer, data, unit);
  const uint64_t offset = (unit - first) * tensor.unit_bytes;
  const uint8_t* there = transfer.destination + offset;
  if (!memcmp(there, data + offset, tensor.unit_bytes)) return false;
  const TileFormat* format = block_float_format(tensor);
  return !format || block_floats_differ(tensor, *format, there, data + offset, unit);
}

void own(Owners& owners, uint16_t node) {
  if (!owners.first || node < owners.first) {
    owners.second = owners.first & 0x7fff;
    owners.first = node;
  } else if (node != owners.first && (!owners.second || node < owners.second)) {
    owners.second = node & 0x7fff;
  }
}

// A tensor that was given twice is one.
uint32_t same_tensor(const TtlProgram& program, uint32_t tensor) {
  for (uint32_t i = 0; i < tensor; ++i)
    if (program.tensors[i].bytes == program.tensors[tensor].bytes) return i;
  return tensor;
}

bool allocate(const Run& run, WrittenTensor& written, const TtlTensor& tensor) {
  if (__atomic_load_n(&written.owners, __ATOMIC_ACQUIRE)) return true;
  lock_up(one_at_a_time);
  if (!written.owners) {
    written.writers = static_cast<Writer*>(calloc(run.node_count, sizeof(Writer)));
    void* owners = written.writers ? calloc(unit_count(tensor), sizeof(Owners)) : nullptr;
    __atomic_store_n(&written.owners, static_cast<Owners*>(owners), __ATOMIC_RELEASE);
  }
  unlock(one_at_a_time);
  return written.owners != nullptr;
}

void remember(Writer& writer, uint32_t kernel, uint32_t line) {
  const bool is_same = writer.kernel == kernel && writer.line == line;
  const bool is_before =
      kernel < writer.kernel || (kernel == writer.kernel && line < writer.line);
  const bool has_others = writer.has_others || (writer.is_known && !is_same);
  if (!writer.is_known || is_before) writer = {kernel, line, true, has_others};
  writer.has_others = has_others;
}

void note_write(Fiber& fiber, const Transfer& transfer, const uint8_t* data, uint64_t first,
                WrittenTensor& written) {
  const Run& run = *fiber.run;
  const TtlTensor& tensor = run.program->tensors[transfer.tensor];
  const uint32_t node = fiber.node->position;
  const auto kernel = static_cast<uint32_t>(fiber.kernel - run.program->kernels);
  remember(written.writers[node], kernel, transfer.line);
  const uint64_t count = transfer.bytes / tensor.unit_bytes;
  for (uint64_t unit = first; unit < first + count; ++unit) {
    Owners& owners = written.owners[unit];
    own(owners, static_cast<uint16_t>(node + 1));
    if (!owners.second) continue;
    owners.differs |= differs(tensor, transfer, data, first, unit);
    __atomic_store_n(&written.has_clashes, true, __ATOMIC_RELAXED);
  }
}

// Of the node with the smallest number that wrote what one before it wrote.
void report_clash(Run& run, const WrittenTensor& written, uint32_t tensor, bool is_different) {
  const Owners* found = nullptr;
  const uint64_t count = unit_count(run.program->tensors[tensor]);
  for (const Owners* each = written.owners; each < written.owners + count; ++each)
    if (each->second && each->differs == is_different && (!found || each->second < found->second))
      found = each;
  if (!found) return;
  const uint32_t node = found->second - 1u, other = found->first - 1u;
  const Writer &one = written.writers[node], &two = written.writers[other];
  run.report->clashes[run.report->clash_count++] = {
      static_cast<uint64_t>(found - written.owners), tensor, is_different, node, one.kernel,
      one.line, other, two.kernel, two.line, one.has_others | two.has_others << 1u};
}

}  // namespace

bool follow_writes(Run& run) {
  const uint32_t tensors = run.program->tensor_count;
  if (!run.program->follows_writes || !tensors) return true;
  run.written = static_cast<WrittenTensor*>(calloc(tensors, sizeof(WrittenTensor)));
  run.report->clashes = static_cast<TtlClash*>(calloc(2 * tensors, sizeof(TtlClash)));
  return run.written && run.report->clashes;
}

uint8_t* WriteNote::take(Fiber& fiber, const Transfer& transfer, const uint8_t* data) {
  const Run& run = *fiber.run;
  const TtlTensor& tensor = run.program->tensors[transfer.tensor];
  WrittenTensor& written = run.written[same_tensor(*run.program, transfer.tensor)];
  if (tensor.homes || !is_whole(tensor, transfer) || !allocate(run, written, tensor)) return nullptr;
  const uint64_t first = first_unit(tensor, transfer);
  uint8_t& lock = locks[transfer.page % lock_count];
  lock_up(lock);
  note_write(fiber, transfer, data, first, written);
  return &lock;
}

void report_clashes(Run& run) {
  for (uint32_t i = 0; run.written && i < run.program->tensor_count; ++i) {
    if (!run.written[i].has_clashes) continue;
    report_clash(run, run.written[i], i, false);
    report_clash(run, run.written[i], i, true);
  }
}

void forget_writes(Run& run) {
  for (uint32_t i = 0; run.written && i < run.program->tensor_count; ++i) {
    free(run.written[i].owners);
    free(run.written[i].writers);
  }
  free(run.written);
}

}  // namespace ttl_host
