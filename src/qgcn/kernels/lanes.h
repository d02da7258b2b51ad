// Sixteen numbers in hand, as the vectors of a processor.

#pragma once

#include <cstdint>

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int LANES = 16;
constexpr float PI = 3.14159265358979f;

typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Bits __attribute__((vector_size(4 * LANES), aligned(4)));

}  // namespace
