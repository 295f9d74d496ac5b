#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t sum_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t part_dfb = get_compile_time_arg_val(2);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  compute_kernel_hw_startup(a_dfb, a_dfb, sum_dfb);  // line 30
  int32_t node = get_absolute_logical_x();  // line 28
  fill_tile_init();  // line 30
  add_reuse_dest_init<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(a_dfb);  // line 33
  for (int32_t i = 0; i < 4; i += 1) {  // line 29
    cb_wait_front(a_dfb, 4);  // line 32
    tile_regs_acquire();  // line 33
    for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 30
      fill_tile(tile, 0.0f);
    }
    for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 33
      add_reuse_dest_tiles<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(a_dfb, tile, tile);
    }
    cb_pop_front(a_dfb, 4);  // line 32
    cb_reserve_back(sum_dfb, 4);  // line 34
    tile_regs_commit();  // line 33
    tile_regs_wait();
    pack_block(0, sum_dfb, 4);  // line 35
    tile_regs_release();  // line 33
    cb_push_back(sum_dfb, 4);  // line 34
  }
  if (node == 0) {  // line 36
    for (int32_t i = 0; i < 4; i += 1) {  // line 37
      tile_regs_acquire();  // line 39
      for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 38
        fill_tile(tile, 0.0f);
      }
      for (int32_t i_2 = 0; i_2 < 4; i_2 += 1) {  // line 39
        cb_wait_front(part_dfb, 4);  // line 40
        for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 41
          add_reuse_dest_tiles<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(part_dfb, tile, tile);
        }
        cb_pop_front(part_dfb, 4);  // line 40
      }
      cb_reserve_back(y_dfb, 4);  // line 42
      tile_regs_commit();  // line 39
      tile_regs_wait();
      pack_block(0, y_dfb, 4);  // line 43
      tile_regs_release();  // line 39
      cb_push_back(y_dfb, 4);  // line 42
    }
  }
  return;
}
