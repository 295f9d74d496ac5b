// The loops over the 1024 values of a tile that take the time of a run. Tiles are in chip order:
// four faces of 16x16, (0,0), (0,1), (1,0), (1,1), each row by row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttl_host {

// What happens to a float32 on its way into a DST register, or into a source of the matrix unit.
enum class Rounding { None, NearestEven, Truncate, Tf32, NearestAway };

struct TileMath {
  void (*unpack_bfloat16)(const uint16_t* tile, float* values);
  void (*pack_bfloat16)(const float* values, uint16_t* tile);
  void (*copy)(const float* values, float* out, Rounding rounding);
  void (*add)(const float* a, const float* b, float* out, Rounding rounding);
  void (*subtract)(const float* a, const float* b, float* out, Rounding rounding);
  void (*multiply)(const float* a, const float* b, float* out, Rounding rounding);
  // A product is +0 where a factor is 0, also where the other one is infinite; in the next loop so only
  // where it is rounded.
  void (*multiply_zero_wins)(const float* a, const float* b, float* out, Rounding rounding);
  void (*multiply_accumulate)(const float* a, const float* b, float* out, Rounding rounding);
  // The sums begin with `before`, which may be `out`. A NaN among them has any sign.
  void (*matmul)(const float* a, const float* b, const float* before, float* out,
                 Rounding rounding);
  void (*exponential)(float* values, uint32_t count, float scale, Rounding rounding);
  void (*plus_zero)(float* values);  // -0 becomes 0
  // Both unpacked; a sum that is -0 becomes 0.
  void (*add_bfloat16)(const uint16_t* a, const uint16_t* b, float* out);
  void (*subtract_bfloat16)(const uint16_t* a, const uint16_t* b, float* out);
  // Whole tiles of elements of 2 or 4 bytes that lie side by side in rows, to pages that follow each
  // other; and one tile back.
  void (*rows_to_pages)(const uint8_t* rows, size_t row_bytes, uint8_t* pages, uint32_t count,
                        uint32_t element_bytes);
  void (*page_to_rows)(const uint8_t* page, uint8_t* rows, size_t row_bytes,
                       uint32_t element_bytes);
  void (*settle_nans)(float* values);  // computed() of each
};

// The variant for this processor; all variants give the same bits.
const TileMath& tile_math();

}  // namespace ttl_host
