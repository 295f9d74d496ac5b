#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto a_args = TensorAccessorArgs<4>();
  auto a_accessor = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  auto b_accessor = TensorAccessor(b_args, get_common_arg_val<uint32_t>(1));
  constexpr auto bias_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  auto bias_accessor = TensorAccessor(bias_args, get_common_arg_val<uint32_t>(2));
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  int32_t a_dfb_start = get_write_ptr(a_dfb);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  int32_t b_dfb_start = get_write_ptr(b_dfb);
  constexpr uint32_t bias_dfb = get_compile_time_arg_val(2);
  int32_t node_column = get_absolute_logical_x();  // line 39
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {  // line 40
    int32_t row = (node_row * 2 + i) * 2;  // line 41
    for (int32_t j = 0; j < 2; j += 1) {  // line 42
      int32_t column = (node_column * 2 + j) * 2;  // line 43
      int32_t id = 1;  // line 44
      for (int32_t k = 0; k < 4; k += 1) {
        int32_t other = 3 - id;
        bool is_later = k != 0;
        bool v = cb_pages_reservable_at_back(a_dfb, 8);
        bool v_2 = cb_pages_reservable_at_back(b_dfb, 8);
        bool has_room = v && v_2;
        bool is_second = is_later && has_room;
        if (is_later && (!has_room)) {
          noc_async_read_barrier_with_trid(other);  // line 49
          cb_push_back(a_dfb, 4);  // line 46
          cb_push_back(b_dfb, 4);
        }
        noc_async_read_set_trid(id);  // line 44
        int32_t step = k * 2;  // line 45
        int32_t v_3 = is_second ? 8 : 4;  // line 46
        cb_reserve_back(a_dfb, v_3);
        cb_reserve_back(b_dfb, v_3);
        int32_t a_dfb_address = get_write_ptr(a_dfb);  // line 47
        int32_t a_dfb_address_after = a_dfb_address + 8192;
        int32_t a_dfb_address_own = is_second ? (a_dfb_address_after == a_dfb_start + 16384 ? a_dfb_start : a_dfb_address_after) : a_dfb_address;
        int32_t first_page = row * 8 + step;
        for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
          for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
            int32_t page = first_page + (tile_row * 8 + tile_column);
            int32_t address = a_dfb_address_own + (tile_row * 4096 + tile_column * 2048);
            noc_async_read_page(page, a_accessor, address);
          }
        }
        int32_t b_dfb_address = get_write_ptr(b_dfb);  // line 48
        int32_t b_dfb_address_after = b_dfb_address + 8192;
        int32_t b_dfb_address_own = is_second ? (b_dfb_address_after == b_dfb_start + 16384 ? b_dfb_start : b_dfb_address_after) : b_dfb_address;
        int32_t first_page_2 = step * 8 + column;
        for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
          for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
            int32_t page = first_page_2 + (tile_row * 8 + tile_column);
            int32_t address = b_dfb_address_own + (tile_row * 4096 + tile_column * 2048);
            noc_async_read_page(page, b_accessor, address);
          }
        }
        if (is_second) {
          noc_async_read_barrier_with_trid(other);  // line 49
          cb_push_back(a_dfb, 4);  // line 46
          cb_push_back(b_dfb, 4);
        }
        id = other;  // line 48
      }
      int32_t last = 3 - id;  // line 44
      noc_async_read_barrier_with_trid(last);  // line 49
      cb_push_back(a_dfb, 4);  // line 46
      cb_push_back(b_dfb, 4);
      noc_async_read_set_trid(0);  // line 44
      cb_reserve_back(bias_dfb, 4);  // line 51
      int32_t bias_dfb_address = get_write_ptr(bias_dfb);  // line 52
      int32_t first_page = row * 8 + column;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = first_page + (tile_row * 8 + tile_column);
          int32_t address = bias_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_read_page(page, bias_accessor, address);
        }
      }
      noc_async_read_barrier();  // line 53
      cb_push_back(bias_dfb, 4);  // line 51
    }
  }
  return;
}
