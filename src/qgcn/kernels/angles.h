// Functions of sixteen numbers: sums, roots, sines and angles.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "lanes.h"

namespace {

INLINE Lanes all(float value) { return Lanes{} + value; }

INLINE Lanes select(const Bits& mask, const Lanes& yes, const Lanes& no) { return mask ? yes : no; }

INLINE Lanes absolute(const Lanes& x) { return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(x) & 0x7fffffff); }

INLINE Lanes root_of(const Lanes& x) {
    Lanes r;
    for (int i = 0; i < LANES; ++i) r[i] = __builtin_sqrtf(x[i]);
    return r;
}

INLINE float sum(const Lanes& x) {
    float half[LANES];
    std::memcpy(half, &x, sizeof(half));
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) half[i] += half[i + width];
    return half[0];
}

INLINE bool any(const Bits& mask) {
    int32_t found = 0;
    for (int i = 0; i < LANES; ++i) found |= mask[i];
    return found != 0;
}

// Sine and cosine of numbers that are not negative.
INLINE void sine_cosine(const Lanes& x, Lanes& sine, Lanes& cosine) {
    if (any(x > 8192.0f)) {  // the quarter turns of such numbers are not known well enough below
        for (int i = 0; i < LANES; ++i) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
        return;
    }
    const Lanes magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Lanes shifted = x * 0.636619772367581f + magic, turns = shifted - magic;
    const Bits quarter = reinterpret_cast<Bits>(shifted);
    Lanes r = x - turns * 1.5703125f;  // pi / 2, in three parts
    r = r - turns * 4.837512969970703125e-4f;
    r = r - turns * 7.54978995489188216e-8f;
    const Lanes z = r * r;
    const Lanes s = r + r * z * (((-1.9515295891e-4f * z) + 8.3321608736e-3f) * z - 1.6666654611e-1f);
    const Lanes c = 1.0f - 0.5f * z + z * z * ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f);
    const Bits odd = (quarter & 1) != 0;
    sine = select((quarter & 2) != 0, -select(odd, c, s), select(odd, c, s));
    cosine = select(((quarter + 1) & 2) != 0, -select(odd, s, c), select(odd, s, c));
}

// The angle between (x, y) and the first axis, for y that is not negative.
INLINE Lanes angle(const Lanes& y, const Lanes& x) {
    const Lanes across = absolute(x);
    const Bits steep = across < y;
    const Lanes t = select(steep, across, y) / select(steep, y, across);
    const Bits far = t > 0.4142135623730950f;  // the tangent of an eighth of a half turn
    const Lanes r = select(far, (t - 1.0f) / (t + 1.0f), t), z = r * r;
    Lanes a = r + r * z * (((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f);
    a = select(far, a + 0.25f * PI, a);
    a = select(steep, 0.5f * PI - a, a);
    return select(x < 0.0f, PI - a, a);
}

// S' for negative arguments: its series where the quotient would cancel.
INLINE Lanes sine_slope(const Lanes& z, const Lanes& cosine, const Lanes& sine) {
    const Lanes series =
        1 / 6.0f + z * (1 / 60.0f + z * (1 / 1680.0f + z * (1 / 90720.0f + z * (1 / 7983360.0f + z / 1037836800.0f))));
    return select(z < -1.0f, (cosine - sine) / (2 * z), series);
}

}  // namespace
