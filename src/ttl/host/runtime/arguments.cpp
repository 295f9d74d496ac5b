// What a kernel knows about itself.
#include "addresses.h"

#include "hostdevcommon/kernel_calls.h"

namespace ttl_kernel {

using namespace ttl_host;

namespace {

const uint32_t* runtime_arguments(Fiber& fiber, uint32_t& count) {
  const TtlKernel& kernel = *fiber.kernel;
  count = 0;
  if (!kernel.arguments) return nullptr;
  const uint32_t* offsets = kernel.argument_offsets + fiber.node->position;
  count = offsets[1] - offsets[0];
  return kernel.arguments + offsets[0];
}

// The address of a tensor in L1 is one in this node's L1, as all addresses of L1 are.
uint32_t on_this_node(const Fiber& fiber, uint32_t word) {
  const TtlProgram& program = *fiber.run->program;
  for (uint32_t i = 0; program.by_hand && i < program.tensor_count; ++i)
    if (program.tensors[i].address == word && local_tensor_address(fiber, i))
      return local_tensor_address(fiber, i);
  return word;
}

}  // namespace

uint32_t argument(int index, int line) {
  uint32_t count;
  Fiber& fiber = self(line);
  const uint32_t* arguments = runtime_arguments(fiber, count);
  if (!count) fault(line, "runtime argument %d is read, but the kernel has none", index);
  if (index < 0 || static_cast<uint32_t>(index) >= count)
    fault(line, "runtime argument %d is read, but the kernel has %u on this node", index, count);
  return on_this_node(fiber, arguments[index]);
}

uint32_t common_argument(int index, int line) {
  const Fiber& fiber = self(line);
  const TtlKernel& kernel = *fiber.kernel;
  if (index < 0 || static_cast<uint32_t>(index) >= kernel.common_argument_count)
    fault(line, "common runtime argument %d is read, but the kernel has %u", index,
          kernel.common_argument_count);
  if (static_cast<uint32_t>(index) == kernel.scratch_argument)
    return fiber.node->l1_address + semaphore_area_bytes;
  return on_this_node(fiber, kernel.common_arguments[index]);
}

uint8_t get_absolute_logical_x() { return static_cast<uint8_t>(self().node->x); }
uint8_t get_absolute_logical_y() { return static_cast<uint8_t>(self().node->y); }
uint8_t get_relative_logical_x() { return get_absolute_logical_x(); }
uint8_t get_relative_logical_y() { return get_absolute_logical_y(); }

}  // namespace ttl_kernel
