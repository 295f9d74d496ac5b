// api/compute/common_globals.h: what every compute header builds on.
#pragma once

#include <cstdint>

#include "hostdevcommon/kernel_structs.h"
#include "hostdevcommon/recorded_calls.h"
#include "tensix_types.h"

#define ALWI inline __attribute__((always_inline))

// On the chip the kernel is compiled once for each of three processors and these select one; here
// one fiber does the work of all three, in program order.
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__
#define UNPACK(...) __VA_ARGS__

constexpr bool is_uint32_format(DataFormat format) { return format == DataFormat::UInt32; }
constexpr bool is_bfp8_b_format(DataFormat format) { return format == DataFormat::Bfp8_b; }
constexpr bool is_bfp4_b_format(DataFormat format) { return format == DataFormat::Bfp4_b; }

namespace detail {
constexpr bool is_integer_format(DataFormat format) {
  return format == DataFormat::Int32 || is_uint32_format(format) || format == DataFormat::UInt16;
}
}  // namespace detail

// llk_defs.h and its like
namespace ckernel {

enum class VectorMode : std::uint8_t {
  None = 0,
  R = 1,
  C = 2,
  RC = 4,
  RC_custom = 6,
  Invalid = 0xFF,
};

enum class DstRoundingMode : std::uint8_t {
  Default = 0,
  NearestEven = 1,
};

enum class ReduceDim : std::uint8_t { REDUCE_ROW, REDUCE_COL, REDUCE_SCALAR };
enum class PoolType : std::uint8_t { SUM, AVG, MAX, MIN };
enum class EltwiseBinaryType : std::uint8_t { ELWMUL, ELWDIV, ELWADD, ELWSUB, ELWLESS };
enum class EltwiseBinaryReuseDestType { NONE = 0, DEST_TO_SRCA = 1, DEST_TO_SRCB = 2 };
enum class BroadcastType : std::uint8_t { NONE = 0, COL = 1, ROW = 2, SCALAR = 3 };
enum class RoundingMode : std::uint8_t { None, Trunc, Floor };

struct p_sfpu {
  static constexpr std::uint32_t kCONST_1_FP16B = 0x3F80;
};

// Where a call stands. Not an int: numbers must always mean a form with more of them. No aggregate: GCC
// takes the line of the declaration for a default that is in braces.
struct CallLine {
  int number;
  explicit constexpr CallLine(int line) : number(line) {}
};

namespace detail {

// What an init of the vector unit loads, constants or macros, undoes what another has loaded.
// `loaded` is the name of the init, one for all that load the same; empty where it loads nothing.
void begin_vector(const char* loaded, std::uint32_t parameter = 0);

// The shapes of the runtime's vector functions: of one slot with 0 to 3 parameters, of two slots,
// of two slots of integers.
using OfSlot = void(std::uint32_t slot, VectorMode faces, int line);
using OfSlot1 = void(std::uint32_t slot, std::uint32_t, VectorMode faces, int line);
using OfSlot2 = void(std::uint32_t slot, std::uint32_t, std::uint32_t, VectorMode faces, int line);
using OfSlot3 = void(
    std::uint32_t slot, std::uint32_t, std::uint32_t, std::uint32_t, VectorMode faces, int line);
using OfSlots = void(
    std::uint32_t in0, std::uint32_t in1, std::uint32_t out, VectorMode faces, int line);
using IntegerSlots = void(
    std::uint32_t in0, std::uint32_t in1, std::uint32_t out, DataFormat format, int line);

// The matrix unit on two buffers, or on a buffer and a slot: eltwise_binary.h and bcast.h.
struct BinaryTiles {
  std::uint32_t icb0, icb1, itile0, itile1, idst, row;
};

void begin_binary(EltwiseBinaryType type, BroadcastType broadcast, bool accumulates);
void binary_tiles(
    EltwiseBinaryType type, BroadcastType broadcast, const BinaryTiles& call, int line);
void begin_reuse(EltwiseBinaryType type, EltwiseBinaryReuseDestType reuse);
void reuse_tiles(
    EltwiseBinaryType type,
    EltwiseBinaryReuseDestType reuse,
    std::uint32_t buffer,
    std::uint32_t tile,
    std::uint32_t slot,
    int line);

}  // namespace detail

}  // namespace ckernel

// A device function and the runtime function of the same name that does its work. Most are rows of
// vector_*.cpp, which no header spells out (host/vector_headers.py). After the name comes the template
// of the device function, if it has one. Most take, on the chip, a parameter for the width of DST,
// which nobody gives; some one for an approximation, which is not modelled.
#define TTL_WIDE template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
#define TTL_APPROXIMATE(preset) \
  template <bool fast_and_approx = preset, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
#define TTL_BY_FORMAT template <DataFormat data_format>
#define TTL_OF_SLOT(name, ...)                                             \
  namespace ckernel {                                                      \
  namespace detail { OfSlot name; }                                        \
  __VA_ARGS__ ALWI void name(uint32_t idst, int line = __builtin_LINE()) { \
    TTL_COMPUTES(line);                                                    \
    detail::name(idst, VectorMode::RC, line);                              \
  }                                                                        \
  }
#define TTL_OF_SLOT1(name, ...)                                                             \
  namespace ckernel {                                                                       \
  namespace detail { OfSlot1 name; }                                                        \
  __VA_ARGS__ ALWI void name(uint32_t idst, uint32_t param0, int line = __builtin_LINE()) { \
    TTL_COMPUTES(line);                                                                     \
    detail::name(idst, param0, VectorMode::RC, line);                                       \
  }                                                                                         \
  }
#define TTL_OF_SLOT2(name, ...)                                                       \
  namespace ckernel {                                                                 \
  namespace detail { OfSlot2 name; }                                                  \
  __VA_ARGS__ ALWI void name(                                                         \
      uint32_t idst, uint32_t param0, uint32_t param1, int line = __builtin_LINE()) { \
    TTL_COMPUTES(line);                                                               \
    detail::name(idst, param0, param1, VectorMode::RC, line);                         \
  }                                                                                   \
  }
#define TTL_OF_SLOTS(name, ...)                                                     \
  namespace ckernel {                                                               \
  namespace detail { OfSlots name; }                                                \
  __VA_ARGS__ ALWI void name(                                                       \
      uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) { \
    TTL_COMPUTES(line);                                                             \
    detail::name(idst0, idst1, odst, VectorMode::RC, line);                         \
  }                                                                                 \
  }
#define TTL_OF_INTEGERS(name)                                                          \
  namespace ckernel {                                                                  \
  namespace detail { IntegerSlots name; }                                              \
  TTL_BY_FORMAT ALWI void name(                                                        \
      uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {    \
    static_assert(                                                                     \
        ::detail::is_integer_format(data_format),                                      \
        "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16"); \
    TTL_COMPUTES(line);                                                                \
    detail::name(idst0, idst1, odst, data_format, line);                               \
  }                                                                                    \
  }
#define TTL_WITH_WORD(name)                                                              \
  namespace ckernel {                                                                    \
  namespace detail {                                                                     \
  void name(uint32_t slot, DataFormat format, uint32_t value, int line);                 \
  }                                                                                      \
  TTL_BY_FORMAT ALWI void name(                                                          \
      uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {                     \
    TTL_COMPUTES(line);                                                                  \
    detail::name(idst, data_format, param0, line);                                       \
  }                                                                                      \
  }
#define TTL_INIT(name, loaded, ...)                                                      \
  namespace ckernel {                                                                    \
  __VA_ARGS__ ALWI void name(CallLine line = CallLine(__builtin_LINE())) {               \
    TTL_COMPUTES(line.number);                                                           \
    detail::begin_vector(loaded);                                                        \
  }                                                                                      \
  }
#define TTL_PLAIN_INIT(name, ...) TTL_INIT(name, "", __VA_ARGS__)
#define TTL_VECTOR_INIT(name, ...) TTL_INIT(name, #name, __VA_ARGS__)
