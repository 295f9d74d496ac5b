// Copies a tensor by way of L1, a page at a time.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "experimental/circular_buffer.h"

void kernel_main() {
    const uint32_t pages = get_arg_val<uint32_t>(0);
    experimental::CircularBuffer cb(0);
    constexpr auto in_args = TensorAccessorArgs<1>();
    constexpr auto out_args = TensorAccessorArgs<in_args.next_compile_time_args_offset()>();
    const auto in = TensorAccessor(in_args, get_common_arg_val<uint32_t>(0), get_tile_size(0));
    const auto out = TensorAccessor(out_args, get_common_arg_val<uint32_t>(1), get_tile_size(0));
    cb.reserve_back(1);
    for (uint32_t page = 0; page < pages; ++page) {
        noc_async_read_tile(page, in, cb.get_write_ptr());
        noc_async_read_barrier();
        noc_async_write_tile(page, out, cb.get_write_ptr());
        noc_async_write_barrier();
    }
}
