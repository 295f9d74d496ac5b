// Stand-in for the vector unit's C++ interface, which comes with the vendor's compiler and not with
// its headers. It lets those headers parse; vector code itself is not checked: every vector type
// converts to every other, and nothing here computes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lltt.h"
#include "sfpi_constants.h"

#define sfpi_inline inline

#define v_if(condition) { if (::sfpi::holds(condition))
#define v_elseif(condition) else if (::sfpi::holds(condition))
#define v_else else
#define v_endif }
#define v_and(condition) (void)::sfpi::holds(condition)
#define v_block {
#define v_endblock }

namespace sfpi {

enum class DataLayout { None, Default, F32, F16a, F16b, FSrcB, I32, U32, U16, U8, SM32, SM16, SM8, M32 };
enum class RoundMode { Nearest, NearestEven, NearestAway, NearestStochastic };
enum class ExponentMode { Biased, Unbiased };
enum class MantissaMode { ImplicitOne, Raw };
enum class ShiftMode { Logical, Arithmetic };
enum class LutSign { Retain, Update };
enum class LutMode { Fp8x3, Fp16x3, Fp16x6_HWM3 };
enum class FractionalHalf { Low, High };
enum class LRegs { LReg0, LReg1, LReg2, LReg3, LReg4, LReg5, LReg6, LReg7 };

struct Raw {};       // what a compiler builtin takes and gives
struct VectorBase {};  // marks vectors and registers for the operators below

struct vBool : VectorBase {
    vBool() = default;
    template <class T>
    vBool(const T&) {}
};
template <class T>
bool holds(const T&) { return true; }

template <int Kind>
struct Vector : VectorBase {
    Vector() = default;
    template <class... T>
    Vector(const T&...) {}
    Raw get() const { return {}; }
    template <class T> Vector& operator+=(const T&) { return *this; }
    template <class T> Vector& operator-=(const T&) { return *this; }
    template <class T> Vector& operator*=(const T&) { return *this; }
    template <class T> Vector& operator&=(const T&) { return *this; }
    template <class T> Vector& operator|=(const T&) { return *this; }
    template <class T> Vector& operator^=(const T&) { return *this; }
    template <class T> Vector& operator<<=(const T&) { return *this; }
    template <class T> Vector& operator>>=(const T&) { return *this; }
    Vector& operator++() { return *this; }
    Vector& operator--() { return *this; }
    Vector operator++(int) { return *this; }
    Vector operator--(int) { return *this; }
};

using vFloat = Vector<0>;
using vFloat16a = Vector<1>;
using vFloat16b = Vector<2>;
using vInt = Vector<3>;
using vUInt = Vector<4>;
using vUInt8 = Vector<5>;
using vUInt16 = Vector<6>;
using vMag = Vector<7>;
using vSMag = Vector<8>;
using vSMag8 = Vector<9>;
using vSMag16 = Vector<10>;
using vLut16ss = Vector<11>;
using vLut16ii = Vector<12>;
using vLut16si = Vector<13>;
using vLut8si = Vector<14>;
using sFloat16a = Vector<15>;
using sFloat16b = Vector<16>;
using sLut16si = Vector<17>;
using sLut8si = Vector<18>;

// A register reads and writes as any vector. It has no conversion operator: the vectors'
// constructors take it, and two ways would be ambiguous.
struct Register : VectorBase {
    template <class T> Register& operator=(const T&) { return *this; }
    Register& operator=(const Register&) = default;
    template <auto> Register& mode() { return *this; }
    template <class T> Register& mode(const T&) { return *this; }
    template <auto, class T> Register& mode(const T&) { return *this; }
    Raw get() const { return {}; }
    void in_use() const {}
    template <class T> Register& operator+=(const T&) { return *this; }
    template <class T> Register& operator-=(const T&) { return *this; }
    template <class T> Register& operator*=(const T&) { return *this; }
};
struct RegisterFile {
    template <class T> Register& operator[](const T&) { return one; }
    RegisterFile& operator++() { return *this; }
    RegisterFile& operator++(int) { return *this; }
    RegisterFile& operator+=(int) { return *this; }
    Register one;
};
inline RegisterFile dst_reg, l_reg;
inline Register vConst0, vConst1, vConstNeg1, vConst0p8373, vConstTileId;
inline Register vConstFloatPrgm0, vConstFloatPrgm1, vConstFloatPrgm2;
inline Register vConstIntPrgm0, vConstIntPrgm1, vConstIntPrgm2;
struct lreg_pressure { lreg_pressure() {} };

template <class T>
constexpr bool is_vector = std::is_base_of_v<VectorBase, T>;
template <class T>
using Value = std::conditional_t<std::is_same_v<T, Register>, vFloat, T>;
template <class A, class B>
using Result = std::enable_if_t<is_vector<A> || is_vector<B>, std::conditional_t<is_vector<A>, Value<A>, Value<B>>>;
template <class A, class B>
using Truth = std::enable_if_t<is_vector<A> || is_vector<B>, vBool>;

#define TTL_BINARY(op, type) \
    template <class A, class B> type<A, B> operator op(const A&, const B&) { return {}; }
TTL_BINARY(+, Result)
TTL_BINARY(-, Result)
TTL_BINARY(*, Result)
TTL_BINARY(&, Result)
TTL_BINARY(|, Result)
TTL_BINARY(^, Result)
TTL_BINARY(<<, Result)
TTL_BINARY(>>, Result)
TTL_BINARY(==, Truth)
TTL_BINARY(!=, Truth)
TTL_BINARY(<, Truth)
TTL_BINARY(<=, Truth)
TTL_BINARY(>, Truth)
TTL_BINARY(>=, Truth)
TTL_BINARY(&&, Truth)
TTL_BINARY(||, Truth)
#undef TTL_BINARY
template <class A> Result<A, A> operator-(const A&) { return {}; }
template <class A> Result<A, A> operator~(const A&) { return {}; }
template <class A> Truth<A, A> operator!(const A&) { return {}; }

// Functions whose result is the kind of vector given first, or named as template argument.
#define TTL_SAME(name) \
    template <class A, class... Rest> Value<A> name(const A&, const Rest&...) { return {}; }
TTL_SAME(abs)
TTL_SAME(shft)
TTL_SAME(setexp)
TTL_SAME(setman)
TTL_SAME(setsgn)
TTL_SAME(setsgn2)
TTL_SAME(addexp)
TTL_SAME(copysgn)
TTL_SAME(clamp)
TTL_SAME(symmetric_clamp)
TTL_SAME(approx_recip)
TTL_SAME(approx_exp)
TTL_SAME(approx_sqrt)
TTL_SAME(subvec_shflror1)
TTL_SAME(subvec_shflshr1)
TTL_SAME(nearby)
#undef TTL_SAME
template <class To, class... From> To as(const From&...) { return {}; }
template <class To, class... From> To convert(const From&...) { return {}; }
template <class A, class B> Result<A, B> min(const A&, const B&) { return {}; }
template <class A, class B> Result<A, B> max(const A&, const B&) { return {}; }
template <class T> struct Pair { T first, second; };
template <class A, class B> Pair<Result<A, B>> min_max(const A&, const B&) { return {}; }
template <class A, class B> void vec_min_max(A&, B&) {}
template <class... A> void subvec_transp(A&...) {}

// Functions with a result of one kind.
#define TTL_FIXED(type, name) \
    template <class... A> type name(const A&...) { return {}; }
TTL_FIXED(vInt, exexp)
TTL_FIXED(vInt, exman)
TTL_FIXED(vInt, exman9)
TTL_FIXED(vInt, fractional_mul)
TTL_FIXED(vFloat, copyman)
TTL_FIXED(vFloat, lut)
TTL_FIXED(vBool, is_inf)
TTL_FIXED(vBool, is_nan)
TTL_FIXED(vBool, is_finite)
TTL_FIXED(vBool, is_pos)
TTL_FIXED(vBool, is_neg)
#undef TTL_FIXED

}  // namespace sfpi

template <class... A> sfpi::Raw __builtin_rvtt_sfpmad(const A&...) { return {}; }
template <class... A> sfpi::Raw __builtin_rvtt_sfpgt(const A&...) { return {}; }
template <class... A> void __builtin_rvtt_ttreplay(const A&...) {}
