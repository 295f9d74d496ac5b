// api/debug/dprint.h: formats and arguments go to the launcher, which makes the text of them.
#pragma once

#include <cstdint>

// hostdevcommon/dprint_common.h
struct SliceRange {
  uint8_t h0, h1, hs, w0, w1, ws;
};

// internal/circular_buffer_interface.h. Here both ends are known to everybody; the pointer of the
// packer counts the pages up to the end of what is reserved.
struct LocalCBInterface {
  uint32_t fifo_size;
  uint32_t fifo_limit;
  uint32_t fifo_page_size;
  uint32_t fifo_num_pages;
  uint32_t fifo_rd_ptr;
  uint32_t fifo_wr_ptr;
  uint32_t tiles_acked;
  uint32_t tiles_received;
  uint32_t fifo_wr_tile_ptr;
};

LocalCBInterface get_local_cb_interface(uint32_t cb);

#define TSLICE_RD_PTR true
#define TSLICE_WR_PTR false
#define TSLICE_INPUT_CB true
#define TSLICE_OUTPUT_CB false

// device_print.h
struct bf16_t {
  uint16_t bits;
  explicit constexpr bf16_t(uint16_t value) : bits(value) {}
};

namespace ttl_print {

enum class End : uint8_t { Read, Write, OfProcessor };

struct Slice {
  uint32_t cb, tile;
  SliceRange range;
  End end;
  bool is_tilized;  // else its elements lie one after the other
};

void begin(const char* format, int line);
void argument(bool value);
void argument(int64_t value);
void argument(uint64_t value);
void argument(double value);
void argument_text(const char* value);
void argument(const Slice& slice, End of_processor, int line);
void end();

inline void add(End, int, bool value) { argument(value); }
inline void add(End, int, double value) { argument(value); }
inline void add(End, int, float value) { argument(static_cast<double>(value)); }
inline void add(End, int, const char* value) { argument_text(value); }
inline void add(End, int, bf16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float number;
  __builtin_memcpy(&number, &bits, sizeof(number));
  argument(static_cast<double>(number));
}
inline void add(End, int, long long value) { argument(static_cast<int64_t>(value)); }
inline void add(End, int, long value) { argument(static_cast<int64_t>(value)); }
inline void add(End, int, int value) { argument(static_cast<int64_t>(value)); }
inline void add(End, int, unsigned value) { argument(static_cast<uint64_t>(value)); }
inline void add(End, int, unsigned long value) { argument(static_cast<uint64_t>(value)); }
inline void add(End, int, unsigned long long value) { argument(static_cast<uint64_t>(value)); }
inline void add(End end, int line, const Slice& value) { argument(value, end, line); }

template <typename... Arguments>
inline void print(End of_processor, int line, const char* format, const Arguments&... arguments) {
  begin(format, line);
  (add(of_processor, line, arguments), ...);
  end();
}

}  // namespace ttl_print

namespace ckernel {
// dprint_tile.h: each of the processors has one pointer.
template <int MAX_BYTES = 64>
struct TileSlice : ttl_print::Slice {
  TileSlice(uint8_t cb, int tile, const SliceRange& range, bool = true,
            bool is_tilized = true)
      : Slice{cb, static_cast<uint32_t>(tile), range, ttl_print::End::OfProcessor, is_tilized} {}
};
using TSLICE = TileSlice<64>;
}  // namespace ckernel

namespace ttl_dataflow {
// dprint_tile.h
template <int MAX_BYTES = 64>
struct TileSlice : ttl_print::Slice {
  TileSlice(uint8_t cb, int tile, const SliceRange& range, bool, bool reads = true, bool = true,
            bool is_tilized = true)
      : Slice{cb, static_cast<uint32_t>(tile), range,
              reads ? ttl_print::End::Read : ttl_print::End::Write, is_tilized} {}
};
using TSLICE = TileSlice<64>;
}  // namespace ttl_dataflow

#define DPRINT(...) ttl_print::print(ttl_print::End::Read, __LINE__, __VA_ARGS__)
#define DPRINT_UNPACK(...) DPRINT(__VA_ARGS__)
#define DPRINT_MATH(...) DPRINT(__VA_ARGS__)
#define DPRINT_PACK(...) ttl_print::print(ttl_print::End::Write, __LINE__, __VA_ARGS__)
#define DPRINT_DATA0(...) DPRINT(__VA_ARGS__)
#define DPRINT_DATA1(...) DPRINT(__VA_ARGS__)
