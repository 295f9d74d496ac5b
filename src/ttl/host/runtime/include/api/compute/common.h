#pragma once

#include "api/compute/cb_api.h"
#include "api/compute/common_globals.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reg_api.h"

namespace ckernel {

using ttl_kernel::get_absolute_logical_x;
using ttl_kernel::get_absolute_logical_y;
using ttl_kernel::get_arg_val;
using ttl_kernel::get_common_arg_val;
using ttl_kernel::get_relative_logical_x;
using ttl_kernel::get_relative_logical_y;

}  // namespace ckernel
