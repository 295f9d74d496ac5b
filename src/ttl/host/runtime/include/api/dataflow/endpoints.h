// api/dataflow/endpoints.h: places on the NoC that are no objects of this node.
#pragma once

#include "api/dataflow/noc.h"

namespace ttl_dataflow {

struct UnicastEndpoint {
  uint64_t get_noc_unicast_addr(
      uint32_t noc_x, uint32_t noc_y, uint32_t addr, uint8_t noc) const {
    return get_noc_addr(noc_x, noc_y, addr, noc);
  }
};

struct PrecomposedUnicastEndpoint {};

struct MulticastEndpoint {
  uint64_t get_noc_multicast_addr(
      uint32_t noc_x_start, uint32_t noc_y_start, uint32_t noc_x_end, uint32_t noc_y_end,
      uint32_t addr, uint8_t noc) const {
    return ttl_dataflow::get_noc_multicast_addr(
        noc_x_start, noc_y_start, noc_x_end, noc_y_end, addr, noc);
  }
};

enum class AllocatorBankType { L1, DRAM };

template <AllocatorBankType bank_type>
struct AllocatorBank {
  uint64_t get_noc_addr_from_bank_id(uint32_t bank_id, uint32_t addr, uint8_t noc) const {
    return ttl_dataflow::get_noc_addr_from_bank_id<bank_type == AllocatorBankType::DRAM>(
        bank_id, addr, noc);
  }
};

template <>
struct noc_traits_t<UnicastEndpoint> {
  struct src_args_type {
    uint32_t noc_x{};
    uint32_t noc_y{};
    uint32_t addr{};
  };
  using dst_args_type = src_args_type;

  template <Noc::AddressType type>
  static auto src_addr(const UnicastEndpoint& src, const Noc& noc, const src_args_type& args) {
    if constexpr (type == Noc::AddressType::LOCAL_L1)
      return args.addr;
    else
      return src.get_noc_unicast_addr(args.noc_x, args.noc_y, args.addr, noc.get_noc_id());
  }
  template <Noc::AddressType type>
  static auto dst_addr(const UnicastEndpoint& dst, const Noc& noc, const dst_args_type& args) {
    return src_addr<type>(dst, noc, args);
  }
};

template <>
struct noc_traits_t<PrecomposedUnicastEndpoint> {
  struct src_args_type {
    uint64_t noc_addr{};
  };
  using dst_args_type = src_args_type;

  template <Noc::AddressType type>
  static uint64_t src_addr(
      const PrecomposedUnicastEndpoint&, const Noc&, const src_args_type& args) {
    static_assert(type == Noc::AddressType::NOC, "it is no place in L1 of this node");
    return args.noc_addr;
  }
  template <Noc::AddressType type>
  static uint64_t dst_addr(
      const PrecomposedUnicastEndpoint& dst, const Noc& noc, const dst_args_type& args) {
    return src_addr<type>(dst, noc, args);
  }
};

template <>
struct noc_traits_t<MulticastEndpoint> {
  struct dst_args_mcast_type {
    uint32_t noc_x_start{};
    uint32_t noc_y_start{};
    uint32_t noc_x_end{};
    uint32_t noc_y_end{};
    uint32_t addr{};
  };

  template <Noc::AddressType type>
  static uint64_t dst_addr_mcast(
      const MulticastEndpoint& dst, const Noc& noc, const dst_args_mcast_type& args) {
    static_assert(type == Noc::AddressType::NOC, "it is no place in L1 of this node");
    return dst.get_noc_multicast_addr(args.noc_x_start, args.noc_y_start, args.noc_x_end,
                                      args.noc_y_end, args.addr, noc.get_noc_id());
  }
};

template <AllocatorBankType bank_type>
struct noc_traits_t<AllocatorBank<bank_type>> {
  struct src_args_type {
    uint32_t bank_id{};
    uint32_t addr{};
  };
  using dst_args_type = src_args_type;

  template <Noc::AddressType type>
  static uint64_t src_addr(
      const AllocatorBank<bank_type>& src, const Noc& noc, const src_args_type& args) {
    static_assert(type == Noc::AddressType::NOC, "it is no place in L1 of this node");
    return src.get_noc_addr_from_bank_id(args.bank_id, args.addr, noc.get_noc_id());
  }
  template <Noc::AddressType type>
  static uint64_t dst_addr(
      const AllocatorBank<bank_type>& dst, const Noc& noc, const dst_args_type& args) {
    return src_addr<type>(dst, noc, args);
  }
};

}  // namespace ttl_dataflow
