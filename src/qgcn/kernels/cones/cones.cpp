// The objective of entailment on the CPU. cpu.py compiles this file and says what the arguments are; the formulas of margins
// are those of qgcn/nn/cones.py, their derivatives stand beside them.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../columns.h"
#include "../parallel.h"
#include "../powers.h"

namespace {

// Coordinates of sixteen rows, or their gradient.
struct Columns {
    Lanes at[LANES];
};

struct Form {
    int width;   // coordinates of a row
    float root;  // radius of curvature
};

enum Kind { STRAIGHT, ARC, BALL, REACH, ORDER, CONE, SHADOW };  // as in cpu.py

INLINE Lanes over(const Lanes& x, const Lanes& y) { return select(y > 0.0f, x / select(y > 0.0f, y, all(1)), Lanes{}); }

// Distance of places, and, for unit vectors, that to the opposite of the other: both give the angle.
template <int BEGIN, bool ROUND>
struct Gap {
    Lanes near{}, far{}, angle{};

    INLINE Gap(const Columns& x, const Columns& y, int width) {
        for (int d = BEGIN; d < width; ++d) {
            const Lanes step = x.at[d] - y.at[d], both = x.at[d] + y.at[d];
            near += step * step;
            if (ROUND) far += both * both;
        }
        near = root_of(near);
        if (!ROUND) return;
        far = root_of(far);
        angle = 2 * ::angle(near, far);
    }

    // Add the gradient, given that with respect to the distance, or to the angle.
    INLINE void back(const Lanes& given, const Columns& x, const Columns& y, int width, Columns& to_x, Columns& to_y) const {
        const Lanes scale = ROUND ? 2 * given / (near * near + far * far) : given;
        const Lanes along = ROUND ? scale * over(far, near) : over(scale, near), across = ROUND ? scale * over(near, far) : Lanes{};
        for (int d = BEGIN; d < width; ++d) {
            const Lanes step = along * (x.at[d] - y.at[d]);
            to_x.at[d] += step;
            to_y.at[d] -= step;
            if (!ROUND) continue;
            const Lanes both = across * (x.at[d] + y.at[d]);
            to_x.at[d] -= both;
            to_y.at[d] -= both;
        }
    }
};

// How far each second row is from the cone of the first, and the gradient of that.
template <Kind KIND>
struct Margin;

template <>
struct Margin<STRAIGHT> {  // time, place
    Gap<1, false> gap;
    Lanes value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        value = gap.near - (y.at[0] - x.at[0]);
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        gap.back(given, x, y, in.width, to_x, to_y);
        to_x.at[0] += given;
        to_y.at[0] -= given;
    }
};

template <>
struct Margin<ARC> {  // time, unit vector
    Gap<1, true> gap;
    Lanes value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        value = in.root * gap.angle - (y.at[0] - x.at[0]);
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        gap.back(in.root * given, x, y, in.width, to_x, to_y);
        to_x.at[0] += given;
        to_y.at[0] -= given;
    }
};

template <>
struct Margin<BALL> {  // radius, unit vector
    Gap<1, true> gap;
    Lanes reach, value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        reach = gap.angle + y.at[0];
        value = in.root * logarithm(reach / x.at[0]);
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        const Lanes slope = in.root * given / reach;
        gap.back(slope, x, y, in.width, to_x, to_y);
        to_x.at[0] -= in.root * given / x.at[0];
        to_y.at[0] += slope;
    }
};

template <>
struct Margin<REACH> {  // time, 1 - |p|^2, place p in the Poincare ball
    Gap<2, false> gap;
    Lanes share, z, value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        share = root_of(x.at[1] * y.at[1]);
        z = gap.near / share;
        value = 2 * in.root * logarithm(z + root_of(1 + z * z)) - (y.at[0] - x.at[0]);
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        const Lanes slope = 2 * in.root * given / root_of(1 + z * z);
        gap.back(slope / share, x, y, in.width, to_x, to_y);
        to_x.at[1] -= slope * z / (2 * x.at[1]);
        to_y.at[1] -= slope * z / (2 * y.at[1]);
        to_x.at[0] += given;
        to_y.at[0] -= given;
    }
};

template <>
struct Margin<ORDER> {  // coordinates
    Lanes value{};

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) {
        for (int d = 0; d < in.width; ++d) {
            const Lanes step = x.at[d] - y.at[d], less = select(step > 0.0f, step, Lanes{});
            value += less * less;
        }
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        for (int d = 0; d < in.width; ++d) {
            const Lanes step = x.at[d] - y.at[d], less = 2 * given * select(step > 0.0f, step, Lanes{});
            to_x.at[d] += less;
            to_y.at[d] -= less;
        }
    }
};

template <>
struct Margin<CONE> {  // half the aperture, norm in the Poincare ball, unit vector
    Gap<2, true> gap;
    Lanes cosine, sine, along, across, ahead, aside, square, value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        const Lanes &near = x.at[1], &far = y.at[1], total = gap.near * gap.near + gap.far * gap.far;
        cosine = (gap.far - gap.near) * (gap.far + gap.near) / total;
        sine = 2 * gap.near * gap.far / total;
        along = far * cosine;
        across = far * sine;
        ahead = (1 - near * near) * along - (1 - 2 * near * along + far * far) * near;
        aside = (1 - near * near) * across;
        square = ahead * ahead + aside * aside;
        const Bits apart = square > 0.0f;
        value = select(apart, angle(aside, select(apart, ahead, all(1))), Lanes{}) - x.at[0];
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        const Lanes &near = x.at[1], &far = y.at[1];
        const Lanes by_ahead = over(-given * aside, square), by_aside = over(given * ahead, square);
        const Lanes by_along = by_ahead * (1 + near * near), by_across = by_aside * (1 - near * near);
        to_x.at[0] -= given;
        to_x.at[1] += by_ahead * (2 * near * along - 1 - far * far) - 2 * by_aside * near * across;
        to_y.at[1] += by_along * cosine + by_across * sine - 2 * by_ahead * near * far;
        gap.back(by_across * along - by_along * across, x, y, in.width, to_x, to_y);
    }
};

template <>
struct Margin<SHADOW> {  // radius, place
    Gap<1, false> gap;
    Lanes reach, value;

    INLINE Margin(const Form& in, const Columns& x, const Columns& y) : gap(x, y, in.width) {
        reach = gap.near + y.at[0];
        value = logarithm(reach / x.at[0]);
    }
    INLINE void back(const Form& in, const Lanes& given, const Columns& x, const Columns& y, Columns& to_x, Columns& to_y) const {
        gap.back(given / reach, x, y, in.width, to_x, to_y);
        to_x.at[0] -= given / x.at[0];
        to_y.at[0] += given / reach;
    }
};

// log(1 + e^x), and its derivative.
INLINE Lanes softplus(const Lanes& x, Lanes& slope) {
    const Lanes small = decay(-absolute(x)), whole = 1 + small;
    slope = select(x > 0.0f, all(1), small) / whole;
    return select(x > 0.0f, x, Lanes{}) + logarithm(whole);
}

// What is learned beside the rows, and how much a pair of either kind weighs.
struct Rule {
    float sharpness, steepness, threshold, right, wrong, each;
};

constexpr int SUMS = 5;

// Sums: the objective, and its derivatives by sharpness, steepness, threshold and radius of curvature.
struct Sums {
    double of[SUMS] = {};

    INLINE void add(const Lanes& loss, const Lanes& sharp, const Lanes& steep, const Lanes& least) {
        of[0] += sum(loss), of[1] += sum(sharp), of[2] += sum(steep), of[3] += sum(least);
    }
};

// Weigh sixteen margins; return the derivative of the objective by them. `counted` is 1 for those that count.
template <bool RIGHT>
INLINE Lanes weigh(const Rule& by, const Lanes& margin, const Lanes& counted, Sums& sums) {
    constexpr float SIGN = RIGHT ? 1.0f : -1.0f;
    Lanes slope, pull;
    const Lanes weight = counted * (RIGHT ? by.right : by.wrong), each = counted * (RIGHT ? by.right : by.each);
    const Lanes cost = softplus(SIGN * by.sharpness * margin, slope);
    const Lanes fit = softplus(-SIGN * (by.threshold - by.steepness * margin), pull);
    slope *= SIGN * weight;
    pull *= -SIGN * each;
    sums.add(cost * weight + fit * each, slope * margin, -pull * margin, pull);
    return slope * by.sharpness;
}

INLINE void fetch(const float* rows, const int64_t* which, int count, Columns& to) {
    for (int i = 0; i < LANES; ++i) std::memcpy(&to.at[i], rows + which[i < count ? i : 0] * LANES, sizeof(Lanes));
    transpose(to.at);
}

INLINE void scatter(Columns& from, const int64_t* which, int count, float* rows) {
    transpose(from.at);
    for (int i = 0; i < count; ++i) {
        Lanes row;
        std::memcpy(&row, rows + which[i] * LANES, sizeof(Lanes));
        row += from.at[i];
        std::memcpy(rows + which[i] * LANES, &row, sizeof(Lanes));
    }
}

// 1 for those that count, 0 for others and beyond the last.
INLINE Lanes chosen(const uint8_t* counted, int count) {
    Lanes found{};
    for (int i = 0; i < count; ++i) found[i] = counted[i];
    return found;
}

struct Pairs {
    const int64_t *above, *below, *others, *sources;  // the last two (K, E)
    const uint8_t *count_others, *count_sources;      // (K, E): which of these count
    int64_t count;
    int negatives;
};

template <Kind KIND, bool RIGHT>
INLINE void take(const Form& in, const Rule& by, const Columns& x, const Columns& y, const Lanes& counted, Columns& to_x,
                 Columns& to_y, Sums& sums) {
    const Margin<KIND> margin(in, x, y);
    const Lanes slope = weigh<RIGHT>(by, margin.value, counted, sums);
    if (KIND == ARC || KIND == REACH)
        sums.of[4] += sum(slope * (margin.value + (y.at[0] - x.at[0]))) / in.root;
    else if (KIND == BALL)
        sums.of[4] += sum(slope * margin.value) / in.root;
    margin.back(in, slope, x, y, to_x, to_y);
}

template <Kind KIND>
void run(const Form& in, const Rule& by, const Pairs& pairs, int64_t begin, int64_t end, const float* rows, float* to_rows,
         double* out) {
    Sums sums;
    for (int64_t at = begin; at < end; at += LANES) {
        const int count = static_cast<int>(std::min<int64_t>(LANES, end - at));
        for (int64_t k = 0; k < pairs.negatives && at + 2 * LANES <= end; ++k)
            for (int i = 0; i < LANES; ++i)
                for (const int64_t* ends : {pairs.others, pairs.sources}) {
                    const int64_t next = ends[k * pairs.count + at + LANES + i] * LANES;
                    __builtin_prefetch(rows + next);
                    __builtin_prefetch(to_rows + next, 1);
                }
        Lanes inside;
        for (int i = 0; i < LANES; ++i) inside[i] = i < count;
        Columns x, y, to_x{}, to_y{};
        fetch(rows, pairs.above + at, count, x);
        fetch(rows, pairs.below + at, count, y);
        take<KIND, true>(in, by, x, y, inside, to_x, to_y, sums);
        take<KIND, false>(in, by, y, x, inside, to_y, to_x, sums);
        for (int64_t k = 0; k < pairs.negatives; ++k) {
            const int64_t place = k * pairs.count + at;
            Columns z, to_z{};
            fetch(rows, pairs.others + place, count, z);
            take<KIND, false>(in, by, x, z, chosen(pairs.count_others + place, count), to_x, to_z, sums);
            scatter(to_z, pairs.others + place, count, to_rows);
            to_z = Columns{};
            fetch(rows, pairs.sources + place, count, z);
            take<KIND, false>(in, by, z, y, chosen(pairs.count_sources + place, count), to_z, to_y, sums);
            scatter(to_z, pairs.sources + place, count, to_rows);
        }
        scatter(to_x, pairs.above + at, count, to_rows);
        scatter(to_y, pairs.below + at, count, to_rows);
    }
    std::copy_n(sums.of, SUMS, out);
}

// Whether sorted numbers have one: a search without jumps that depend on what is found, which a processor cannot foresee.
INLINE bool holds(const int64_t* sorted, int64_t count, int64_t wanted) {
    if (count == 0) return false;
    while (count > 1) {
        const int64_t half = count / 2;
        sorted += sorted[half] <= wanted ? half : 0;
        count -= half;
    }
    return *sorted == wanted;
}

}  // namespace

extern "C" {

// The objective with all its derivatives; every part, of so many pairs, has its own gradient of the rows and its own sums.
void objective(const float* rows, int64_t nodes, int32_t width, int32_t kind, float root, const int64_t* pairs,
               const int64_t* ends, const uint8_t* counted, int64_t count, int32_t negatives, const float* rule, int32_t parts,
               float* to_rows, double* sums) {
    const Form in{width, root};
    const Rule by{rule[0], rule[1], rule[2], rule[3], rule[4], rule[5]};
    const int64_t half = negatives * count;
    const Pairs given{pairs, pairs + count, ends, ends + half, counted, counted + half, count, negatives};
    const int64_t blocks = (count + LANES - 1) / LANES, each = (blocks + parts - 1) / parts * LANES;
    for_each(parts, parts, [&](int64_t part) {
        const int64_t begin = std::min(part * each, count), end = std::min(begin + each, count);
        float* to = to_rows + part * nodes * LANES;
        double* out = sums + part * SUMS;
        switch (kind) {
            case STRAIGHT: return run<STRAIGHT>(in, by, given, begin, end, rows, to, out);
            case ARC: return run<ARC>(in, by, given, begin, end, rows, to, out);
            case BALL: return run<BALL>(in, by, given, begin, end, rows, to, out);
            case REACH: return run<REACH>(in, by, given, begin, end, rows, to, out);
            case ORDER: return run<ORDER>(in, by, given, begin, end, rows, to, out);
            case CONE: return run<CONE>(in, by, given, begin, end, rows, to, out);
            default: return run<SHADOW>(in, by, given, begin, end, rows, to, out);
        }
    });
}

// Which second nodes are among those of the first: `seconds` of a node stand from begin[node] on, sorted.
void among(const int64_t* begin, const int64_t* seconds, const int64_t* first, const int64_t* second, int64_t count,
           int64_t rounds, uint8_t* out) {
    for (int64_t e = 0; e < count; ++e) {
        const int64_t low = begin[first[e]], length = begin[first[e] + 1] - low;
        for (int64_t at = e; at < rounds * count; at += count) out[at] = holds(seconds + low, length, second[at]);
    }
}

}  // extern "C"
