// The vector unit (SFPU): operands and results are DST slots; arithmetic is float32.
#pragma once

#include "registers.h"
#include "rounding.h"

#include "api/compute/common_globals.h"

namespace ttl_host {

using ckernel::VectorMode;

// What a 16-bit DST makes of a result: SFPSTORE cuts it off, unless the function has rounded it.
enum class Store { Cut, Rounded };

struct VectorCall {
  const char* name;
  const char* init;  // that the function cannot do without; may be empty
  Store store;
  VectorMode faces;
  int line;
};

// A row of vector_*.cpp defines a function by what it does to one value. It is also all that declares
// it for kernels: host/vector_headers.py reads the rows that follow HEADER, a file of api/compute/.
// A name stands in the template that the device function has, an init in PLAIN if it loads nothing.
// What is DECLARED has parameters of its own, in the file of its header.
#define HEADER(file)
#define WIDE(name) name
#define APPROXIMATE(name) name
#define BY_FORMAT(name) name
#define DECLARED(name) name
#define PLAIN(init)
#define TTL_SPELLED(...) #__VA_ARGS__
#define SPELLED(...) TTL_SPELLED(__VA_ARGS__)
#define CALL(name, init, store, faces) \
  {SPELLED(name), SPELLED(init), Store::store, faces, line}

// Faults unless the last init that loads constants was the one that the call needs.
Fiber& begin_call(const VectorCall& call);

// Bit f is set where face f is touched.
uint32_t touched_faces(VectorMode mode);

inline Rounding rounding_of(const Fiber& fiber, Store store) {
  return store == Store::Rounded ? software_rounding(fiber) : store_rounding(fiber);
}

template <typename Body>
void for_each_face(VectorMode mode, Body body) {
  const uint32_t touched = touched_faces(mode);
  for (uint32_t face = 0; face < 4; ++face)
    if (touched >> face & 1) body(face * face_values);
}

// In a pass of its own, so that the loops over functions need no variants. In faces that were not
// touched it changes nothing: they hold what the register can.
inline void round_slot(const Fiber& fiber, Store store, float* values) {
  const Rounding rounding = rounding_of(fiber, store);
  if (rounding != Rounding::None) tile_math().copy(values, values, rounding);
}

// slot = function(slot), value by value.
template <typename Function>
void map_slot(uint32_t slot, const VectorCall& call, Function function) {
  Fiber& fiber = begin_call(call);
  float* values = slot_values(fiber, slot, call.line);
  for_each_face(call.faces, [&](uint32_t first) {
    for (uint32_t i = first; i < first + face_values; ++i) values[i] = function(values[i]);
  });
  round_slot(fiber, call.store, values);
}

// out = function(in0, in1); `out` may be one of them.
template <typename Function>
void map_slots(
    uint32_t in0, uint32_t in1, uint32_t out, const VectorCall& call, Function function) {
  Fiber& fiber = begin_call(call);
  const float* a = slot_values(fiber, in0, call.line);
  const float* b = slot_values(fiber, in1, call.line);
  float* values = slot_values(fiber, out, call.line);
  for_each_face(call.faces, [&](uint32_t first) {
    for (uint32_t i = first; i < first + face_values; ++i) values[i] = function(a[i], b[i]);
  });
  round_slot(fiber, call.store, values);
}

}  // namespace ttl_host
