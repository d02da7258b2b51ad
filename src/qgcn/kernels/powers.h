// Functions of sixteen numbers: exponentials and logarithms.

#pragma once

#include <limits>

#include "angles.h"

namespace {

// e^x for numbers that are not positive, zero below the smallest normal number; relative error 3e-7
INLINE Lanes decay(const Lanes& x) {
    const Lanes scaled = x * 1.44269504088896f, bounded = select(scaled < -126.0f, all(-126.0f), scaled);
    const Lanes magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Lanes shifted = bounded + magic, f = bounded - (shifted - magic);
    Lanes y = all(1.5403530393381608e-4f);
    y = y * f + 1.3333558146428443e-3f;
    y = y * f + 9.6181291076284772e-3f;
    y = y * f + 5.5504108664821580e-2f;
    y = y * f + 2.4022650695910072e-1f;
    y = y * f + 6.9314718055994531e-1f;
    y = y * f + 1.0f;
    const Bits exponent = (reinterpret_cast<Bits>(shifted) - reinterpret_cast<Bits>(magic)) << 23;
    return select(scaled < -126.0f, all(0), reinterpret_cast<Lanes>(reinterpret_cast<Bits>(y) + exponent));
}

// Natural logarithm of positive normal numbers; infinity and NaN stay what they are.
INLINE Lanes logarithm(const Lanes& x) {
    const Bits bits = reinterpret_cast<Bits>(x), exponent = (bits - 0x3f3504f3) >> 23;
    const Lanes m = reinterpret_cast<Lanes>(bits - (exponent << 23)) - 1.0f, e = __builtin_convertvector(exponent, Lanes);
    const Lanes square = m * m;
    Lanes y = all(7.0376836292e-2f);
    y = y * m + -1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m + -1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m + -1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m + -2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * square + e * -2.12194440e-4f - 0.5f * square;
    return select(x < std::numeric_limits<float>::infinity(), m + y + e * 0.693359375f, x);
}

}  // namespace
