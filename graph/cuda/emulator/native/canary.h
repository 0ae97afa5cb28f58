// What lies around memory that a kernel may use: a pattern that tells of writes, and that is NaN to whoever reads it as float,
// bfloat16 or double.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulator {

void fill_canary(void *p, size_t bytes);

// canary_damage is the place of the first byte that is not as fill_canary left it, or -1.
int64_t canary_damage(const void *p, size_t bytes);

}  // namespace emulator
