// The packer: DST to a circular buffer, in the buffer's format.
#include "buffers.h"
#include "registers.h"

#include "api/compute/pack.h"

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/pack.h: pack_tile<true>. At the start of the reservation plus `tile`; the place of
// the next pack in sequence stays where it is.
void pack_at(uint32_t slot, uint32_t index, uint32_t tile, int line) {
  Fiber& fiber = self(line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  const float* values = packed_slot(fiber, slot, line);
  const TileFormat* configured = compute_of(fiber).packer;
  if (configured != buffer.format)
    fault(line, "the packer is configured for %s but `%s` holds %s: pack_reconfig_data_format is "
          "missing", configured->name, buffer.plan->name, buffer.format->name);
  buffer.format->pack(values, reserved_tile(fiber, buffer, tile, line));
}

// api/compute/pack.h: pack_tile, pack_block. Only cb_push_back starts again at 0.
void pack_next(uint32_t slot, uint32_t index, int line) {
  CircularBuffer& buffer = buffer_at(self(line), index, line);
  pack_at(slot, index, buffer.pack_offset, line);
  buffer.pack_offset += 1;
}

}  // namespace ckernel::detail
