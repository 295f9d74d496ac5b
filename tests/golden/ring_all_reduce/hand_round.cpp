#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  const auto read_l1_word = [](uint32_t address) -> int32_t { return *reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto x_args = TensorAccessorArgs<2>();
  auto x_accessor = TensorAccessor(x_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  int32_t x_dfb_start = get_write_ptr(x_dfb);
  int32_t ring_dst[1] = {};
  int32_t node_x = get_absolute_logical_x();
  int32_t node_y = get_absolute_logical_y();
  static constexpr uint8_t ring_dst_x[4] = {1, 2, 3, 0};
  int32_t ring_dst_count = 0;
  for (int32_t pipe = 0; pipe < 4; pipe += 1) {
    int32_t dst_x = ring_dst_x[pipe];
    bool is_dst = node_x == dst_x && node_y == 0;
    if (is_dst) {
      ring_dst[ring_dst_count] = pipe;
    }
    int32_t v = ring_dst_count + (is_dst ? 1 : 0);
    ring_dst_count = v;
  }
  int32_t ring_posted[1] = {};
  static constexpr uint8_t ring_src_x[4] = {0, 1, 2, 3};
  int32_t scratch = get_common_arg_val<uint32_t>(1);
  int32_t ring_src[1] = {};
  int32_t ring_src_count = 0;
  for (int32_t pipe = 0; pipe < 4; pipe += 1) {
    int32_t src_x = ring_src_x[pipe];
    bool is_src = node_x == src_x && node_y == 0;
    if (is_src) {
      ring_src[ring_src_count] = pipe;
    }
    int32_t v = ring_src_count + (is_src ? 1 : 0);
    ring_src_count = v;
  }
  int32_t ring_sent[1] = {};
  int32_t v = get_absolute_logical_x();  // line 43
  int32_t v_2 = get_absolute_logical_y();
  int32_t first = (v * 1 + v_2) * 2;
  int32_t v_3 = first + 2;  // line 44
  for (int32_t row = first; row < v_3; row += 2) {
    for (int32_t column = 0; column < 8; column += 2) {  // line 45
      cb_reserve_back(x_dfb, 4);  // line 46
      int32_t x_dfb_address = get_write_ptr(x_dfb);  // line 47
      int32_t first_page = row * 8 + column;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = first_page + (tile_row * 8 + tile_column);
          int32_t address = x_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_read_page(page, x_accessor, address);
        }
      }
      noc_async_read_barrier();  // line 48
      for (int32_t i = 0; i < 3; i += 1) {  // line 49
        cb_reserve_back(x_dfb, 8);  // line 50
        int32_t both_ring[1] = {};  // line 51
        if (ring_dst_count > 0) {  // line 52
          int32_t ring_pipe = ring_dst[0];
          int32_t src_x = ring_src_x[ring_pipe];
          int32_t x_dfb_address_2 = get_write_ptr(x_dfb);
          int32_t x_dfb_address_3 = x_dfb_start + ((x_dfb_address_2 - x_dfb_start) + 8192) % 24576;
          int32_t number = ring_posted[0];
          int32_t post = number + 1;
          ring_posted[0] = post;
          int32_t entry = scratch + (32 + (number % 3) * 4);
          uint64_t entry_on_source = get_noc_addr(worker_logical_col_to_virtual_col[src_x], worker_logical_row_to_virtual_row[0], entry);
          int32_t block = x_dfb_address_3 - scratch;
          noc_inline_dw_write<InlineWriteDst::L1>(entry_on_source, block);
          noc_async_write_barrier();
          int32_t ready_address = get_semaphore(0);
          uint64_t ready_on_source = get_noc_addr(worker_logical_col_to_virtual_col[src_x], worker_logical_row_to_virtual_row[0], ready_address);
          noc_semaphore_inc(ready_on_source, 1);
          both_ring[0] = post;
        }
        if (ring_src_count > 0) {  // line 53
          int32_t ring_pipe = ring_src[0];
          int32_t dst_x = ring_dst_x[ring_pipe];
          int32_t x_dfb_address_2 = get_write_ptr(x_dfb);
          int32_t number = ring_sent[0];
          int32_t v_4 = number + 1;
          ring_sent[0] = v_4;
          int32_t ready_address = get_semaphore(0);
          volatile tt_l1_ptr uint32_t* ready_address_word = l1_word(ready_address);
          noc_semaphore_wait_min(ready_address_word, v_4);
          int32_t entry = scratch + (32 + (number % 3) * 4);
          int32_t block = read_l1_word(entry);
          int32_t destination = scratch + block;
          uint64_t block_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[dst_x], worker_logical_row_to_virtual_row[0], destination);
          noc_async_write(x_dfb_address_2, block_on_receiver, 8192);
          noc_async_write_barrier();
          int32_t done_address = get_semaphore(1);
          uint64_t done_on_receiver = get_noc_addr(worker_logical_col_to_virtual_col[dst_x], worker_logical_row_to_virtual_row[0], done_address);
          noc_semaphore_inc(done_on_receiver, 1);
        }
        for (int32_t place = 0; place < ring_dst_count; place += 1) {  // line 54
          int32_t post = both_ring[place];
          int32_t ring_pipe = ring_dst[place];
          int32_t done_address = get_semaphore(1);
          volatile tt_l1_ptr uint32_t* done_address_word = l1_word(done_address);
          noc_semaphore_wait_min(done_address_word, post);
        }
        cb_push_back(x_dfb, 4);  // line 55
      }
      cb_push_back(x_dfb, 4);  // line 57
    }
  }
  noc_async_write_barrier();
  noc_async_atomic_barrier();
  return;
}
