#include <cstdint>
#include "api/compute/bcast.h"
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reduce.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t value_kept = get_compile_time_arg_val(2);
  constexpr uint32_t largest_kept = get_compile_time_arg_val(3);
  constexpr uint32_t powers_kept = get_compile_time_arg_val(4);
  constexpr uint32_t total_kept = get_compile_time_arg_val(5);
  compute_kernel_hw_startup(x_dfb, value_kept, value_kept);  // line 25
  cb_reserve_back(value_kept, 1);  // line 23
  tile_regs_acquire();  // line 25
  fill_tile_init();
  fill_tile(0, 1.0f);
  tile_regs_commit();
  tile_regs_wait();
  pack_block(0, value_kept, 1);
  tile_regs_release();
  cb_push_back(value_kept, 1);  // line 23
  cb_wait_front(value_kept, 1);
  for (int32_t i = 0; i < 2; i += 1) {
    cb_wait_front(x_dfb, 8);  // line 24
    cb_reserve_back(y_dfb, 8);
    cb_reserve_back(largest_kept, 1);
    tile_regs_acquire();  // line 25
    reconfig_data_format_srca(x_dfb);
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(x_dfb, value_kept, largest_kept);
    for (uint32_t step = 0; step < 8; step += 1) {
      reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(x_dfb, value_kept, step, 0, 0);
    }
    tile_regs_commit();
    tile_regs_wait();
    pack_reconfig_data_format(largest_kept);
    pack_block(0, largest_kept, 1);
    reduce_uninit();
    tile_regs_release();
    cb_push_back(largest_kept, 1);  // line 24
    cb_wait_front(largest_kept, 1);
    cb_reserve_back(powers_kept, 8);
    sub_bcast_cols_init(x_dfb, largest_kept);  // line 26
    exp_tile_init();  // line 27
    for (uint32_t subblock_column = 0; subblock_column < 2; subblock_column += 1) {
      int32_t first_tile = subblock_column * 4;
      tile_regs_acquire();
      for (uint32_t tile_column = 0; tile_column < 4; tile_column += 1) {  // line 26
        int32_t tile_of_block = first_tile + tile_column;
        sub_tiles_bcast_cols(x_dfb, largest_kept, tile_of_block, 0, tile_column);
      }
      for (uint32_t tile = 0; tile < 4; tile += 1) {  // line 27
        exp_tile(tile);
      }
      tile_regs_commit();
      tile_regs_wait();
      pack_block(0, powers_kept, 4);
      tile_regs_release();
    }
    cb_push_back(powers_kept, 8);  // line 24
    cb_wait_front(powers_kept, 8);
    cb_reserve_back(total_kept, 1);
    tile_regs_acquire();  // line 28
    reconfig_data_format_srca(value_kept);
    reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers_kept, value_kept, total_kept);
    for (uint32_t step = 0; step < 8; step += 1) {
      reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers_kept, value_kept, step, 0, 0);
    }
    tile_regs_commit();
    tile_regs_wait();
    pack_block(0, total_kept, 1);
    reduce_uninit();
    tile_regs_release();
    cb_push_back(total_kept, 1);  // line 24
    cb_wait_front(total_kept, 1);
    div_binary_tile_init();  // line 29
    pack_reconfig_data_format(y_dfb);
    for (uint32_t subblock_column = 0; subblock_column < 4; subblock_column += 1) {
      int32_t first_tile = subblock_column * 2;
      tile_regs_acquire();
      copy_init(powers_kept);  // line 27
      for (uint32_t tile = 0; tile < 2; tile += 1) {
        int32_t tile_of_block = first_tile + tile;
        copy_tile(powers_kept, tile_of_block, tile);
      }
      unary_bcast_init<BroadcastType::COL>(total_kept);  // line 29
      for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
        int32_t dst = tile_column + 2;
        unary_bcast<BroadcastType::COL>(total_kept, 0, dst);
      }
      for (uint32_t tile = 0; tile < 2; tile += 1) {
        int32_t dst = tile + 2;
        div_binary_tile(tile, dst, tile);
      }
      tile_regs_commit();
      tile_regs_wait();
      pack_block(0, y_dfb, 2);
      tile_regs_release();
    }
    cb_pop_front(largest_kept, 1);  // line 24
    cb_pop_front(powers_kept, 8);
    cb_pop_front(total_kept, 1);
    cb_pop_front(x_dfb, 8);
    cb_push_back(y_dfb, 8);
  }
  cb_pop_front(value_kept, 1);
  return;
}
