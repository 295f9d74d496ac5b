#pragma once

#include <cstdint>

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void pack_at(std::uint32_t slot, std::uint32_t buffer, std::uint32_t tile, int line);
void pack_next(std::uint32_t slot, std::uint32_t buffer, int line);
void accumulate_in_l1(bool on);
void configure_relu(std::uint32_t mode, std::uint32_t threshold);
}  // namespace detail

enum class ReluType : std::uint8_t {
  NO_RELU = 0,
  ZERO_RELU,
  MIN_THRESHOLD_RELU,
  MAX_THRESHOLD_RELU,
};

struct ReluConfig {
  static constexpr ReluConfig none() { return {ReluType::NO_RELU}; }
  static constexpr ReluConfig zero() { return {ReluType::ZERO_RELU}; }
  static constexpr ReluConfig min_threshold(std::uint32_t t) {
    return {ReluType::MIN_THRESHOLD_RELU, t};
  }
  static constexpr ReluConfig max_threshold(std::uint32_t t) {
    return {ReluType::MAX_THRESHOLD_RELU, t};
  }
  static constexpr ReluConfig from_packed(std::uint32_t packed) {
    return {static_cast<ReluType>(packed & 0x3), (packed >> 16) & 0xFFFF};
  }
  constexpr ReluType get_mode() const { return mode; }
  constexpr std::uint32_t get_threshold() const { return threshold; }

 private:
  constexpr ReluConfig(ReluType m, std::uint32_t t = 0) : mode(m), threshold(t) {}
  ReluType mode;
  std::uint32_t threshold;
};

ALWI void pack_init(std::uint32_t ocb, std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
}

ALWI void pack_reconfig_l1_acc(
    const std::uint32_t l1_acc_en, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::accumulate_in_l1(l1_acc_en != 0);
}

ALWI void pack_relu_config(
    const ReluConfig& config, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_relu(
      static_cast<std::uint32_t>(config.get_mode()), config.get_threshold());
}

// In sequence the third argument is ignored, as on the chip.
template <bool out_of_order_output = false, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void pack_tile(
    std::uint32_t ifrom_dst,
    std::uint32_t icb,
    std::uint32_t output_tile_index = 0,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line, icb);
  if constexpr (out_of_order_output)
    detail::pack_at(ifrom_dst, icb, output_tile_index, line);
  else
    detail::pack_next(ifrom_dst, icb, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void pack_block(
    std::uint32_t ifrom_dst,
    std::uint32_t icb,
    std::uint32_t ntiles,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, ntiles, 1, icb);
  for (std::uint32_t i = 0; i < ntiles; ++i) detail::pack_next(ifrom_dst + i, icb, line);
}

}  // namespace ckernel
