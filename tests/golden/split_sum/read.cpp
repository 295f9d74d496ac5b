#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto a_args = TensorAccessorArgs<4>();
  auto a_accessor = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  constexpr auto partial_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  auto partial_accessor = TensorAccessor(partial_args, get_common_arg_val<uint32_t>(1));
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  int32_t a_dfb_start = get_write_ptr(a_dfb);
  constexpr uint32_t part_dfb = get_compile_time_arg_val(2);
  int32_t part_dfb_start = get_write_ptr(part_dfb);
  int32_t node = get_absolute_logical_x();  // line 47
  int32_t id = 1;  // line 48
  for (int32_t i = 0; i < 4; i += 1) {
    int32_t other = 3 - id;
    bool is_later = i != 0;
    bool has_room = cb_pages_reservable_at_back(a_dfb, 8);
    bool is_second = is_later && has_room;
    if (is_later && (!has_room)) {
      noc_async_read_barrier_with_trid(other);  // line 54
      cb_push_back(a_dfb, 4);  // line 52
    }
    noc_async_read_set_trid(id);  // line 48
    int32_t row = i * 2;  // line 49
    int32_t column = (node * 1 + 0) * 2;  // line 51
    int32_t v = is_second ? 8 : 4;  // line 52
    cb_reserve_back(a_dfb, v);
    int32_t a_dfb_address = get_write_ptr(a_dfb);  // line 53
    int32_t a_dfb_address_after = a_dfb_address + 8192;
    int32_t a_dfb_address_own = is_second ? (a_dfb_address_after == a_dfb_start + 16384 ? a_dfb_start : a_dfb_address_after) : a_dfb_address;
    int32_t first_page = row * 8 + column;
    for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
      for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
        int32_t page = first_page + (tile_row * 8 + tile_column);
        int32_t address = a_dfb_address_own + (tile_row * 4096 + tile_column * 2048);
        noc_async_read_page(page, a_accessor, address);
      }
    }
    if (is_second) {
      noc_async_read_barrier_with_trid(other);  // line 54
      cb_push_back(a_dfb, 4);  // line 52
    }
    id = other;  // line 53
  }
  int32_t last = 3 - id;  // line 48
  noc_async_read_barrier_with_trid(last);  // line 54
  cb_push_back(a_dfb, 4);  // line 52
  noc_async_read_set_trid(0);  // line 48
  if (node == 0) {  // line 55
    int32_t is_written = get_semaphore(0);  // line 56
    volatile tt_l1_ptr uint32_t* is_written_word = l1_word(is_written);
    noc_semaphore_wait_min(is_written_word, 4);
    for (int32_t i = 0; i < 4; i += 1) {  // line 57
      int32_t row = i * 2;  // line 58
      int32_t id_2 = 1;  // line 59
      for (int32_t j = 0; j < 4; j += 1) {
        int32_t other = 3 - id_2;
        bool is_later = j != 0;
        bool has_room = cb_pages_reservable_at_back(part_dfb, 8);
        bool is_second = is_later && has_room;
        if (is_later && (!has_room)) {
          noc_async_read_barrier_with_trid(other);  // line 65
          cb_push_back(part_dfb, 4);  // line 61
        }
        noc_async_read_set_trid(id_2);  // line 59
        int32_t column = j * 2;  // line 60
        int32_t v = is_second ? 8 : 4;  // line 61
        cb_reserve_back(part_dfb, v);
        int32_t part_dfb_address = get_write_ptr(part_dfb);  // line 62
        int32_t part_dfb_address_after = part_dfb_address + 8192;
        int32_t part_dfb_address_own = is_second ? (part_dfb_address_after == part_dfb_start + 16384 ? part_dfb_start : part_dfb_address_after) : part_dfb_address;
        int32_t first_page = row * 8 + column;
        for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
          for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
            int32_t page = first_page + (tile_row * 8 + tile_column);
            int32_t address = part_dfb_address_own + (tile_row * 4096 + tile_column * 2048);
            noc_async_read_page(page, partial_accessor, address);
          }
        }
        if (is_second) {
          noc_async_read_barrier_with_trid(other);  // line 65
          cb_push_back(part_dfb, 4);  // line 61
        }
        id_2 = other;  // line 62
      }
      int32_t last_2 = 3 - id_2;  // line 59
      noc_async_read_barrier_with_trid(last_2);  // line 65
      cb_push_back(part_dfb, 4);  // line 61
      noc_async_read_set_trid(0);  // line 59
    }
  }
  return;
}
