// Reads the tiles of up to three tensors into c_0, c_1 and c_2. Arguments: how many of each.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

template <typename Accessor>
void read_all(uint32_t cb, uint32_t tiles, const Accessor& source) {
    const uint32_t tile_bytes = get_tile_size(cb);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_reserve_back(cb, 1);
        noc_async_read_page(i, source, get_write_ptr(cb));
        noc_async_read_barrier();
        cb_push_back(cb, 1);
    }
    (void)tile_bytes;
}

void kernel_main() {
    constexpr auto args0 = TensorAccessorArgs<5>();
    constexpr auto args1 = TensorAccessorArgs<args0.next_compile_time_args_offset()>();
    constexpr auto args2 = TensorAccessorArgs<args1.next_compile_time_args_offset()>();
    const auto in0 = TensorAccessor(args0, get_common_arg_val<uint32_t>(0));
    const auto in1 = TensorAccessor(args1, get_common_arg_val<uint32_t>(1));
    const auto in2 = TensorAccessor(args2, get_common_arg_val<uint32_t>(2));
    read_all(tt::CBIndex::c_0, get_arg_val<uint32_t>(0), in0);
    read_all(tt::CBIndex::c_1, get_arg_val<uint32_t>(1), in1);
    read_all(tt::CBIndex::c_2, get_arg_val<uint32_t>(2), in2);
}
