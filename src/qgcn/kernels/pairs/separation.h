// How points are separated: the same arithmetic as gpu_pair.py.

#pragma once

#include <algorithm>
#include <cstdint>

#include "packs.h"

namespace {

constexpr int DEGREE = 10;
constexpr float LARGE = 4096.0f;  // above it c and its sine are the same number

// First coordinate, number of coordinates, number of negative ones, of each factor.
struct Space {
    const int32_t* shape;
    int factors;
    const float* sizes;
    const float* polynomial;  // constant first, of degree DEGREE
    float limit;  // the largest squared chord it holds for
};

// Points by coordinate, each coordinate padded to `stride` numbers, in each factor divided by the length of the time part; likewise,
// of each factor, that length and its inverse.
struct Points {
    const float* x;
    const float* reach;
    int64_t stride;
    int n;
};

struct Separation {
    Vec square, side, slope, by_size;
};

// The square that is meant: of the distance, broken ones included; of the distance with its sign, see attention/energy.py; of the
// chord with its sign. Where the metric has one sign, the last two are positive.
enum Square { DISTANCE, SIGNED, CHORD };

// How points are separated in one factor, first ones in `x` and `reach`, second ones in `y` and `y_reach`; see gpu_pair.py.
// `reach` and `inverse` are the length of the time part and its inverse. A point is read by coordinate: one number, or one for each lane.
template <bool SLOPES, Square SQUARE = DISTANCE, class Mine, class Theirs, class Number>
INLINE Separation separate(const Space& space, int f, Mine mine, Theirs theirs, const Number& reach, const Number& inverse,
                           const Vec& y_reach, const Vec& y_inverse) {
    const int size = space.shape[3 * f + 1], time = space.shape[3 * f + 2];
    Separation result;
    Vec total = all(0);
    if (time == 0) {
        for (int k = 0; k < size; ++k) {
            const Vec w = mine(k) - theirs(k);
            total += w * w;
        }
        result.square = total;
        result.side = result.slope = all(1);
        result.by_size = all(0);
        return result;
    }
    Vec dot = all(0), turn = all(0);
    for (int k = 0; k < time; ++k) dot += mine(k) * theirs(k);
    const Int across = dot < 0.0f;
    const Vec side = select(across, all(-1), all(1));
    for (int k = 0; k < time; ++k) {
        const Vec w = mine(k) - side * theirs(k);
        turn += w * w;
    }
    for (int k = time; k < size; ++k) {
        const Vec w = mine(k) - side * theirs(k);
        total += w * w;
    }
    Vec gap = all(0), chord = (total - turn) * (1.0f / space.sizes[f]);
    if (time < size) {
        const Vec rise = reach - y_reach, weight = reach * y_reach * (1.0f / space.sizes[f]);
        gap = (rise * inverse) * (rise * y_inverse);
        const Vec ahead = total * weight + gap;
        chord = ahead - turn * weight;
        if (time > 1) chord = select(absolute(chord) <= CANCELLED * (ahead + turn * weight), all(0), chord);  // its sign means nothing
    }
    if (SQUARE == CHORD) {
        const float sign = time == size ? -1.0f : 1.0f;
        result.square = sign * select(across, -4.0f - chord, chord);
        if (SLOPES) {
            const Vec slope = sign * side;
            result.by_size = result.square - slope * (chord - gap);
            result.slope = slope * y_reach;
        }
        result.side = side;
        return result;
    }
    const bool mixed = SQUARE == SIGNED && 1 < time && time < size;  // both signs occur
    Int turned = across ^ across, far = across;
    Vec z;
    if (time == 1) {
        z = at_least(chord, 0.0f);
    } else {
        turned = chord < -2.0f;
        z = select(turned, -4.0f - chord, chord);
        far = turned ^ across;
    }
    const Vec inner = at_most(z, space.limit);
    Vec slope = all(space.polynomial[DEGREE]);
    for (int k = DEGREE - 1; k >= 0; --k) slope = slope * inner + space.polynomial[k];
    const Vec product = inner * (inner * 0.25f + 1.0f);
    Vec square = absolute(product * slope * slope);
    Vec sine = absolute(product);
    if (time < size) {
        const Vec cosine = at_least(z, space.limit) * 0.5f + 1.0f;
        const Vec outer = select(cosine > LARGE, cosine, root(cosine * cosine - 1.0f));
        const Vec arc = log(cosine + outer);
        const Int beyond = z > space.limit;
        square = select(beyond, arc * arc, square);
        sine = select(beyond, outer * outer, sine);
        if (SLOPES) slope = select(beyond, arc / outer, slope);
    }
    const Int negative = z < 0.0f;
    if (mixed) square = select(negative, -square, square);
    if (SLOPES && time > 1 && !mixed) slope = time == size ? -slope : select(negative, -slope, slope);
    if (any(far)) {  // past the antipode, around it
        const Vec arc = root(absolute(square));
        const Vec around = time == 1 ? PI + arc : select(negative, PI - arc, PI + arc);
        if (mixed) {  // past the antipode: half a turn in time, then the rest; before it, what is left of half a turn
            square = select(far, select(negative, -around * around, square - PI * PI), square);
            if (SLOPES) slope = select(far & negative, select(sine > 0.0f, -around / root(sine), all(0)), slope);
        } else {
            square = select(far, around * around, square);
            if (SLOPES) slope = select(far, select(sine > 0.0f, around / root(sine), all(0)), slope);
        }
    }
    result.square = square;
    if (SLOPES) {
        slope = select(turned, -slope, slope);
        result.by_size = square - slope * (chord - gap);
        result.slope = slope * y_reach;
    }
    result.side = side;
    return result;
}

template <bool SLOPES>
INLINE Vec squared_distance(const Space& space, const Points& points, int64_t row, int64_t column, Separation* parts) {
    Vec total = all(0);
    for (int f = 0; f < space.factors; ++f) {
        const float *from = points.x + space.shape[3 * f] * points.stride, *reach = points.reach + 2 * f * points.stride;
        const int64_t stride = points.stride;
        const Separation part = separate<SLOPES>(
            space, f, [=](int k) { return from[k * stride + row]; }, [=](int k) { return load(from + k * stride + column); },
            reach[row], reach[stride + row], load(reach + column), load(reach + stride + column));
        total += part.square * space.sizes[f];
        if (SLOPES) parts[f] = part;
    }
    return total;
}

INLINE void distances_from(const Space& space, const Points& points, int64_t row, float* out) {
    for (int column = 0; column < points.n; column += WORD) {
        const Vec distance = root(squared_distance<false>(space, points, row, column, nullptr));
        __builtin_memcpy(out + column, &distance, sizeof(float) * std::min(WORD, points.n - column));
    }
}

}  // namespace
