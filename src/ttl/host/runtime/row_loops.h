// Included by tile_math.cpp inside the namespace of an instruction set, as tile_loops.h is: tiles of
// tensors that keep their elements in rows.

// By registers of the instruction set, which compilers do not choose for 32 bytes.
template <uint32_t bytes>
static inline void copy_piece(uint8_t* to, const uint8_t* from) {
  if constexpr (bytes % sizeof(Values)) {
    memcpy(to, from, bytes);
  } else {
    for (uint32_t i = 0; i < bytes; i += sizeof(Values))
      *reinterpret_cast<Values*>(to + i) = *reinterpret_cast<const Values*>(from + i);
  }
}

// All sizes are known to the compiler. Rows lie far apart, so their way to the processor begins some
// rows ahead; more would be too many at a time.
template <uint32_t piece, bool to_rows>
static inline __attribute__((always_inline)) void move_so_many_tiles(
    uint8_t* rows, size_t row_bytes, uint8_t* page, uint32_t count) {
  constexpr uint32_t tile_row_bytes = 2 * piece, face_bytes = 16 * piece, line_bytes = 64;
  const size_t ahead = (count < 4 ? 8 : 4) * row_bytes;
  for (uint32_t half = 0; half < 2; ++half, page += 2 * face_bytes) {
    for (uint32_t row = 0; row < 16; ++row, rows += row_bytes) {
      uint8_t *left = page + row * piece, *in_rows = rows;
      for (uint32_t i = 0; i < count; ++i, left += 4 * face_bytes, in_rows += tile_row_bytes) {
        for (uint32_t line = 0; line < tile_row_bytes; line += line_bytes)
          __builtin_prefetch(in_rows + ahead + line);
        uint8_t* right = left + face_bytes;
        copy_piece<piece>(to_rows ? in_rows : left, to_rows ? left : in_rows);
        copy_piece<piece>(to_rows ? in_rows + piece : right, to_rows ? right : in_rows + piece);
      }
    }
  }
}

// The numbers of tiles that most blocks have beside each other.
template <uint32_t piece, bool to_rows>
static void move_tiles(uint8_t* rows, size_t row_bytes, uint8_t* page, uint32_t count) {
  switch (count) {
    case 1: return move_so_many_tiles<piece, to_rows>(rows, row_bytes, page, 1);
    case 2: return move_so_many_tiles<piece, to_rows>(rows, row_bytes, page, 2);
    case 4: return move_so_many_tiles<piece, to_rows>(rows, row_bytes, page, 4);
    default: move_so_many_tiles<piece, to_rows>(rows, row_bytes, page, count);
  }
}

static void rows_to_pages(const uint8_t* rows, size_t row_bytes, uint8_t* pages, uint32_t count,
                          uint32_t element_bytes) {
  const auto move = element_bytes == 2 ? move_tiles<32, false> : move_tiles<64, false>;
  move(const_cast<uint8_t*>(rows), row_bytes, pages, count);
}

static void page_to_rows(const uint8_t* page, uint8_t* rows, size_t row_bytes,
                         uint32_t element_bytes) {
  const auto move = element_bytes == 2 ? move_tiles<32, true> : move_tiles<64, true>;
  move(rows, row_bytes, const_cast<uint8_t*>(page), 1);
}
