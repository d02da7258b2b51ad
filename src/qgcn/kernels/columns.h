// Sixteen points in hand, coordinate by coordinate.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lanes.h"

namespace {

// Turn rows into columns, in place: halves change places, then halves of halves.
INLINE void transpose(Lanes* rows) {
    Bits place;
    for (int i = 0; i < LANES; ++i) place[i] = i;
#pragma GCC unroll 4
    for (int step = LANES / 2; step; step /= 2) {
        const Bits odd = (place & step) != 0;
        const Bits low = odd ? place + (LANES - step) : place, high = odd ? place + LANES : place + step;
#pragma GCC unroll 16
        for (int i = 0; i < LANES; ++i) {
            if (i & step) continue;
            const Lanes one = rows[i], two = rows[i + step];
            rows[i] = __builtin_shuffle(one, two, low);
            rows[i + step] = __builtin_shuffle(one, two, high);
        }
    }
}

// Read sixteen points, or fewer and zeros, coordinate by coordinate; write them. Sixteen coordinates are turned at once.
INLINE void read(const float* from, int dim, int64_t count, Lanes* to) {
    int k = 0;
    for (; k + LANES <= dim && count >= LANES; k += LANES) {
        for (int i = 0; i < LANES; ++i) std::memcpy(&to[k + i], from + i * dim + k, sizeof(Lanes));
        transpose(to + k);
    }
    for (int d = k; d < dim; ++d)
        for (int i = 0; i < LANES; ++i) to[d][i] = i < count ? from[i * dim + d] : 0.0f;
}

INLINE void write(const Lanes* from, int dim, int64_t count, float* to) {
    int k = 0;
    for (; k + LANES <= dim; k += LANES) {
        Lanes rows[LANES];
        std::copy_n(from + k, LANES, rows);
        transpose(rows);
        for (int i = 0; i < count; ++i) std::memcpy(to + i * dim + k, &rows[i], sizeof(Lanes));
    }
    for (int i = 0; i < count; ++i)
        for (int d = k; d < dim; ++d) to[i * dim + d] = from[d][i];
}

INLINE Lanes dot(const Lanes* x, const Lanes* y, int begin, int end) {
    Lanes total{};
    for (int d = begin; d < end; ++d) total += x[d] * y[d];
    return total;
}

INLINE Lanes dot(const Lanes* x, const float* y, int begin, int end) {
    Lanes total{};
    for (int d = begin; d < end; ++d) total += x[d] * y[d];
    return total;
}

}  // namespace
