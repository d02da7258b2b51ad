// Columns in hand: vectors of sixteen, several of them so that one computes while another waits.

#pragma once

#include <cstdint>
#include <limits>

#include "../lanes.h"

namespace {

constexpr int WORD = 32;  // columns whose bits stand in one word
constexpr int PACK = 2;
static_assert(PACK * LANES == WORD, "a word of bits is a pack of lanes");
constexpr float INF = std::numeric_limits<float>::infinity();

struct Int {
    Bits of[PACK];
};

struct Vec {
    Lanes of[PACK];
};

#define EACH for (int p = 0; p < PACK; ++p)
#define OPERATOR(symbol, Result)                                                             \
    INLINE Result operator symbol(const Vec& x, const Vec& y) {                              \
        Result r;                                                                            \
        EACH r.of[p] = x.of[p] symbol y.of[p];                                               \
        return r;                                                                            \
    }                                                                                        \
    INLINE Result operator symbol(const Vec& x, float y) {                                   \
        Result r;                                                                            \
        EACH r.of[p] = x.of[p] symbol y;                                                     \
        return r;                                                                            \
    }                                                                                        \
    INLINE Result operator symbol(float x, const Vec& y) {                                   \
        Result r;                                                                            \
        EACH r.of[p] = x symbol y.of[p];                                                     \
        return r;                                                                            \
    }

OPERATOR(+, Vec)
OPERATOR(-, Vec)
OPERATOR(*, Vec)
OPERATOR(/, Vec)
OPERATOR(<, Int)
OPERATOR(>, Int)
OPERATOR(<=, Int)
OPERATOR(>=, Int)

INLINE Vec& operator+=(Vec& x, const Vec& y) { return x = x + y; }
INLINE Vec& operator-=(Vec& x, const Vec& y) { return x = x - y; }
INLINE Vec& operator*=(Vec& x, const Vec& y) { return x = x * y; }
INLINE Vec operator-(const Vec& x) { return 0.0f - x; }
INLINE Int operator&(const Int& x, const Int& y) {
    Int r;
    EACH r.of[p] = x.of[p] & y.of[p];
    return r;
}
INLINE Int operator^(const Int& x, const Int& y) {
    Int r;
    EACH r.of[p] = x.of[p] ^ y.of[p];
    return r;
}

INLINE Vec all(float value) {
    Vec r;
    EACH r.of[p] = Lanes{} + value;
    return r;
}

INLINE Vec load(const float* from) {
    Vec r;
    EACH r.of[p] = *reinterpret_cast<const Lanes*>(from + p * LANES);
    return r;
}

INLINE Vec select(const Int& mask, const Vec& yes, const Vec& no) {
    Vec r;
    EACH r.of[p] = mask.of[p] ? yes.of[p] : no.of[p];
    return r;
}

INLINE Vec absolute(const Vec& x) {
    Vec r;
    EACH r.of[p] = reinterpret_cast<Lanes>(reinterpret_cast<Bits>(x.of[p]) & 0x7fffffff);
    return r;
}

INLINE Vec at_least(const Vec& x, float low) { return select(x < low, all(low), x); }  // keeps NaN, as the next
INLINE Vec at_most(const Vec& x, float high) { return select(x > high, all(high), x); }

INLINE bool any(const Int& mask) {
    Bits together = mask.of[0];
    for (int p = 1; p < PACK; ++p) together |= mask.of[p];
    int32_t found = 0;
    for (int i = 0; i < LANES; ++i) found |= together[i];
    return found != 0;
}

INLINE Vec root(const Vec& x) {
    Vec r;
    EACH for (int i = 0; i < LANES; ++i) r.of[p][i] = __builtin_sqrtf(x.of[p][i]);
    return r;
}

INLINE float sum(const Vec& x) {
    float total = 0;
    EACH for (int i = 0; i < LANES; ++i) total += x.of[p][i];
    return total;
}

INLINE float highest(const Vec& x) {
    Lanes top = x.of[0];
    for (int p = 1; p < PACK; ++p) top = x.of[p] > top ? x.of[p] : top;
    float found = top[0];
    for (int i = 1; i < LANES; ++i) found = top[i] > found ? top[i] : found;
    return found;
}

// 2^x, zero below the smallest normal number; relative error 2e-7
INLINE Vec exp2(const Vec& x) {
    const Vec bounded = at_most(at_least(x, -126.0f), 127.0f);
    const Vec magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Vec shifted = bounded + magic;
    const Vec f = bounded - (shifted - magic);  // in [-1/2, 1/2]
    Vec y = all(1.5403530393381608e-4f);
    y = y * f + 1.3333558146428443e-3f;
    y = y * f + 9.6181291076284772e-3f;
    y = y * f + 5.5504108664821580e-2f;
    y = y * f + 2.4022650695910072e-1f;
    y = y * f + 6.9314718055994531e-1f;
    y = y * f + 1.0f;
    EACH {
        const Bits exponent = (reinterpret_cast<Bits>(shifted.of[p]) - reinterpret_cast<Bits>(magic.of[p])) << 23;
        y.of[p] = reinterpret_cast<Lanes>(reinterpret_cast<Bits>(y.of[p]) + exponent);
    }
    return select(x < -126.0f, all(0), y);
}

// natural logarithm of numbers of at least 1; relative error 1e-7
INLINE Vec log(const Vec& x) {
    Vec m, e;
    EACH {
        const Bits bits = reinterpret_cast<Bits>(x.of[p]);
        const Bits exponent = (bits - 0x3f3504f3) >> 23;  // so that the fraction is in [sqrt(1/2), sqrt(2))
        m.of[p] = reinterpret_cast<Lanes>(bits - (exponent << 23)) - 1.0f;
        e.of[p] = __builtin_convertvector(exponent, Lanes);
    }
    const Vec square = m * m;
    Vec y = all(7.0376836292e-2f);
    y = y * m + -1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m + -1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m + -1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m + -2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * square + e * -2.12194440e-4f - 0.5f * square;
    return select(x < INF, m + y + e * 0.693359375f, x);  // infinity and NaN stay what they are
}

}  // namespace
