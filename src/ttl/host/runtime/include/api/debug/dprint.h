// api/debug/dprint.h: kernels print only where the environment asks for it, which is not modelled.
#pragma once

#define DPRINT(...)
#define DPRINT_UNPACK(...)
#define DPRINT_MATH(...)
#define DPRINT_PACK(...)
#define DPRINT_DATA0(...)
#define DPRINT_DATA1(...)
