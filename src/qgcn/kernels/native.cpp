// Sums over all pairs of points on the CPU: one row at a time against sixteen columns at a time, rows shared out among threads.
// The same arithmetic as kernels/gpu.py; cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int LANES = 16;
constexpr int WORD = 32;  // columns whose bits stand in one word
constexpr int PACK = 2;
constexpr int STEP = 4;  // words between two looks at the largest term of a sum
static_assert(PACK * LANES == WORD, "a word of bits is a pack of lanes");
constexpr int DEGREE = 10;
constexpr float PI = 3.14159265358979f;
constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float LARGE = 4096.0f;  // above it c and its sine are the same number

// Columns in hand: vectors of sixteen, several of them so that one computes while another waits.
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Bits __attribute__((vector_size(4 * LANES), aligned(4)));

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

// First coordinate, number of coordinates, number of negative ones, of each factor.
struct Space {
    const int32_t* shape;
    int factors;
    const float* sizes;
    const float* polynomial;  // constant first, of degree DEGREE
    float limit;  // the largest squared chord it holds for
};

// Points by coordinate, each coordinate padded to `stride` numbers; likewise, of each factor, the power of two that says how far
// out they are, and its inverse.
struct Points {
    const float* x;
    const float* reach;
    int64_t stride;
    int n;
};

struct Separation {
    Vec square, scale, slope, by_size;
};

// How points are separated in one factor, first ones in `x` and `reach`, second ones in `y` and `y_reach`; see kernels/gpu_pair.py.
// `reach` and `y_reach` are the power of two and its inverse. A point is read by coordinate: one number, or one for each lane.
template <bool SLOPES, class Mine, class Theirs, class Number>
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
        result.scale = result.slope = all(1);
        result.by_size = all(0);
        return result;
    }
    Vec dot = all(0);
    for (int k = 0; k < time; ++k) dot += mine(k) * theirs(k);
    Vec length = all(1), shorten = all(1);
    if (time < size) {
        const Vec ratio = reach * y_inverse;
        const Int alike = (ratio <= 2.0f) & (ratio >= 0.5f);
        length = select(alike, all(1), ratio);
        shorten = select(alike, all(1), inverse * y_reach);
    }
    const Int across = dot < 0.0f;
    const Vec scale = select(across, -length, length);
    for (int k = 0; k < time; ++k) {
        const Vec w = mine(k) - scale * theirs(k);
        total -= w * w;
    }
    for (int k = time; k < size; ++k) {
        const Vec w = mine(k) - scale * theirs(k);
        total += w * w;
    }
    const Vec gap = (1.0f - length) * (1.0f - length);
    const Vec chord = (total * (1.0f / space.sizes[f]) + gap) * shorten;
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
    if (SLOPES && time > 1) slope = time == size ? -slope : select(negative, -slope, slope);
    if (any(far)) {  // past the antipode, around it
        const Vec arc = root(square);
        const Vec around = time == 1 ? PI + arc : select(negative, PI - arc, PI + arc);
        square = select(far, around * around, square);
        if (SLOPES) slope = select(far, select(sine > 0.0f, around / root(sine), all(0)), slope);
    }
    result.square = square;
    if (SLOPES) {
        slope = select(turned, -slope, slope);
        result.by_size = square - slope * (chord - gap * shorten);
        result.slope = slope * shorten;
    }
    result.scale = scale;
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

// Bits of the columns that are left out, word by word.
struct Words {
    const int32_t *start, *word, *bits;
};

struct Cursor {
    const Words& words;
    int32_t at, end;
    Cursor(const Words& words, int64_t row) : words(words), at(words.start[row]), end(words.start[row + 1]) {}
    uint32_t take(int32_t word) { return at < end && words.word[at] == word ? static_cast<uint32_t>(words.bits[at++]) : 0u; }
};

INLINE Int left_out(uint32_t bits) {
    Int r;
    EACH {
        Bits lane;
        for (int i = 0; i < LANES; ++i) lane[i] = static_cast<int32_t>(1u << (p * LANES + i));
        r.of[p] = (static_cast<int32_t>(bits) & lane) != 0;
    }
    return r;
}

INLINE uint32_t beyond(int64_t column, int n) {  // bits of the columns past the last
    const int64_t inside = n - column;
    return inside >= WORD ? 0u : ~0u << inside;
}

// Call `task(row)` for all rows, a few at a time on each thread.
template <class Task>
void for_rows(int64_t first, int64_t count, int threads, Task task) {
    constexpr int64_t BATCH = 8;
    std::atomic<int64_t> next{0};
    const auto work = [&] {
        for (int64_t begin; (begin = next.fetch_add(BATCH)) < count;)
            for (int64_t i = begin; i < std::min(begin + BATCH, count); ++i) task(first + i, i);
    };
    std::vector<std::thread> others;
    try {
        for (int i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads are to be had: those there are do the work
    }
    work();
    for (auto& thread : others) thread.join();
}

}  // namespace

extern "C" {

// The base-2 logarithm of each row's sum of 2^(-tau E).
void log_sum(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
             const float* sizes, const float* polynomial, float limit, float tau, int32_t squared,
             const int32_t* start, const int32_t* word, const int32_t* bits, int64_t first, int64_t count, int32_t threads,
             float* out) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    const Words words{start, word, bits};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        Cursor cursor(words, row);
        float reference = -INF;
        uint32_t some = 0;  // not zero if a column is not left out
        Vec total = all(0);
        for (int64_t column = 0; column < n; column += STEP * WORD) {
            Vec value[STEP], top = all(-INF);
            const int words_here = static_cast<int>(std::min<int64_t>(STEP, (n - column + WORD - 1) / WORD));
            for (int v = 0; v < words_here; ++v) {
                const int64_t at = column + v * WORD;
                const uint32_t masked = cursor.take(static_cast<int32_t>(at / WORD)) | beyond(at, n);
                some |= ~masked;
                Vec energy = squared_distance<false>(space, points, row, at, nullptr);
                if (!squared) energy = root(energy);
                value[v] = select(left_out(masked), all(-INF), -tau * energy);
                top = select(value[v] > top, value[v], top);
            }
            const float largest = highest(top);
            if (largest > reference + 32) {  // 2^32 times larger than what the sum is counted in: count in that
                total = reference > -INF ? total * std::exp2(reference - largest) : all(0);
                reference = largest;
            }
            if (reference > -INF)
                for (int v = 0; v < words_here; ++v) total += exp2(value[v] - reference);
        }
        // without a number among its terms a sum is none either
        out[i] = reference > -INF ? reference + std::log2(sum(total)) : some ? std::numeric_limits<float>::quiet_NaN() : -INF;
    });
}

// Sums over all pairs of a row, weighted by weight * 2^(shift - tau E) of either end: of half the slope of the energy by the
// row's point (out_x, by point), and of the energy and its slopes by the sizes (out_rest, by row).
void log_sum_gradient(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
                      const float* sizes, const float* polynomial, float limit, float tau, int32_t squared,
                      const float* shift, const float* weight, const int32_t* start, const int32_t* word, const int32_t* bits,
                      const int32_t* back_start, const int32_t* back_word, const int32_t* back_bits, int64_t first,
                      int64_t count, int32_t threads, int32_t dim, float* out_x, float* out_rest) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    const Words words{start, word, bits}, back{back_start, back_word, back_bits};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        Cursor cursor(words, row), back_cursor(back, row);
        const float row_shift = shift[row], row_weight = weight[row];
        Separation parts[MOST_FACTORS];
        Vec by_energy = all(0), by_size[MOST_FACTORS];
        std::fill_n(by_size, factors, all(0));
        std::vector<Vec> to_x(dim, all(0));
        for (int64_t column = 0; column < n; column += WORD) {
            const int32_t index = static_cast<int32_t>(column / WORD);
            const uint32_t outside = beyond(column, n);
            const uint32_t masked = cursor.take(index) | outside, back_masked = back_cursor.take(index) | outside;
            Vec energy = squared_distance<true>(space, points, row, column, parts);
            if (!squared) energy = root(energy);
            const Vec cost = tau * energy;
            const Vec own = select(left_out(masked), all(0), row_weight * exp2(row_shift - cost));
            const Vec other = load(weight + column) * exp2(load(shift + column) - cost);
            Vec both = own + select(left_out(back_masked), all(0), other), changed = own;
            if (!squared) {  // the derivative of the root, zero at zero
                const Vec slope = select(energy > 0.0f, 0.5f / energy, all(0));
                both *= slope;
                changed *= slope;
            }
            by_energy += own * energy;
            for (int f = 0; f < factors; ++f) {
                by_size[f] += changed * parts[f].by_size;
                const int begin = shape[3 * f], middle = begin + shape[3 * f + 2], end = begin + shape[3 * f + 1];
                const Vec push = both * parts[f].slope, scale = parts[f].scale;
                const auto difference = [&](int k) { return x[k * stride + row] - scale * load(x + k * stride + column); };
                for (int k = begin; k < middle; ++k) to_x[k] -= push * difference(k);
                for (int k = middle; k < end; ++k) to_x[k] += push * difference(k);
            }
        }
        for (int k = 0; k < dim; ++k) out_x[i * dim + k] = sum(to_x[k]);
        out_rest[i * (factors + 1)] = sum(by_energy);
        for (int f = 0; f < factors; ++f) out_rest[i * (factors + 1) + 1 + f] = sum(by_size[f]);
    });
}

// Distances from some rows to all points, out[i * n + j].
void distances(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
               const float* sizes, const float* polynomial, float limit, int64_t first, int64_t count,
               int32_t threads, float* out) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) { distances_from(space, points, row, out + i * n); });
}

// The average precision of each row: how well its nearest points are its neighbours, ties counted against it; 0 for a row
// without neighbours, NaN if a distance is none.
void average_precision(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
                       const float* sizes, const float* polynomial, float limit, const int64_t* start,
                       const int64_t* target, int64_t first, int64_t count, int32_t threads, double* out) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        thread_local std::vector<float> distance, bound;
        thread_local std::vector<int64_t> within;
        distance.resize(n);
        distances_from(space, points, row, distance.data());
        bool sane = true;
        for (int j = 0; j < n; ++j) sane &= distance[j] == distance[j];
        if (!sane) {  // what is no number can neither be sorted nor counted
            out[i] = std::numeric_limits<double>::quiet_NaN();
            return;
        }
        bound.clear();
        for (int64_t e = start[row]; e < start[row + 1]; ++e) bound.push_back(distance[target[e]]);
        std::sort(bound.begin(), bound.end());
        within.assign(bound.size() + 1, 0);
        const float last = bound.empty() ? -INF : bound.back();
        distance[row] = 0;
        for (int j = 0; j < n; ++j)  // count each point at the first bound it is within
            if (distance[j] <= last) ++within[std::lower_bound(bound.begin(), bound.end(), distance[j]) - bound.begin()];
        double total = 0;
        int64_t points_within = -1;  // not the node itself, which is within every bound
        for (size_t b = 0, equal; b < bound.size(); b = equal) {
            for (equal = b; equal < bound.size() && bound[equal] == bound[b]; ++equal) points_within += within[equal];
            total += static_cast<double>(equal - b) * static_cast<double>(equal) / static_cast<double>(points_within);
        }
        out[i] = bound.empty() ? 0.0 : total / bound.size();
    });
}

// The energy of each edge; and, given weights, the weighted slopes by both points and by the sizes, each by edge.
void edges(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
           const float* sizes, const float* polynomial, float limit, int32_t squared, const int64_t* source,
           const int64_t* target, int64_t count, int32_t threads, int32_t dim, const float* weight, float* out,
           float* to_source, float* to_target, float* to_sizes) {
    const Space space{shape, factors, sizes, polynomial, limit};
    (void)n;
    for_rows(0, (count + WORD - 1) / WORD, threads, [&](int64_t block, int64_t) {
        const int64_t begin = block * WORD;
        const int here = static_cast<int>(std::min<int64_t>(WORD, count - begin));
        const auto gather = [&](const float* from, const int64_t* ends) {
            float lane[WORD] = {};
            for (int i = 0; i < WORD; ++i) lane[i] = from[ends[begin + std::min(i, here - 1)]];
            return load(lane);
        };
        Separation parts[MOST_FACTORS];
        Vec energy = all(0);
        for (int f = 0; f < factors; ++f) {
            const float *from = x + shape[3 * f] * stride, *far = reach + 2 * f * stride;
            parts[f] = separate<true>(
                space, f, [&](int k) { return gather(from + k * stride, source); },
                [&](int k) { return gather(from + k * stride, target); }, gather(far, source), gather(far + stride, source),
                gather(far, target), gather(far + stride, target));
            energy += parts[f].square * sizes[f];
        }
        if (!squared) energy = root(energy);
        if (weight == nullptr) {
            __builtin_memcpy(out + begin, &energy, sizeof(float) * here);
            return;
        }
        float weights[WORD] = {};
        std::copy_n(weight + begin, here, weights);
        Vec pull = load(weights);
        if (!squared) pull = select(energy > 0.0f, pull * 0.5f / energy, all(0));
        for (int f = 0; f < factors; ++f) {
            const Vec by_size = pull * parts[f].by_size, push = 2.0f * pull * parts[f].slope, scale = parts[f].scale;
            for (int i = 0; i < here; ++i) to_sizes[(begin + i) * factors + f] = reinterpret_cast<const float*>(&by_size)[i];
            for (int k = 0; k < shape[3 * f + 1]; ++k) {
                const float* from = x + (shape[3 * f] + k) * stride;
                const Vec along = push * (gather(from, source) - scale * gather(from, target));
                const Vec first = k < shape[3 * f + 2] ? -along : along, second = -scale * first;
                for (int i = 0; i < here; ++i) {
                    to_source[(begin + i) * dim + shape[3 * f] + k] = reinterpret_cast<const float*>(&first)[i];
                    to_target[(begin + i) * dim + shape[3 * f] + k] = reinterpret_cast<const float*>(&second)[i];
                }
            }
        }
    });
}

}  // extern "C"
