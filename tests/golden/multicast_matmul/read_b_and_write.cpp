#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto a_args = TensorAccessorArgs<3>();
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  auto b_accessor = TensorAccessor(b_args, get_common_arg_val<uint32_t>(0));
  constexpr auto y_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(1));
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  int32_t b_net_src[1] = {};
  int32_t node_x = get_absolute_logical_x();
  int32_t node_y = get_absolute_logical_y();
  static constexpr uint8_t b_net_src_x[2] = {0, 1};
  int32_t b_net_src_count = 0;
  for (int32_t pipe = 0; pipe < 2; pipe += 1) {
    int32_t src_x = b_net_src_x[pipe];
    bool is_src = node_x == src_x && node_y == 0;
    if (is_src) {
      b_net_src[b_net_src_count] = pipe;
    }
    int32_t v = b_net_src_count + (is_src ? 1 : 0);
    b_net_src_count = v;
  }
  int32_t b_net_sent[1] = {};
  int32_t b_net_dst[1] = {};
  int32_t b_net_dst_count = 0;
  for (int32_t pipe = 0; pipe < 2; pipe += 1) {
    int32_t dst_x = b_net_src_x[pipe];
    bool is_dst = node_x == dst_x && node_y == 1;
    if (is_dst) {
      b_net_dst[b_net_dst_count] = pipe;
    }
    int32_t v = b_net_dst_count + (is_dst ? 1 : 0);
    b_net_dst_count = v;
  }
  int32_t b_net_posted[1] = {};
  constexpr uint32_t y_dfb = get_compile_time_arg_val(2);
  int32_t node_column = get_absolute_logical_x();  // line 64
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {  // line 65
    int32_t row = (node_row * 2 + i) * 2;  // line 66
    for (int32_t j = 0; j < 2; j += 1) {  // line 67
      int32_t column = (node_column * 2 + j) * 2;  // line 68
      for (int32_t step = 0; step < 8; step += 2) {  // line 69
        cb_reserve_back(b_dfb, 4);  // line 70
        if (b_net_src_count > 0) {  // line 82
          int32_t b_net_pipe = b_net_src[0];
          int32_t dst_x = b_net_src_x[b_net_pipe];
          int32_t b_dfb_address = get_write_ptr(b_dfb);  // line 73
          int32_t first_page = step * 8 + column;
          for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
            for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
              int32_t page = first_page + (tile_row * 8 + tile_column);
              int32_t address = b_dfb_address + (tile_row * 4096 + tile_column * 2048);
              noc_async_read_page(page, b_accessor, address);
            }
          }
          noc_async_read_barrier();  // line 74
          int32_t b_dfb_address_2 = get_write_ptr(b_dfb);  // line 75
          int32_t number = b_net_sent[0];
          int32_t v = number + 1;
          b_net_sent[0] = v;
          int32_t ready_address = get_semaphore(1);
          volatile tt_l1_ptr uint32_t* ready_address_word = l1_word(ready_address);
          noc_semaphore_wait_min(ready_address_word, v);
          uint64_t block_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[dst_x], worker_logical_row_to_virtual_row[1], b_dfb_address_2);
          noc_async_write(b_dfb_address_2, block_on_receiver, 8192);
          noc_async_write_barrier();
          int32_t done_address = get_semaphore(1);
          uint64_t done_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[dst_x], worker_logical_row_to_virtual_row[1], done_address);
          noc_semaphore_inc(done_on_receiver, 1);
        }
        if (b_net_dst_count > 0) {  // line 83
          int32_t b_net_pipe = b_net_dst[0];
          int32_t src_x = b_net_src_x[b_net_pipe];
          int32_t b_dfb_address = get_write_ptr(b_dfb);  // line 79
          int32_t number = b_net_posted[0];
          int32_t post = number + 1;
          b_net_posted[0] = post;
          int32_t ready_address = get_semaphore(1);
          uint64_t ready_on_source = get_noc_addr(worker_logical_col_to_virtual_col[src_x], worker_logical_row_to_virtual_row[0], ready_address);
          noc_semaphore_inc(ready_on_source, 1);
          int32_t b_net_pipe_2 = b_net_dst[0];  // line 80
          int32_t done_address = get_semaphore(1);
          volatile tt_l1_ptr uint32_t* done_address_word = l1_word(done_address);
          noc_semaphore_wait_min(done_address_word, post);
        }
        cb_push_back(b_dfb, 4);  // line 84
      }
      cb_wait_front(y_dfb, 4);  // line 85
      int32_t y_dfb_address = get_read_ptr(y_dfb);  // line 86
      int32_t first_page = row * 8 + column;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = first_page + (tile_row * 8 + tile_column);
          int32_t address = y_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_write_page(page, y_accessor, address);
        }
      }
      noc_async_write_barrier();  // line 87
      cb_pop_front(y_dfb, 4);  // line 88
    }
  }
  noc_async_atomic_barrier();
  return;
}
