// tensix_types.h
#pragma once

#include <cstdint>

enum class DataFormat : std::uint8_t {
  Float32 = 0,
  Float16 = 1,
  Tf32 = 4,
  Float16_b = 5,
  Bfp8_b = 6,
  Bfp4_b = 7,
  Int32 = 8,
  UInt16 = 9,
  UInt32 = 24,
  UInt8 = 30,
  Invalid = 0xff,
};
