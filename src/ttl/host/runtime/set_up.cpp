// Memory of a run: L1 of all nodes, stacks of all kernels, the places of buffers and semaphores.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "addresses.h"
#include "memory.h"
#include "payloads.h"
#include "pool.h"
#include "running.h"
#include "tile_rows.h"
#include "written.h"

namespace ttl_host {

namespace {

uint32_t align_up(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void count_parts(Run& run) {
  const TtlProgram& program = *run.program;
  run.node_count =
      (program.last_x - program.first_x + 1) * (program.last_y - program.first_y + 1);
  run.fiber_count = run.node_count * program.kernel_count;
  run.lane_count = run.is_in_turn ? 1 : run.node_count;
  for (uint32_t i = 0; i < program.buffer_count; ++i)
    if (program.buffers[i].index >= run.buffer_slots)
      run.buffer_slots = program.buffers[i].index + 1;
  run.node_buffers_bytes = align_up(run.buffer_slots * uint32_t{sizeof(CircularBuffer)}, 64);
}

// One block for all tables, zeroed.
bool allocate(Run& run) {
  const TtlProgram& program = *run.program;
  Memory& memory = *run.memory;
  const size_t table_bytes =
      run.node_count * (sizeof(Node) + sizeof(Node*) + run.node_buffers_bytes) +
      run.fiber_count * sizeof(Fiber) + run.lane_count * sizeof(Lane) +
      (program.buffer_count + program.tensor_count) * sizeof(uint32_t) + 512;
  if (!memory.tables.hold(table_bytes) || !hold_stacks(memory, run.fiber_count) ||
      !memory.computes.hold(run.node_count * sizeof(Compute)) ||
      !memory.factors.hold(program.thread_count * sizeof(Factors)))
    return false;
  memset(memory.tables.bytes, 0, table_bytes);
  uint8_t* end = memory.tables.bytes;
  run.nodes = take<Node>(end, run.node_count);
  run.fibers = take<Fiber>(end, run.fiber_count);
  run.lanes = take<Lane>(end, run.lane_count);
  run.active = take<Node*>(end, run.node_count);
  run.buffers = take<uint8_t>(end, run.node_count * run.node_buffers_bytes);
  run.buffer_offsets = take<uint32_t>(end, program.buffer_count);
  run.tensor_offsets = take<uint32_t>(end, program.tensor_count);
  run.stacks = memory.stacks.bytes;
  run.factors = reinterpret_cast<Factors*>(memory.factors.bytes);
  for (uint32_t i = 0; i < program.thread_count; ++i) run.factors[i].ended = nullptr;
  return true;
}

bool give_l1(Run& run) {
  constexpr uint32_t virtual_address = 0x100000;
  if (!hold_l1(*run.memory, size_t{run.node_bytes} * run.node_count)) return false;
  run.l1 = run.memory->l1.bytes;
  run.l1_is_low = run.memory->l1_is_low;
  run.l1_address = run.l1_is_low ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(run.l1))
                                 : virtual_address;
  return true;
}

// A tensor that was given twice is one.
uint32_t first_alike(const TtlProgram& program, uint32_t tensor) {
  for (uint32_t i = 0; i < tensor; ++i)
    if (program.tensors[i].bytes == program.tensors[tensor].bytes) return i;
  return tensor;
}

// A tensor in L1 takes the same bytes of every node, whether a page of it lies there or not: kernels
// use them as memory of their own. Where a node has a shard, they hold it if buffers lie in it.
uint32_t lay_out_tensors(Run& run, uint32_t end) {
  const TtlProgram& program = *run.program;
  for (uint32_t i = 0; i < program.tensor_count; ++i) {
    const TtlTensor& tensor = program.tensors[i];
    if (!tensor.homes && (!program.by_hand || tensor.in_dram || tensor.is_sharded)) continue;
    const uint32_t first = first_alike(program, i);
    if (tensor.homes && first != i) {
      run.tensor_offsets[i] = run.tensor_offsets[first];
      continue;
    }
    run.tensor_offsets[i] = align_up(end, program.buffer_alignment);
    end = run.tensor_offsets[i] + bytes_in_bank(run, i);
  }
  return end;
}

// Semaphores first, then the scratch of pipes, then buffers in the order of their declaration and
// tensors, the same on every node.
uint32_t lay_out(Run& run) {
  const TtlProgram& program = *run.program;
  uint32_t end = semaphore_area_bytes + program.scratch_bytes;
  for (uint32_t i = 0; i < program.buffer_count; ++i) {
    const TtlBuffer& plan = program.buffers[i];
    if (!find_format(plan.format)) {
      snprintf(run.report->message, sizeof(run.report->message), "%s", plan.format);
      return TTL_UNKNOWN_FORMAT;
    }
    if (plan.shares != no_buffer) {
      run.buffer_offsets[i] = run.buffer_offsets[plan.shares];
      continue;
    }
    if (plan.tensor != no_tensor) continue;  // below, with its tensor
    run.buffer_offsets[i] = align_up(end, program.buffer_alignment);
    end = run.buffer_offsets[i] + plan.pages * plan.page_bytes;
  }
  run.used_bytes = lay_out_tensors(run, end);
  run.node_bytes = align_up(run.used_bytes, 4096);
  for (uint32_t i = 0; i < program.buffer_count; ++i) {
    const TtlBuffer& plan = program.buffers[i];
    if (plan.tensor != no_tensor)
      run.buffer_offsets[i] = run.tensor_offsets[plan.tensor] + plan.tensor_offset;
  }
  return TTL_DONE;
}

template <typename Move>
void for_each_home(Run& run, Move move) {
  const TtlProgram& program = *run.program;
  for (uint32_t i = 0; i < program.tensor_count; ++i) {
    TtlTensor& tensor = program.tensors[i];
    if (!tensor.homes || first_alike(program, i) != i) continue;
    for (uint64_t page = 0; page < tensor.pages; ++page)
      if (uint8_t* home = home_of_page(run, i, page)) move(tensor, page, home);
  }
}

bool has_shards(const Run& run) {
  for (uint32_t i = 0; i < run.program->tensor_count; ++i)
    if (run.program->tensors[i].homes) return true;
  return false;
}

void clear_node(Run& run, uint32_t node, uint32_t) { clear_l1(run, run.nodes[node]); }

void fill_shards(Run& run) {
  for_each_home(run, load_page);
}

// What differs from the tensor has been written.
void write_shards_back(Run& run) {
  static_assert(tile_values * sizeof(float) == 4096);
  for_each_home(run, [](TtlTensor& tensor, uint64_t page, uint8_t* home) {
    uint8_t before[tile_values * sizeof(float)];
    load_page(tensor, page, before);
    if (!memcmp(before, home, tensor.page_bytes)) return;
    store_page(tensor, page, home);
    tensor.written = 1;
  });
}

void place_buffers(Run& run, Node& node) {
  const TtlProgram& program = *run.program;
  memset(node.l1, 0xff, semaphore_area_bytes);
  memset(node.l1 + semaphore_area_bytes, 0, program.scratch_bytes);
  for (uint32_t position = 0; position < program.buffer_count; ++position) {
    const TtlBuffer& plan = program.buffers[position];
    if (plan.nodes && !plan.nodes[node.position]) continue;
    CircularBuffer& buffer = node.buffers[plan.index];
    buffer.plan = &plan;
    buffer.position = position;
    buffer.format = find_format(plan.format);
    buffer.address = node.l1_address + run.buffer_offsets[position];
    buffer.end = buffer.address + plan.pages * plan.page_bytes;
    buffer.bytes = node.l1 + run.buffer_offsets[position];
  }
  for (uint32_t i = 0; i < program.semaphore_count; ++i)
    memcpy(node.l1 + i * semaphore_bytes, &program.semaphores[i], 4);
}

void make_node(Run& run, uint32_t position) {
  const TtlProgram& program = *run.program;
  const uint32_t columns = program.last_x - program.first_x + 1;
  Node& node = run.nodes[position];
  node.position = position;
  node.x = program.first_x + position % columns;
  node.y = program.first_y + position / columns;
  node.buffer_slots = run.buffer_slots;
  node.buffers =
      reinterpret_cast<CircularBuffer*>(run.buffers + position * run.node_buffers_bytes);
  node.l1 = run.l1 + size_t{run.node_bytes} * position;
  node.l1_address = run.l1_address + run.node_bytes * position;
  node.lane = &run.lanes[run.is_in_turn ? 0 : position];
  node.lane->run = &run;
  node.compute = reinterpret_cast<Compute*>(run.memory->computes.bytes) + position;
  memset(static_cast<void*>(node.compute), 0, offsetof(Compute, slots));  // those are not live
  place_buffers(run, node);
  run.node_at[program.virtual_rows[node.y] % 64][program.virtual_columns[node.x] % 64] =
      static_cast<int16_t>(position);
}

void start_fibers(Run& run, Node& node) {
  const TtlProgram& program = *run.program;
  for (uint32_t k = 0; k < program.kernel_count; ++k) {
    const uint32_t position = node.position * program.kernel_count + k;
    Fiber& fiber = run.fibers[position];
    fiber.finished = program.kernels[k].nodes && !program.kernels[k].nodes[node.position];
    if (fiber.finished) continue;
    fiber.run = &run;
    fiber.node = &node;
    fiber.lane = node.lane;
    fiber.lane->fiber_count += 1;
    fiber.kernel = &program.kernels[k];
    make_ready(*fiber.lane, fiber);
  }
}

}  // namespace

uint32_t bytes_in_bank(const Run& run, uint32_t tensor) {
  const TtlTensor& plan = run.program->tensors[tensor];
  if (plan.homes) return plan.shard_bytes;
  const uint64_t banks = uint64_t{run.program->grid_columns} * run.program->grid_rows;
  return static_cast<uint32_t>((plan.pages + banks - 1) / banks * plan.aligned_page_bytes);
}

// There is one for every fiber, but the fewer are used, the more of them stay in the caches. Stacks that
// all end at the same place of a page would all want the same lines of these.
void give_stack(Lane& lane, Fiber& fiber) {
  constexpr size_t one = guard_bytes + stack_bytes;
  Run& run = *lane.run;
  Factors& factors = *lane.factors;
  if (factors.ended) {
    fiber.stack = factors.ended->stack;
    factors.ended = factors.ended->next;
  } else {
    const uint32_t number = __atomic_fetch_add(&run.stacks_taken, 1, __ATOMIC_RELAXED);
    fiber.stack = run.stacks + number * one + guard_bytes;
  }
  const size_t shift = static_cast<size_t>(fiber.stack - run.stacks) / one % 64 * 5 * 64;
  prepare(fiber.context, fiber.stack, stack_bytes - shift, run_kernel);
}

// Memory that nobody wrote reads as NaN. Semaphores and scratch have been set. Kernels written by hand may
// also look at what belongs to nothing.
void clear_l1(Run& run, Node& node) {
  const uint32_t first = semaphore_area_bytes + run.program->scratch_bytes;
  memset(node.l1 + first, 0xff, (run.program->by_hand ? run.node_bytes : run.used_bytes) - first);
  node.is_cleared = true;
}

uint32_t set_up(Run& run) {
  run.memory = take_memory();
  count_parts(run);
  if (!run.memory || !allocate(run) || !follow_writes(run) || !record_calls(run))
    return TTL_NO_MEMORY;
  if (const uint32_t status = lay_out(run)) return status;
  if (!give_l1(run)) return TTL_NO_MEMORY;
  memset(run.node_at, 0xff, sizeof(run.node_at));
  for (uint32_t i = 0; i < run.node_count; ++i) make_node(run, i);
  if (run.is_in_turn || has_shards(run)) for_all(run, run.node_count, clear_node);
  fill_shards(run);
  for (uint32_t i = 0; i < run.node_count; ++i) start_fibers(run, run.nodes[i]);
  return TTL_DONE;
}

void tear_down(Run& run) {
  if (run.l1) write_shards_back(run);
  for (uint32_t i = 0; run.fibers && i < run.fiber_count; ++i) {
    discard_transfers(run.fibers[i]);
    discard(run.fibers[i].context);
    free(run.fibers[i].transfers.items);
    free(run.fibers[i].copies.items);
    free(run.fibers[i].pipe_copies.items);
  }
  for (uint32_t i = 0; run.factors && i < run.program->thread_count; ++i)
    free_kept_payloads(run.factors[i]);
  forget_writes(run);
  forget_calls(run);
  give_back(run.memory);
}

}  // namespace ttl_host
