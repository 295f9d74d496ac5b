// Reads the tiles of up to three tensors into c_0, c_1 and c_2. Arguments: how many of each.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "experimental/circular_buffer.h"

template <typename Accessor>
void read_all(uint32_t index, uint32_t tiles, const Accessor& source) {
    experimental::CircularBuffer cb(index);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb.reserve_back(1);
        noc_async_read_tile(i, source, cb.get_write_ptr());
        noc_async_read_barrier();
        cb.push_back(1);
    }
}

void kernel_main() {
    constexpr auto args0 = TensorAccessorArgs<5>();
    constexpr auto args1 = TensorAccessorArgs<args0.next_compile_time_args_offset()>();
    constexpr auto args2 = TensorAccessorArgs<args1.next_compile_time_args_offset()>();
    const auto in0 = TensorAccessor(args0, get_common_arg_val<uint32_t>(0), get_tile_size(0));
    const auto in1 = TensorAccessor(args1, get_common_arg_val<uint32_t>(1), get_tile_size(1));
    const auto in2 = TensorAccessor(args2, get_common_arg_val<uint32_t>(2), get_tile_size(2));
    read_all(0, get_arg_val<uint32_t>(0), in0);
    read_all(1, get_arg_val<uint32_t>(1), in1);
    read_all(2, get_arg_val<uint32_t>(2), in2);
}
