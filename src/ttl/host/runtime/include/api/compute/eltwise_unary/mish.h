#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(mish_tile_init, template <bool APPROXIMATION_MODE>)
TTL_OF_SLOT(
    mish_tile, template <bool APPROXIMATION_MODE, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>)
