// Functions of the vector unit by what they do to one value. The file that includes this says in
// which `Real` they compute, float or double, and what result() makes of it.
#pragma once

#include "vector_unit.h"

// name, init, store, value of x
#define OF_SLOT(name, init, store, value)                              \
  void name(uint32_t slot, VectorMode faces, int line) {               \
    map_slot(slot, CALL(name, init, store, faces), [](float single) {  \
      const Real x = single;                                           \
      return result(value);                                            \
    });                                                                \
  }
// with the parameters p and q, given by their bits
#define OF_SLOT1(name, init, store, value)                                    \
  void name(uint32_t slot, uint32_t parameter, VectorMode faces, int line) {  \
    const Real p = float_of(parameter);                                       \
    map_slot(slot, CALL(name, init, store, faces), [p](float single) {        \
      const Real x = single;                                                  \
      return result(value);                                                   \
    });                                                                       \
  }
#define OF_SLOT2(name, init, store, value)                                              \
  void name(uint32_t slot, uint32_t parameter0, uint32_t parameter1, VectorMode faces,  \
            int line) {                                                                 \
    const Real p = float_of(parameter0), q = float_of(parameter1);                      \
    map_slot(slot, CALL(name, init, store, faces), [p, q](float single) {               \
      const Real x = single;                                                            \
      return result(value);                                                             \
    });                                                                                 \
  }
#define OF_SLOTS(name, init, store, value)                                                    \
  void name(uint32_t in0, uint32_t in1, uint32_t out, VectorMode faces, int line) {           \
    map_slots(in0, in1, out, CALL(name, init, store, faces), [](float first, float second) {  \
      const Real a = first, b = second;                                                       \
      return result(value);                                                                   \
    });                                                                                       \
  }
