// out = x * column - row, by the broadcasts of the matrix unit and of the unpacker.
#include <cstdint>
#include "api/compute/bcast.h"
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    constexpr auto cb_x = tt::CBIndex::c_0;
    constexpr auto cb_column = tt::CBIndex::c_1;
    constexpr auto cb_row = tt::CBIndex::c_2;
    constexpr auto cb_out = tt::CBIndex::c_16;
    compute_kernel_hw_startup(cb_x, cb_column, cb_out);
    cb_wait_front(cb_column, 1);
    cb_wait_front(cb_row, 1);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_wait_front(cb_x, 1);
        cb_reserve_back(cb_out, 1);
        tile_regs_acquire();
        mul_bcast_cols_init(cb_x, cb_column);
        mul_tiles_bcast_cols(cb_x, cb_column, 0, 0, 0);
        unary_bcast_init<BroadcastType::ROW>(cb_row);
        unary_bcast<BroadcastType::ROW>(cb_row, 0, 1);
        sub_binary_tile_init();
        sub_binary_tile(0, 1, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, cb_out);
        tile_regs_release();
        cb_push_back(cb_out, 1);
        cb_pop_front(cb_x, 1);
    }
    cb_pop_front(cb_column, 1);
    cb_pop_front(cb_row, 1);
}
