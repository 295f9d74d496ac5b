#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto a_args = TensorAccessorArgs<3>();
  auto a_accessor = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  int32_t a_net_src[1] = {};
  int32_t node_x = get_absolute_logical_x();
  int32_t node_y = get_absolute_logical_y();
  static constexpr uint8_t a_net_src_y[2] = {0, 1};
  int32_t a_net_src_count = 0;
  for (int32_t pipe = 0; pipe < 2; pipe += 1) {
    int32_t src_y = a_net_src_y[pipe];
    bool is_src = node_x == 0 && node_y == src_y;
    if (is_src) {
      a_net_src[a_net_src_count] = pipe;
    }
    int32_t v = a_net_src_count + (is_src ? 1 : 0);
    a_net_src_count = v;
  }
  int32_t a_net_sent[1] = {};
  int32_t a_net_dst[1] = {};
  int32_t a_net_dst_count = 0;
  for (int32_t pipe = 0; pipe < 2; pipe += 1) {
    int32_t dst_y = a_net_src_y[pipe];
    bool is_dst = node_x == 1 && node_y == dst_y;
    if (is_dst) {
      a_net_dst[a_net_dst_count] = pipe;
    }
    int32_t v = a_net_dst_count + (is_dst ? 1 : 0);
    a_net_dst_count = v;
  }
  int32_t a_net_posted[1] = {};
  int32_t node_row = get_absolute_logical_y();  // line 41
  for (int32_t i = 0; i < 2; i += 1) {  // line 42
    int32_t row = (node_row * 2 + i) * 2;  // line 43
    for (int32_t i_2 = 0; i_2 < 2; i_2 += 1) {  // line 44
      for (int32_t step = 0; step < 8; step += 2) {  // line 45
        cb_reserve_back(a_dfb, 4);  // line 46
        if (a_net_src_count > 0) {  // line 58
          int32_t a_net_pipe = a_net_src[0];
          int32_t dst_y = a_net_src_y[a_net_pipe];
          int32_t a_dfb_address = get_write_ptr(a_dfb);  // line 49
          int32_t first_page = row * 8 + step;
          for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
            for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
              int32_t page = first_page + (tile_row * 8 + tile_column);
              int32_t address = a_dfb_address + (tile_row * 4096 + tile_column * 2048);
              noc_async_read_page(page, a_accessor, address);
            }
          }
          noc_async_read_barrier();  // line 50
          int32_t a_dfb_address_2 = get_write_ptr(a_dfb);  // line 51
          int32_t number = a_net_sent[0];
          int32_t v = number + 1;
          a_net_sent[0] = v;
          int32_t ready_address = get_semaphore(0);
          volatile tt_l1_ptr uint32_t* ready_address_word = l1_word(ready_address);
          noc_semaphore_wait_min(ready_address_word, v);
          uint64_t block_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[1], worker_logical_row_to_virtual_row[dst_y], a_dfb_address_2);
          noc_async_write(a_dfb_address_2, block_on_receiver, 8192);
          noc_async_write_barrier();
          int32_t done_address = get_semaphore(0);
          uint64_t done_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[1], worker_logical_row_to_virtual_row[dst_y], done_address);
          noc_semaphore_inc(done_on_receiver, 1);
        }
        if (a_net_dst_count > 0) {  // line 59
          int32_t a_net_pipe = a_net_dst[0];
          int32_t src_y = a_net_src_y[a_net_pipe];
          int32_t a_dfb_address = get_write_ptr(a_dfb);  // line 55
          int32_t number = a_net_posted[0];
          int32_t post = number + 1;
          a_net_posted[0] = post;
          int32_t ready_address = get_semaphore(0);
          uint64_t ready_on_source = get_noc_addr(worker_logical_col_to_virtual_col[0], worker_logical_row_to_virtual_row[src_y], ready_address);
          noc_semaphore_inc(ready_on_source, 1);
          int32_t a_net_pipe_2 = a_net_dst[0];  // line 56
          int32_t done_address = get_semaphore(0);
          volatile tt_l1_ptr uint32_t* done_address_word = l1_word(done_address);
          noc_semaphore_wait_min(done_address_word, post);
        }
        cb_push_back(a_dfb, 4);  // line 60
      }
    }
  }
  noc_async_atomic_barrier();
  return;
}
