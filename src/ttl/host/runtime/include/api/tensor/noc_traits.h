// api/tensor/noc_traits.h: a tensor as source and destination of transfers.
#pragma once

#include "api/dataflow/noc.h"
#include "api/tensor/tensor_accessor.h"

namespace ttl_dataflow {

template <typename DSpecT>
struct noc_traits_t<TensorAccessor<DSpecT>> {
  struct src_args_type {
    uint32_t page_id{};
    uint32_t offset_bytes = 0;
  };
  using dst_args_type = src_args_type;

  template <Noc::AddressType type>
  static uint64_t src_addr(
      const TensorAccessor<DSpecT>& src, const Noc& noc, const src_args_type& args) {
    static_assert(type == Noc::AddressType::NOC,
                  "the host runtime does not know which pages are in L1 of this node");
    return src.get_noc_addr(args.page_id, args.offset_bytes, noc.get_noc_id());
  }
  template <Noc::AddressType type>
  static uint64_t dst_addr(
      const TensorAccessor<DSpecT>& dst, const Noc& noc, const dst_args_type& args) {
    return src_addr<type>(dst, noc, args);
  }
};

}  // namespace ttl_dataflow
