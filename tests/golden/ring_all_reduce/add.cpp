#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(1);
  compute_kernel_hw_startup(x_dfb, x_dfb, y_dfb);  // line 34
  fill_tile_init();
  add_reuse_dest_init<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(x_dfb);  // line 37
  for (int32_t i = 0; i < 8; i += 2) {  // line 33
    tile_regs_acquire();  // line 35
    for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 34
      fill_tile(tile, 0.0f);
    }
    for (int32_t i_2 = 0; i_2 < 4; i_2 += 1) {  // line 35
      cb_wait_front(x_dfb, 4);  // line 36
      for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 37
        add_reuse_dest_tiles<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(x_dfb, tile, tile);
      }
      cb_pop_front(x_dfb, 4);  // line 36
    }
    cb_reserve_back(y_dfb, 4);  // line 38
    tile_regs_commit();  // line 35
    tile_regs_wait();
    pack_block(0, y_dfb, 4);  // line 39
    tile_regs_release();  // line 35
    cb_push_back(y_dfb, 4);  // line 38
  }
  return;
}
