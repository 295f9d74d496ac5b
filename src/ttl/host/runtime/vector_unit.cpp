// The vector unit (SFPU): operands and results are DST slots; arithmetic is float32.
#include <cstring>

#include "registers.h"

#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/relu.h"

namespace ttl_host {

namespace {

using BinaryLoop = void (*)(const float*, const float*, float*, Rounding);

// `out` may be one of the operands.
void on_slots(uint32_t slot0, uint32_t slot1, uint32_t out, BinaryLoop loop, Rounding rounding,
              int line) {
  Fiber& fiber = self(line);
  const float* a = slot_values(fiber, slot0, line);
  const float* b = slot_values(fiber, slot1, line);
  loop(a, b, slot_values(fiber, out, line), rounding);
}

Rounding chosen_rounding(ckernel::DstRoundingMode mode) {
  const bool nearest = mode == ckernel::DstRoundingMode::NearestEven;
  const Fiber& fiber = self();
  return nearest ? software_rounding(fiber) : store_rounding(fiber);
}

// llk_math_eltwise_sfpu_common.h: which of the four faces an operation touches.
uint32_t faces_of(ckernel::VectorMode mode) {
  switch (mode) {
    case ckernel::VectorMode::RC: return 0b1111;
    case ckernel::VectorMode::R: return 0b0011;
    case ckernel::VectorMode::C: return 0b0101;
    default: return 0b0001;
  }
}

float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

}  // namespace

}  // namespace ttl_host

namespace ckernel {

using namespace ttl_host;

// api/compute/eltwise_unary/relu.h: loads no constants.
void relu_tile_init() { self(); }

// api/compute/eltwise_unary/relu.h: the greater of x and +0, by SFPSWAP.
void relu_tile(uint32_t idst, int line) {
  Fiber& fiber = self(line);
  tile_math().maximum(slot_values(fiber, idst, line), tile_values, 0.0f, store_rounding(fiber));
}

// api/compute/eltwise_unary/fill.h: loads no constants.
void fill_tile_init() { self(); }

// api/compute/eltwise_unary/fill.h: a plain store, so a 16-bit DST gets the value cut off.
void fill_tile(uint32_t idst, float param0, int line) {
  uint32_t bits;
  memcpy(&bits, &param0, 4);
  fill_tile_bitcast(idst, bits, line);
}

// api/compute/eltwise_unary/fill.h
void fill_tile_bitcast(uint32_t idst, uint32_t param0, int line) {
  Fiber& fiber = self(line);
  const float value = float_of(dst_is_16_bit(fiber) ? param0 & 0xffff0000u : param0);
  float* out = overwritten_slot(fiber, idst, line);
  for (uint32_t i = 0; i < tile_values; ++i) out[i] = value;
}

namespace detail {

// api/compute/eltwise_binary_sfpu.h: add_binary_tile
void add_slots(uint32_t idst0, uint32_t idst1, uint32_t odst, DstRoundingMode rounding,
               int line) {
  on_slots(idst0, idst1, odst, tile_math().add, chosen_rounding(rounding), line);
}

// api/compute/eltwise_binary_sfpu.h: sub_binary_tile
void subtract_slots(uint32_t idst0, uint32_t idst1, uint32_t odst, DstRoundingMode rounding,
                    int line) {
  on_slots(idst0, idst1, odst, tile_math().subtract, chosen_rounding(rounding), line);
}

// api/compute/eltwise_binary_sfpu.h: mul_binary_tile. In a 16-bit DST it rounds in software and
// 0 * x is 0 for every x (ckernel_sfpu_binary.h, calculate_sfpu_binary_mul).
void multiply_slots(uint32_t idst0, uint32_t idst1, uint32_t odst, int line) {
  const TileMath& math = tile_math();
  const bool is_16_bit = dst_is_16_bit(self(line));
  on_slots(idst0, idst1, odst, is_16_bit ? math.multiply_zero_wins : math.multiply,
           software_rounding(self(line)), line);
}

// api/compute/eltwise_unary/exp.h: exp_tile_init loads the constants of exp.
void begin_exponential() { compute_of(self()).sfpu_constants = SfpuConstants::Exponential; }

// api/compute/eltwise_unary/exp.h: exp_tile. Rounds in software for a 16-bit DST.
void exponential(uint32_t slot, VectorMode faces, bool scaled, uint16_t scale, int line) {
  Fiber& fiber = self(line);
  if (compute_of(fiber).sfpu_constants != SfpuConstants::Exponential)
    fault(line, "exp_tile needs exp_tile_init as the last vector init that loads constants");
  float* values = slot_values(fiber, slot, line);
  const float factor = scaled ? float_of(uint32_t{scale} << 16) : 1.0f;
  const uint32_t touched = faces_of(faces);
  for (uint32_t face = 0; face < 4; ++face)
    if (touched >> face & 1)
      tile_math().exponential(values + face * face_values, face_values, factor,
                              software_rounding(fiber));
}

}  // namespace detail

}  // namespace ckernel
