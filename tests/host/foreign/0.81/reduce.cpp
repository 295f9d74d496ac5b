// For each row of Wt tiles: the sum of every row in column 0, then the maximum of every column.
#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"
#include "api/compute/reduce.h"
#include "api/compute/reg_api.h"

void kernel_main() {
    const uint32_t Ht = get_arg_val<uint32_t>(1);
    const uint32_t Wt = get_arg_val<uint32_t>(2);
    constexpr auto cb_in = tt::CBIndex::c_0;
    constexpr auto cb_scaler = tt::CBIndex::c_1;
    constexpr auto cb_out = tt::CBIndex::c_16;
    compute_kernel_hw_startup(cb_in, cb_scaler, cb_out);
    cb_wait_front(cb_scaler, 1);
    for (uint32_t h = 0; h < Ht; ++h) {
        cb_wait_front(cb_in, Wt);
        cb_reserve_back(cb_out, 1);
        reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(cb_in, cb_scaler, cb_out);
        tile_regs_acquire();
        for (uint32_t w = 0; w < Wt; ++w) {
            reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(cb_in, cb_scaler, w, 0, 0);
        }
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, cb_out);
        tile_regs_release();
        reduce_uninit();
        cb_push_back(cb_out, 1);

        cb_reserve_back(cb_out, 1);
        reduce_init<PoolType::MAX, ReduceDim::REDUCE_COL>(cb_in, cb_scaler, cb_out);
        tile_regs_acquire();
        for (uint32_t w = 0; w < Wt; ++w) {
            reduce_tile<PoolType::MAX, ReduceDim::REDUCE_COL>(cb_in, cb_scaler, w, 0, 0);
        }
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, cb_out);
        tile_regs_release();
        reduce_uninit();
        cb_push_back(cb_out, 1);
        cb_pop_front(cb_in, Wt);
    }
    cb_pop_front(cb_scaler, 1);
}
