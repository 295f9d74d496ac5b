// api/dataflow/noc.h: transfers between objects. What an object is to the NoC, noc_traits_t says;
// the headers of the objects specialize it.
#pragma once

#include "api/dataflow/dataflow_api.h"

namespace ttl_dataflow {

template <typename T>
struct noc_traits_t {
  static_assert(sizeof(T) == 0, "NoC transactions are not supported for this type");
};

enum class NocOptions : uint32_t {
  DEFAULT = 0,
  TXN_ID = 1u << 0,
  POSTED = 1u << 1,
  CUSTOM_VC = 1u << 2,
  MCAST_INCL_SRC = 1u << 3,
  INLINE_L1 = 1u << 4,
  INLINE_REG = 1u << 5,
};

constexpr NocOptions operator|(NocOptions a, NocOptions b) noexcept {
  return static_cast<NocOptions>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

constexpr bool has_flag(NocOptions opts, NocOptions flag) noexcept {
  return (static_cast<uint32_t>(opts) & static_cast<uint32_t>(flag)) != 0;
}

struct NocOptVals {
  uint32_t vc = NOC_UNICAST_WRITE_VC;
  uint32_t trid = 0;
};

class Noc {
 public:
  enum class AddressType { NOC, LOCAL_L1 };

  Noc() : noc_id_(detail::number_of_own_noc()) {}
  explicit Noc(uint8_t noc_id) : noc_id_(noc_id) {}

  uint8_t get_noc_id() const { return noc_id_; }

 private:
  static constexpr uint32_t any_size = NOC_MAX_BURST_SIZE + 1;

  template <typename T>
  using src_args_t = typename noc_traits_t<T>::src_args_type;
  template <typename T>
  using dst_args_t = typename noc_traits_t<T>::dst_args_type;
  template <typename T>
  using dst_args_mcast_t = typename noc_traits_t<T>::dst_args_mcast_type;

  template <typename Src>
  uint64_t source(const Src& src, const src_args_t<Src>& args) const {
    return noc_traits_t<Src>::template src_addr<AddressType::NOC>(src, *this, args);
  }
  template <typename Src>
  uint32_t local_source(const Src& src, const src_args_t<Src>& args) const {
    return static_cast<uint32_t>(
        noc_traits_t<Src>::template src_addr<AddressType::LOCAL_L1>(src, *this, args));
  }
  template <typename Dst>
  uint64_t target(const Dst& dst, const dst_args_t<Dst>& args) const {
    return noc_traits_t<Dst>::template dst_addr<AddressType::NOC>(dst, *this, args);
  }
  template <typename Dst>
  uint32_t local_target(const Dst& dst, const dst_args_t<Dst>& args) const {
    return static_cast<uint32_t>(
        noc_traits_t<Dst>::template dst_addr<AddressType::LOCAL_L1>(dst, *this, args));
  }

  // Of the forms whose command stays set: with at most a packet the size is part of it.
  template <uint32_t max_page_size>
  static uint32_t size_in_state(uint32_t bytes, int line) {
    if constexpr (max_page_size > NOC_MAX_BURST_SIZE) return 0;
    detail::check_packet(bytes, NOC_MAX_BURST_SIZE, line);
    return bytes;
  }

  template <NocOptions opts>
  static constexpr void check_not_posted() {
    static_assert(!has_flag(opts, NocOptions::POSTED),
                  "the host runtime does not model posted writes");
  }

 public:
  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            bool enable_noc_tracing = true, typename Src, typename Dst>
  void async_read(const Src& src, const Dst& dst, uint32_t size_bytes,
                  const src_args_t<Src>& src_args, const dst_args_t<Dst>& dst_args,
                  const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::noc_async_read_set_trid(noc_opts.trid, noc_id_, line);
    const uint32_t to = local_target(dst, dst_args);
    detail::read(source(src, src_args), to, size_bytes, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            typename Src>
  void set_async_read_state(const Src& src, uint32_t size_bytes, const src_args_t<Src>& src_args,
                            const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    const uint32_t size = size_in_state<max_page_size>(size_bytes, line);
    detail::set_read_state(source(src, src_args), size, noc_id_, line);
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::noc_async_read_set_trid(noc_opts.trid, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            typename Src, typename Dst>
  void async_read_with_state(const Src& src, const Dst& dst, uint32_t size_bytes,
                             const src_args_t<Src>& src_args, const dst_args_t<Dst>& dst_args,
                             const NocOptVals& = {}, int line = __builtin_LINE()) const {
    static_assert(!has_flag(opts, NocOptions::TXN_ID),
                  "the host runtime does not model this with transaction ids");
    const uint32_t size = max_page_size <= NOC_MAX_BURST_SIZE ? 0 : size_bytes;
    const auto from = static_cast<uint32_t>(source(src, src_args));
    detail::read_with_state(from, local_target(dst, dst_args), size, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            bool enable_noc_tracing = true, typename Src, typename Dst>
  void async_write(const Src& src, const Dst& dst, uint32_t size_bytes,
                   const src_args_t<Src>& src_args, const dst_args_t<Dst>& dst_args,
                   const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    check_not_posted<opts>();
    const uint32_t from = local_source(src, src_args);
    const uint64_t to = target(dst, dst_args);
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::write_with_transaction(from, to, size_bytes, noc_opts.trid, noc_id_, line);
    else
      detail::write(from, to, size_bytes, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            bool enable_noc_tracing = true, typename Src, typename Dst>
  void async_write_multicast(const Src& src, const Dst& dst, uint32_t size_bytes,
                             uint32_t num_dsts, const src_args_t<Src>& src_args,
                             const dst_args_mcast_t<Dst>& dst_args, bool linked = false,
                             int line = __builtin_LINE()) const {
    static_assert(!has_flag(opts, NocOptions::TXN_ID | NocOptions::POSTED),
                  "a multicast is neither posted nor has it a transaction id");
    const uint64_t to =
        noc_traits_t<Dst>::template dst_addr_mcast<AddressType::NOC>(dst, *this, dst_args);
    detail::write_multicast(local_source(src, src_args), to, size_bytes, num_dsts,
                            has_flag(opts, NocOptions::MCAST_INCL_SRC), noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            typename Dst>
  void set_async_write_state(const Dst& dst, uint32_t size_bytes,
                             const dst_args_t<Dst>& dst_args, const NocOptVals& = {},
                             int line = __builtin_LINE()) const {
    static_assert(!has_flag(opts, NocOptions::TXN_ID), "TXN_ID is not supported here");
    check_not_posted<opts>();
    const uint32_t size = size_in_state<max_page_size>(size_bytes, line);
    detail::set_write_state(target(dst, dst_args), size, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = any_size,
            typename Src, typename Dst>
  void async_write_with_state(const Src& src, const Dst& dst, uint32_t size_bytes,
                              const src_args_t<Src>& src_args, const dst_args_t<Dst>& dst_args,
                              const NocOptVals& = {}, int line = __builtin_LINE()) const {
    static_assert(!has_flag(opts, NocOptions::TXN_ID), "TXN_ID is not supported here");
    check_not_posted<opts>();
    const uint32_t size = max_page_size <= NOC_MAX_BURST_SIZE ? 0 : size_bytes;
    const auto to = static_cast<uint32_t>(target(dst, dst_args));
    detail::write_with_state(local_source(src, src_args), to, size, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT, typename Dst>
  void inline_dw_write(const Dst& dst, uint32_t val, const dst_args_t<Dst>& dst_args,
                       uint8_t be = 0xF, const NocOptVals& = {},
                       int line = __builtin_LINE()) const {
    static_assert(!has_flag(opts, NocOptions::TXN_ID), "TXN_ID is not supported here");
    static_assert(!has_flag(opts, NocOptions::INLINE_REG),
                  "the host runtime has no stream registers");
    check_not_posted<opts>();
    detail::write_word(target(dst, dst_args), val, noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT>
  void async_read_barrier(const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::noc_async_read_barrier_with_trid(noc_opts.trid, noc_id_, line);
    else
      detail::noc_async_read_barrier(noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT>
  void async_write_barrier(const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::noc_async_write_barrier_with_trid(noc_opts.trid, noc_id_, line);
    else
      detail::noc_async_write_barrier(noc_id_, line);
  }

  template <NocOptions opts = NocOptions::DEFAULT>
  void async_writes_flushed(const NocOptVals& noc_opts = {}, int line = __builtin_LINE()) const {
    check_not_posted<opts>();
    if constexpr (has_flag(opts, NocOptions::TXN_ID))
      detail::noc_async_write_flushed_with_trid(noc_opts.trid, noc_id_, line);
    else
      detail::noc_async_writes_flushed(noc_id_, line);
  }

  void async_atomic_barrier(int line = __builtin_LINE()) const {
    detail::noc_async_atomic_barrier(noc_id_, line);
  }
  void async_full_barrier(int line = __builtin_LINE()) const {
    detail::noc_async_full_barrier(noc_id_, line);
  }

 private:
  uint8_t noc_id_;
};

namespace objects {

// Of what is in this node's L1: a distance from where the object says it begins.
struct OffsetInObject {
  uint32_t offset_bytes{};
};

struct NocRectangle {
  uint32_t noc_x_start{};
  uint32_t noc_y_start{};
  uint32_t noc_x_end{};
  uint32_t noc_y_end{};
  uint32_t offset_bytes{};
};

}  // namespace objects

}  // namespace ttl_dataflow
