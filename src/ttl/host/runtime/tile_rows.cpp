#include "tile_rows.h"

#include <cstring>

namespace ttl_host {

namespace {

// Calls `copy(in_rows, in_page, bytes)` for each row of a face: there a page is in one piece.
template <typename Copy>
void for_each_face_row(const TileOfRows& tile, uint32_t bytes, Copy copy) {
  const uint32_t piece = 16 * tile.element_bytes;
  uint32_t done = 0;
  while (done < bytes) {
    const uint32_t position = tile.offset + done;
    const uint32_t number = position / piece, within = position % piece;
    const uint32_t face = number / 16, row = number % 16 + face / 2 * 16;
    const uint32_t left = piece - within < bytes - done ? piece - within : bytes - done;
    copy(size_t{row} * tile.row_bytes + face % 2 * piece + within, done, left);
    done += left;
  }
}

// Nearly always what is moved.
bool is_whole(const TileOfRows& tile, uint32_t bytes) {
  return bytes == 1024 * tile.element_bytes && (tile.element_bytes == 2 || tile.element_bytes == 4);
}

bool is_whole_read(const Transfer& transfer) {
  return transfer.kind == TransferKind::Read && transfer.tile.row_bytes && !transfer.is_elsewhere &&
         is_whole(transfer.tile, transfer.bytes);
}

bool follows(const Transfer& next, const Transfer& before) {
  return is_whole_read(next) && next.is_due &&
         next.tile.row_bytes == before.tile.row_bytes && next.bytes == before.bytes &&
         next.source == before.source + 32 * before.tile.element_bytes &&
         next.destination == before.destination + before.bytes;
}

uint8_t* rows_of_page(const TtlTensor& tensor, uint64_t page) {
  const uint32_t tile_row_bytes = 32 * tensor.element_bytes;
  const uint64_t columns = tensor.row_bytes / tile_row_bytes;
  return tensor.bytes + page / columns * 32 * tensor.row_bytes + page % columns * tile_row_bytes;
}

}  // namespace

void move_to_page(const TileOfRows& tile, uint32_t bytes, const uint8_t* rows, uint8_t* page) {
  if (is_whole(tile, bytes))
    return tile_math().rows_to_pages(rows, tile.row_bytes, page, 1, tile.element_bytes);
  for_each_face_row(tile, bytes, [&](size_t in_rows, uint32_t at, uint32_t n) {
    memcpy(page + at, rows + in_rows, n);
  });
}

void move_to_rows(const TileOfRows& tile, uint32_t bytes, const uint8_t* page, uint8_t* rows) {
  if (is_whole(tile, bytes))
    return tile_math().page_to_rows(page, rows, tile.row_bytes, tile.element_bytes);
  for_each_face_row(tile, bytes, [&](size_t in_rows, uint32_t at, uint32_t n) {
    memcpy(rows + in_rows, page + at, n);
  });
}

uint32_t neighbours(const Transfer* transfers, uint32_t count) {
  if (!count || !is_whole_read(transfers[0])) return 0;
  uint32_t found = 1;
  while (found < count && follows(transfers[found], transfers[found - 1])) ++found;
  return found;
}

void read_neighbours(const Transfer& first, uint32_t count) {
  tile_math().rows_to_pages(first.source, first.tile.row_bytes, first.destination, count,
                            first.tile.element_bytes);
}

void expect_write(const Transfer& transfer) {
  const TileOfRows& tile = transfer.tile;
  if (transfer.kind != TransferKind::Write || !tile.row_bytes || !is_whole(tile, transfer.bytes)) return;
  const uint8_t* row = transfer.destination;
  for (uint32_t i = 0; i < 32; ++i, row += tile.row_bytes) {
    __builtin_prefetch(row, 1);
    if (tile.element_bytes == 4) __builtin_prefetch(row + 64, 1);
  }
}

void load_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1) {
  if (!tensor.row_bytes)
    memcpy(in_l1, tensor.bytes + page * tensor.page_bytes, tensor.page_bytes);
  else
    move_to_page({tensor.row_bytes, tensor.element_bytes, 0}, tensor.page_bytes,
                 rows_of_page(tensor, page), in_l1);
}

void store_page(const TtlTensor& tensor, uint64_t page, const uint8_t* in_l1) {
  if (!tensor.row_bytes)
    memcpy(tensor.bytes + page * tensor.page_bytes, in_l1, tensor.page_bytes);
  else
    move_to_rows({tensor.row_bytes, tensor.element_bytes, 0}, tensor.page_bytes, in_l1,
                 rows_of_page(tensor, page));
}

}  // namespace ttl_host
