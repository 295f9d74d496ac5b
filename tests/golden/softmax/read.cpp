#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto x_args = TensorAccessorArgs<6>();
  auto x_accessor = TensorAccessor(x_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  int32_t x_dfb_start = get_write_ptr(x_dfb);
  int32_t v = get_absolute_logical_x();  // line 33
  int32_t v_2 = get_absolute_logical_y();
  int32_t first = (v * 2 + v_2) * 2;
  int32_t v_3 = first + 2;  // line 34
  int32_t id = 1;
  for (int32_t row = first; row < v_3; row += 1) {
    int32_t other = 3 - id;
    bool is_later = row != first;
    bool has_room = cb_pages_reservable_at_back(x_dfb, 16);
    bool is_second = is_later && has_room;
    if (is_later && (!has_room)) {
      noc_async_read_barrier_with_trid(other);  // line 37
      cb_push_back(x_dfb, 8);  // line 35
    }
    noc_async_read_set_trid(id);  // line 34
    int32_t v_4 = is_second ? 16 : 8;  // line 35
    cb_reserve_back(x_dfb, v_4);
    int32_t x_dfb_address = get_write_ptr(x_dfb);  // line 36
    int32_t x_dfb_address_after = x_dfb_address + 16384;
    int32_t x_dfb_address_own = is_second ? (x_dfb_address_after == x_dfb_start + 32768 ? x_dfb_start : x_dfb_address_after) : x_dfb_address;
    int32_t v_5 = row * 8;
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v_5 + tile_column;
      int32_t address = x_dfb_address_own + tile_column * 2048;
      noc_async_read_page(page, x_accessor, address);
    }
    if (is_second) {
      noc_async_read_barrier_with_trid(other);  // line 37
      cb_push_back(x_dfb, 8);  // line 35
    }
    id = other;  // line 36
  }
  int32_t last = 3 - id;  // line 34
  if (first < v_3) {
    noc_async_read_barrier_with_trid(last);  // line 37
    cb_push_back(x_dfb, 8);  // line 35
  }
  noc_async_read_set_trid(0);  // line 34
  return;
}
