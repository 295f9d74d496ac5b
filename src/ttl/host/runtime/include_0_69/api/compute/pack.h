// api/compute/pack.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"

namespace ckernel {

ALWI void pack_tile_block(
    uint32_t ifrom_dst, uint32_t icb, uint32_t ntiles, int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, ntiles, 1, icb);
  pack_block(ifrom_dst, icb, ntiles, line);
}

ALWI void llk_pack_reconfig_l1_acc(
    const uint32_t l1_acc_en, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  pack_reconfig_l1_acc(l1_acc_en);
}

}  // namespace ckernel
