// Stand-in for a header of the embedded C library.
#include <stdint.h>
