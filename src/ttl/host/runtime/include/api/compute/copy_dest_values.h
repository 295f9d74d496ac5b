#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(copy_dest_values_init)

namespace ckernel {

namespace detail {
void copy_dest_values(uint32_t in, uint32_t out, DataFormat format, int line);
}

template <DataFormat DATA_FORMAT>
ALWI void copy_dest_values(uint32_t idst_in, uint32_t idst_out, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::copy_dest_values(idst_in, idst_out, DATA_FORMAT, line);
}

ALWI void copy_dest_values(uint32_t idst_in, uint32_t idst_out, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::copy_dest_values(idst_in, idst_out, DataFormat::Invalid, line);
}

}  // namespace ckernel
