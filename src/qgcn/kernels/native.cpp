// Sums over all pairs of points on the CPU: one row at a time against sixteen columns at a time, rows shared out among threads.
// The same arithmetic as kernels/gpu.py; cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace {

constexpr int LANES = 16;
constexpr int WORD = 32;  // columns whose bits stand in one word
constexpr int MOST_FACTORS = 64;
constexpr float PI = 3.14159265358979f;
constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float LARGE = 4096.0f;  // above it c and its sine are the same number

typedef float Vec __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Int __attribute__((vector_size(4 * LANES), aligned(4)));

inline Vec load(const float* from) { return *reinterpret_cast<const Vec*>(from); }
inline Vec all(float value) { return Vec{} + value; }
inline Vec absolute(Vec x) { return reinterpret_cast<Vec>(reinterpret_cast<Int>(x) & 0x7fffffff); }
inline Vec larger(Vec x, Vec y) { return x > y ? x : y; }
inline Vec smaller(Vec x, Vec y) { return x < y ? x : y; }

inline Vec root(Vec x) {
    Vec result;
    for (int i = 0; i < LANES; ++i) result[i] = __builtin_sqrtf(x[i]);
    return result;
}

inline float sum(Vec x) {
    float total = 0;
    for (int i = 0; i < LANES; ++i) total += x[i];
    return total;
}

inline float highest(Vec x) {
    float top = x[0];
    for (int i = 1; i < LANES; ++i) top = x[i] > top ? x[i] : top;
    return top;
}

// 2^x, zero below the smallest normal number; relative error 2e-7
inline Vec exp2(Vec x) {
    const Vec bounded = smaller(larger(x, all(-126.0f)), all(127.0f));
    const Vec magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Vec shifted = bounded + magic;
    const Vec f = bounded - (shifted - magic);  // in [-1/2, 1/2]
    Vec p = all(1.5403530393381608e-4f);
    p = p * f + 1.3333558146428443e-3f;
    p = p * f + 9.6181291076284772e-3f;
    p = p * f + 5.5504108664821580e-2f;
    p = p * f + 2.4022650695910072e-1f;
    p = p * f + 6.9314718055994531e-1f;
    p = p * f + 1.0f;
    const Int exponent = (reinterpret_cast<Int>(shifted) - reinterpret_cast<Int>(magic)) << 23;
    const Vec result = reinterpret_cast<Vec>(reinterpret_cast<Int>(p) + exponent);
    return x < -126.0f ? Vec{} : result;
}

// natural logarithm of finite numbers of at least 1; relative error 1e-7
inline Vec log(Vec x) {
    const Int bits = reinterpret_cast<Int>(x);
    const Int exponent = (bits - 0x3f3504f3) >> 23;  // so that the fraction is in [sqrt(1/2), sqrt(2))
    const Vec m = reinterpret_cast<Vec>(bits - (exponent << 23)) - 1.0f;
    const Vec e = __builtin_convertvector(exponent, Vec);
    const Vec square = m * m;
    Vec p = all(7.0376836292e-2f);
    p = p * m + -1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m + -1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m + -1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m + -2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * square + e * -2.12194440e-4f - 0.5f * square;
    return m + p + e * 0.693359375f;
}

// First coordinate, number of coordinates, number of negative ones, of each factor.
struct Space {
    const int32_t* shape;
    int factors;
    const float* sizes;
    const float* polynomial;  // constant first
    int degree;
    float limit;  // the largest squared chord it holds for
};

// Points by coordinate, each coordinate padded to `stride` numbers; powers of two that say how far out they are, likewise.
struct Points {
    const float* x;
    const float* reach;
    int64_t stride;
    int n;
};

struct Sum {
    Vec lanes{};
};

struct Separation {
    Vec square, scale, slope, by_size;
};

// How one point is separated from sixteen others in one factor; see kernels/gpu.py.
template <bool SLOPES>
inline Separation separate(const Space& space, const Points& points, int f, int64_t row, int64_t column) {
    const int first = space.shape[3 * f], size = space.shape[3 * f + 1], time = space.shape[3 * f + 2];
    const float* from = points.x + first * points.stride;
    const auto mine = [&](int k) { return from[k * points.stride + row]; };
    const auto theirs = [&](int k) { return load(from + k * points.stride + column); };
    Separation result;
    Vec total{};
    if (time == 0) {
        for (int k = 0; k < size; ++k) {
            const Vec w = mine(k) - theirs(k);
            total += w * w;
        }
        result.square = total;
        result.scale = result.slope = all(1);
        result.by_size = Vec{};
        return result;
    }
    Vec dot{};
    for (int k = 0; k < time; ++k) dot += mine(k) * theirs(k);
    Vec length = all(1), shorten = all(1);
    if (time < size) {
        const float* reach = points.reach + f * points.stride;
        const float here = reach[row];
        const Vec there = load(reach + column);
        const Vec ratio = here / there;
        const Int alike = (ratio <= 2.0f) & (ratio >= 0.5f);
        length = alike ? all(1) : ratio;
        shorten = alike ? all(1) : there / here;
    }
    const Int across = dot < 0.0f;
    const Vec scale = across ? -length : length;
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
    Int turned{}, far = across;
    Vec z;
    if (time == 1) {
        z = larger(chord, Vec{});
    } else {
        turned = chord < -2.0f;
        z = turned ? -4.0f - chord : chord;
        far = turned ^ across;
    }
    const Vec inner = smaller(z, all(space.limit));
    Vec slope = all(space.polynomial[space.degree]);
    for (int k = space.degree - 1; k >= 0; --k) slope = slope * inner + space.polynomial[k];
    const Vec product = inner * (inner * 0.25f + 1.0f);
    Vec square = absolute(product * slope * slope);
    Vec sine = absolute(product);
    if (time < size) {
        const Vec cosine = larger(z, all(space.limit)) * 0.5f + 1.0f;
        const Vec outer = cosine > LARGE ? cosine : root(cosine * cosine - 1.0f);
        const Vec arc = log(cosine + outer);
        const Int beyond = z > space.limit;
        square = beyond ? arc * arc : square;
        sine = beyond ? outer * outer : sine;
        if (SLOPES) slope = beyond ? arc / outer : slope;
    }
    const Vec arc = root(square);
    const Int negative = z < 0.0f;
    const Vec around = time == 1 ? PI + arc : (negative ? PI - arc : PI + arc);
    result.square = far ? around * around : square;
    if (SLOPES) {
        if (time == size) slope = -slope;
        else if (time > 1) slope = negative ? -slope : slope;
        const Vec around_slope = sine > 0.0f ? around / root(sine) : Vec{};
        slope = far ? around_slope : slope;
        slope = turned ? -slope : slope;
        result.by_size = result.square - slope * (chord - gap * shorten);
        result.slope = slope * shorten;
    }
    result.scale = scale;
    return result;
}

template <bool SLOPES>
inline Vec squared_distance(const Space& space, const Points& points, int64_t row, int64_t column, Separation* parts) {
    Vec total{};
    for (int f = 0; f < space.factors; ++f) {
        const Separation part = separate<SLOPES>(space, points, f, row, column);
        total += part.square * space.sizes[f];
        if (SLOPES) parts[f] = part;
    }
    return total;
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

inline Int left_out(uint32_t bits, int half) {
    Int lane;
    for (int i = 0; i < LANES; ++i) lane[i] = static_cast<int32_t>(1u << (half * LANES + i));
    return (static_cast<int32_t>(bits) & lane) != 0;
}

inline uint32_t beyond(int64_t column, int n) {  // bits of the columns past the last
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
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (auto& thread : others) thread.join();
}

}  // namespace

extern "C" {

// The base-2 logarithm of each row's sum of 2^(-tau E).
void log_sum(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
             const float* sizes, const float* polynomial, int32_t degree, float limit, float tau, int32_t squared,
             const int32_t* start, const int32_t* word, const int32_t* bits, int64_t first, int64_t count, int32_t threads,
             float* out) {
    const Space space{shape, factors, sizes, polynomial, degree, limit};
    const Points points{x, reach, stride, n};
    const Words words{start, word, bits};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        Cursor cursor(words, row);
        float reference = -INF;
        Vec total{};
        for (int64_t column = 0; column < n; column += WORD) {
            const uint32_t masked = cursor.take(static_cast<int32_t>(column / WORD)) | beyond(column, n);
            Vec value[2];
            for (int half = 0; half < 2; ++half) {
                Vec energy = squared_distance<false>(space, points, row, column + half * LANES, nullptr);
                if (!squared) energy = root(energy);
                value[half] = left_out(masked, half) ? all(-INF) : -tau * energy;
            }
            const float top = highest(larger(value[0], value[1]));
            if (top > reference + 32) {  // 2^32 times larger than what the sum is counted in: count in that
                total = reference > -INF ? total * std::exp2(reference - top) : Vec{};
                reference = top;
            }
            if (reference > -INF) total += exp2(value[0] - reference) + exp2(value[1] - reference);
        }
        out[i] = reference > -INF ? reference + std::log2(sum(total)) : -INF;
    });
}

// Sums over all pairs of a row, weighted by weight * 2^(shift - tau E) of either end: of half the slope of the energy by the row's point (out_x, by point), and of the
// energy and its slopes by the sizes (out_rest, by row).
void log_sum_gradient(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
                      const float* sizes, const float* polynomial, int32_t degree, float limit, float tau, int32_t squared,
                      const float* shift, const float* weight, const int32_t* start, const int32_t* word, const int32_t* bits,
                      const int32_t* back_start, const int32_t* back_word, const int32_t* back_bits, int64_t first,
                      int64_t count, int32_t threads, int32_t dim, float* out_x, float* out_rest) {
    const Space space{shape, factors, sizes, polynomial, degree, limit};
    const Points points{x, reach, stride, n};
    const Words words{start, word, bits}, back{back_start, back_word, back_bits};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        Cursor cursor(words, row), back_cursor(back, row);
        const float row_shift = shift[row], row_weight = weight[row];
        Separation parts[MOST_FACTORS];
        Vec by_energy{}, by_size[MOST_FACTORS] = {};
        std::vector<Sum> to_x(dim);
        for (int64_t column = 0; column < n; column += WORD) {
            const int32_t index = static_cast<int32_t>(column / WORD);
            const uint32_t outside = beyond(column, n);
            const uint32_t masked = cursor.take(index) | outside, back_masked = back_cursor.take(index) | outside;
            for (int half = 0; half < 2; ++half) {
                const int64_t at = column + half * LANES;
                Vec energy = squared_distance<true>(space, points, row, at, parts);
                if (!squared) energy = root(energy);
                const Vec cost = tau * energy;
                const Vec own = left_out(masked, half) ? Vec{} : row_weight * exp2(row_shift - cost);
                const Vec theirs = left_out(back_masked, half) ? Vec{} : load(weight + at) * exp2(load(shift + at) - cost);
                Vec both = own + theirs, changed = own;
                if (!squared) {  // the derivative of the root, zero at zero
                    const Vec slope = energy > 0.0f ? 0.5f / energy : Vec{};
                    both *= slope;
                    changed *= slope;
                }
                by_energy += own * energy;
                for (int f = 0; f < factors; ++f) {
                    by_size[f] += changed * parts[f].by_size;
                    const int begin = shape[3 * f], middle = begin + shape[3 * f + 2], end = begin + shape[3 * f + 1];
                    const Vec push = both * parts[f].slope, scale = parts[f].scale;
                    for (int k = begin; k < middle; ++k)
                        to_x[k].lanes -= push * (x[k * stride + row] - scale * load(x + k * stride + at));
                    for (int k = middle; k < end; ++k)
                        to_x[k].lanes += push * (x[k * stride + row] - scale * load(x + k * stride + at));
                }
            }
        }
        for (int k = 0; k < dim; ++k) out_x[i * dim + k] = sum(to_x[k].lanes);
        out_rest[i * (factors + 1)] = sum(by_energy);
        for (int f = 0; f < factors; ++f) out_rest[i * (factors + 1) + 1 + f] = sum(by_size[f]);
    });
}

}  // extern "C"
