// api/core_local_mem.h: a pointer into the L1 of this node.
#pragma once

#include <cstddef>

#include "api/dataflow/noc.h"

namespace ttl_kernel {

template <typename T, typename AddressType = uintptr_t>
class CoreLocalMem {
  using difference_type = std::ptrdiff_t;

 public:
  CoreLocalMem(AddressType address) : address_(address) {}
  CoreLocalMem(T* ptr) : address_(reinterpret_cast<AddressType>(ptr)) {}

  T* get_unsafe_ptr() const { return reinterpret_cast<T*>(address_); }
  AddressType get_address() const { return address_; }

  T& operator[](uint32_t index) const { return get_unsafe_ptr()[index]; }
  T& operator*() const { return *get_unsafe_ptr(); }
  T* operator->() const { return get_unsafe_ptr(); }

  CoreLocalMem& operator+=(difference_type offset) { return *this = *this + offset; }
  CoreLocalMem& operator-=(difference_type offset) { return *this = *this - offset; }
  CoreLocalMem& operator++() { return *this += 1; }
  CoreLocalMem& operator--() { return *this -= 1; }
  CoreLocalMem operator++(int) {
    const CoreLocalMem before = *this;
    ++*this;
    return before;
  }
  CoreLocalMem operator--(int) {
    const CoreLocalMem before = *this;
    --*this;
    return before;
  }
  CoreLocalMem operator+(difference_type offset) const {
    return CoreLocalMem(address_ + offset * sizeof(T));
  }
  CoreLocalMem operator-(difference_type offset) const {
    return CoreLocalMem(address_ - offset * sizeof(T));
  }
  difference_type operator-(const CoreLocalMem& other) const {
    return get_unsafe_ptr() - other.get_unsafe_ptr();
  }

  bool operator==(const CoreLocalMem& other) const { return address_ == other.address_; }
  bool operator!=(const CoreLocalMem& other) const { return address_ != other.address_; }
  bool operator<(const CoreLocalMem& other) const { return address_ < other.address_; }
  bool operator<=(const CoreLocalMem& other) const { return address_ <= other.address_; }
  bool operator>(const CoreLocalMem& other) const { return address_ > other.address_; }
  bool operator>=(const CoreLocalMem& other) const { return address_ >= other.address_; }
  explicit operator bool() const { return address_ != 0; }

 private:
  AddressType address_;
};

}  // namespace ttl_kernel

namespace ckernel {
using ttl_kernel::CoreLocalMem;
}

namespace ttl_dataflow {

template <typename T, typename AddressType>
struct noc_traits_t<ttl_kernel::CoreLocalMem<T, AddressType>> {
  struct src_args_type {
    AddressType offset_bytes = 0;
  };
  using dst_args_type = src_args_type;

  template <Noc::AddressType type>
  static auto src_addr(const ttl_kernel::CoreLocalMem<T, AddressType>& src, const Noc&,
                       const src_args_type& args) {
    static_assert(type == Noc::AddressType::LOCAL_L1, "it can only be L1 of this node");
    return src.get_address() + args.offset_bytes;
  }
  template <Noc::AddressType type>
  static auto dst_addr(const ttl_kernel::CoreLocalMem<T, AddressType>& dst, const Noc& noc,
                       const dst_args_type& args) {
    return src_addr<type>(dst, noc, args);
  }
};

}  // namespace ttl_dataflow
