// out = the sum of all tiles, added up by the packer in c_24, which holds float32.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/cb_api.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    constexpr auto cb_in = tt::CBIndex::c_0;
    constexpr auto cb_sum = tt::CBIndex::c_24;
    constexpr auto cb_out = tt::CBIndex::c_16;
    init_sfpu(cb_in, cb_sum);
    copy_tile_to_dst_init_short(cb_in);
    cb_reserve_back(cb_sum, 1);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_wait_front(cb_in, 1);
        tile_regs_acquire();
        copy_tile(cb_in, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        PACK((llk_pack_reconfig_l1_acc(i == 0 ? 0 : 1)));
        pack_tile<true>(0, cb_sum, 0);
        tile_regs_release();
        cb_pop_front(cb_in, 1);
    }
    pack_reconfig_l1_acc(0);
    cb_push_back(cb_sum, 1);
    cb_wait_front(cb_sum, 1);
    cb_reserve_back(cb_out, 1);
    reconfig_data_format_srca(cb_sum);
    pack_reconfig_data_format(cb_out);
    copy_tile_to_dst_init_short(cb_sum);
    tile_regs_acquire();
    copy_tile(cb_sum, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile_block(0, cb_out, 1);
    tile_regs_release();
    cb_push_back(cb_out, 1);
    cb_pop_front(cb_sum, 1);
}
