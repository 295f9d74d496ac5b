#include "addresses.h"

namespace ttl_host {

namespace {

// The kind in the top byte. Tensors: their number, then the byte in them. Nodes: x, y, then 32 bits
// of L1. Rectangles: four coordinates of 6 bits, then 32 bits of L1.
constexpr uint64_t kind_node = 1, kind_tensor = 2, kind_rectangle = 3;
constexpr uint64_t tensor_bits = 40;

Place place_in_tensor(const Run& run, uint64_t address, uint32_t bytes, int line) {
  const TtlProgram& program = *run.program;
  const uint32_t index = address >> tensor_bits & 0xffff;
  if (index >= program.tensor_count) fault(line, "there is no tensor with the number %u", index);
  const TtlTensor& tensor = program.tensors[index];
  const uint64_t byte = address & ((uint64_t{1} << tensor_bits) - 1);
  const uint64_t page = byte / tensor.aligned_page_bytes;
  const uint32_t offset = static_cast<uint32_t>(byte % tensor.aligned_page_bytes);
  if (page >= tensor.pages || bytes > tensor.aligned_page_bytes - offset)
    fault(line, "a transfer of %u bytes from byte %u of page %llu leaves the page (%u bytes)",
          bytes, offset, static_cast<unsigned long long>(page), tensor.aligned_page_bytes);
  const uint32_t stored = offset < tensor.page_bytes ? tensor.page_bytes - offset : 0;
  Place found{nullptr, offset, bytes < stored ? bytes : stored, index, no_node,
              tensor.in_dram != 0, {tensor.row_bytes, tensor.element_bytes, offset}, page};
  if (uint8_t* home = home_of_page(run, index, page)) {
    found.bytes = home + offset;
    found.tile = {};
    return found;
  }
  if (!tensor.row_bytes) {
    found.bytes = tensor.bytes + page * tensor.page_bytes + offset;
    return found;
  }
  const uint32_t tile_row_bytes = 32 * tensor.element_bytes;
  const uint64_t columns = tensor.row_bytes / tile_row_bytes;
  found.bytes = tensor.bytes + page / columns * 32 * tensor.row_bytes +
                page % columns * tile_row_bytes;
  return found;
}

// Within a node's L1: the end of the buffer, tensor, scratch or semaphores there.
uint32_t end_of_object(const Fiber& fiber, uint32_t offset, const char*& name) {
  const TtlProgram& program = *fiber.run->program;
  name = "the semaphores";
  if (offset < semaphore_area_bytes) return program.semaphore_count * semaphore_bytes;
  name = "the scratch of pipes";
  const uint32_t scratch_end = semaphore_area_bytes + program.scratch_bytes;
  if (offset < scratch_end) return scratch_end;
  name = "a tensor in L1";
  for (uint32_t i = 0; i < program.tensor_count; ++i) {
    const uint32_t start = fiber.run->tensor_offsets[i];
    if (!start || offset < start) continue;
    const uint32_t end = start + bytes_in_bank(*fiber.run, i);
    if (offset < end) return end;
  }
  const uint32_t address = fiber.node->l1_address + offset;
  for (uint32_t i = 0; i < program.buffer_count; ++i) {
    const CircularBuffer& buffer = fiber.node->buffers[program.buffers[i].index];
    if (!buffer.plan || address < buffer.address || address >= buffer.end) continue;
    name = buffer.plan->name;
    return buffer.end - fiber.node->l1_address;
  }
  return 0;
}

Place place_at(Fiber& fiber, uint32_t node, uint32_t offset, uint32_t bytes, uint32_t address,
               int line) {
  const char* name = "";
  const uint32_t end = end_of_object(fiber, offset, name);
  if (offset >= end) fault(line, "L1 address 0x%x lies in no circular buffer", address);
  if (bytes > end - offset)
    fault(line, "a transfer of %u bytes reaches past the end of `%s`", bytes, name);
  return {fiber.run->nodes[node].l1 + offset, offset, bytes, no_tensor, node, false, {}, 0};
}

int find_node(const Run& run, uint32_t x, uint32_t y) {
  return x < 64 && y < 64 ? run.node_at[y][x] : -1;
}

}  // namespace

uint64_t tensor_address(uint64_t tensor, uint64_t byte) {
  return kind_tensor << 56 | tensor << tensor_bits | byte;
}

uint64_t node_address(uint32_t x, uint32_t y, uint32_t address) {
  return kind_node << 56 | uint64_t{x & 0xff} << 40 | uint64_t{y & 0xff} << 32 | address;
}

uint64_t multicast_address(const Rectangle& r) {
  const uint64_t corners = uint64_t{r.first_x & 63} << 18 | uint64_t{r.first_y & 63} << 12 |
                           uint64_t{r.last_x & 63} << 6 | uint64_t{r.last_y & 63};
  return kind_rectangle << 56 | corners << 32 | r.address;
}

// All nodes have the same layout, so an address got on one is good for all.
Place place_on_node(Fiber& fiber, uint32_t node, uint32_t address, uint32_t bytes, int line) {
  const Run& run = *fiber.run;
  const uint32_t distance = address - run.l1_address;
  const bool is_l1 = distance < run.node_bytes * run.node_count;
  const uint32_t offset = is_l1 ? distance % run.node_bytes : run.node_bytes;
  return place_at(fiber, node, offset, bytes, address, line);
}

Place place_in_own_l1(Fiber& fiber, uint32_t address, uint32_t bytes, int line) {
  const Node& node = *fiber.node;
  const uint32_t offset = address - node.l1_address;
  if (offset < fiber.run->node_bytes)
    return place_at(fiber, node.position, offset, bytes, address, line);
  if (address - fiber.run->l1_address < fiber.run->node_bytes * fiber.run->node_count)
    fault(line, "L1 address 0x%x was got on another node", address);
  return place_on_node(fiber, node.position, address, bytes, line);
}

Place place(Fiber& fiber, uint64_t address, uint32_t bytes, int line) {
  const uint64_t kind = address >> 56;
  if (kind == kind_tensor) return place_in_tensor(*fiber.run, address, bytes, line);
  if (kind != kind_node)
    fault(line, "0x%llx is not a NoC address of one place",
          static_cast<unsigned long long>(address));
  const uint32_t x = address >> 40 & 0xff, y = address >> 32 & 0xff;
  const int node = find_node(*fiber.run, x, y);
  if (node < 0) fault(line, "no node of the operation has the NoC coordinates (%u, %u)", x, y);
  return place_on_node(fiber, static_cast<uint32_t>(node), static_cast<uint32_t>(address), bytes,
                       line);
}

Rectangle rectangle_of(const Fiber&, uint64_t address, uint8_t noc, int line) {
  if (address >> 56 != kind_rectangle)
    fault(line, "0x%llx is not a multicast address", static_cast<unsigned long long>(address));
  const auto part = [address](int shift) { return static_cast<uint32_t>(address >> shift & 63); };
  const Rectangle given{part(50), part(44), part(38), part(32), static_cast<uint32_t>(address)};
  const Rectangle turned{given.last_x, given.last_y, given.first_x, given.first_y, given.address};
  const Rectangle& r = noc == 0 ? given : turned;
  if (r.first_x > r.last_x || r.first_y > r.last_y)
    fault(line, "the corners (%u, %u) and (%u, %u) of a multicast are the wrong way round for "
          "NoC %u", given.first_x, given.first_y, given.last_x, given.last_y, noc);
  return r;
}

volatile uint32_t* word_at(Fiber& fiber, const volatile void* pointer, int line) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address > 0xffffffffu || address % 4 != 0)
    fault(line, "0x%llx is not the address of a word in L1",
          static_cast<unsigned long long>(address));
  const Place word = place_in_own_l1(fiber, static_cast<uint32_t>(address), 4, line);
  return reinterpret_cast<volatile uint32_t*>(word.bytes);
}

uint8_t* home_of_page(const Run& run, uint32_t tensor, uint64_t page) {
  const TtlTensor& plan = run.program->tensors[tensor];
  if (!plan.homes || plan.homes[page].node == no_node) return nullptr;
  const TtlHome& home = plan.homes[page];
  return run.nodes[home.node].l1 + run.tensor_offsets[tensor] + home.page * plan.aligned_page_bytes;
}

uint32_t local_tensor_address(const Fiber& fiber, uint32_t tensor) {
  const uint32_t offset = fiber.run->tensor_offsets[tensor];
  return offset ? fiber.node->l1_address + offset : 0;
}

uint32_t find_tensor(const Fiber& fiber, uint32_t base, int line) {
  const TtlProgram& program = *fiber.run->program;
  for (uint32_t i = 0; i < program.tensor_count; ++i)
    if (program.tensors[i].address == base || (base && local_tensor_address(fiber, i) == base))
      return i;
  fault(line, "there is no tensor at address 0x%x", base);
}

uint32_t find_dram_tensor(const TtlProgram& program, uint32_t address, uint32_t banks, int line) {
  for (uint32_t i = 0; i < program.tensor_count; ++i)
    if (program.tensors[i].in_dram && program.tensors[i].address == address) return i;
  for (uint32_t i = 0; i < program.tensor_count; ++i) {
    const TtlTensor& tensor = program.tensors[i];
    const uint64_t bytes = (tensor.pages + banks - 1) / banks * tensor.aligned_page_bytes;
    if (tensor.in_dram && address - tensor.address < bytes) return i;
  }
  fault(line, "no tensor in DRAM has the address 0x%x", address);
}

}  // namespace ttl_host
