// Writes the tiles of c_16 to the last tensor. Argument: how many.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "experimental/circular_buffer.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    experimental::CircularBuffer cb(16);
    constexpr auto args = TensorAccessorArgs<11>();
    const auto out = TensorAccessor(args, get_common_arg_val<uint32_t>(0), get_tile_size(16));
    for (uint32_t i = 0; i < tiles; ++i) {
        cb.wait_front(1);
        noc_async_write_tile(i, out, cb.get_read_ptr());
        noc_async_write_barrier();
        cb.pop_front(1);
    }
}
