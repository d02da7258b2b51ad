// How pairs of points are separated, on the CPU, in one pass over the memory: as many pairs at a time as a vector of the processor
// has numbers. cpu.py compiles this file and says what the arguments are; geometry/chord.py has the formulas.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../parallel.h"

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int BYTES = 64;
constexpr int64_t TASK = 16;  // vectors of pairs that a thread takes at a time

// Numbers of one type, one for each of some pairs.
template <class T>
struct Types {
    static constexpr int LANES = BYTES / sizeof(T);
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef T Vec __attribute__((vector_size(BYTES)));
    typedef Integer Bits __attribute__((vector_size(BYTES)));
};

template <class T>
using Vec = typename Types<T>::Vec;
template <class T>
using Bits = typename Types<T>::Bits;

template <class T>
INLINE Vec<T> absolute(const Vec<T>& x) {
    return x < 0 ? -x : x;
}

template <class T>
INLINE Vec<T> root(const Vec<T>& x) {
    Vec<T> r;
    for (int i = 0; i < Types<T>::LANES; ++i) r[i] = std::sqrt(x[i]);
    return r;
}

// The power of two nearest by ratio to positive numbers: their bits without the fraction.
template <class T>
INLINE Vec<T> nearest_power_of_two(const Vec<T>& x) {
    constexpr int fraction = sizeof(T) == 4 ? 23 : 52;
    const Vec<T> raised = static_cast<T>(M_SQRT2) * x;
    Bits<T> bits;
    std::memcpy(&bits, &raised, BYTES);
    bits = bits >> fraction << fraction;
    Vec<T> result;
    std::memcpy(&result, &bits, BYTES);
    return result;
}

// Turn rows into columns, in place: halves change places, then halves of halves.
template <class T>
INLINE void transpose(Vec<T>* rows) {
    constexpr int n = Types<T>::LANES;
    Bits<T> place;
    for (int i = 0; i < n; ++i) place[i] = i;
#pragma GCC unroll 4
    for (int step = n / 2; step; step /= 2) {
        const Bits<T> odd = (place & step) != 0;
        const Bits<T> low = odd ? place + (n - step) : place, high = odd ? place + n : place + step;
#pragma GCC unroll 16
        for (int i = 0; i < n; ++i) {
            if (i & step) continue;
            const Vec<T> one = rows[i], two = rows[i + step];
            rows[i] = __builtin_shuffle(one, two, low);
            rows[i + step] = __builtin_shuffle(one, two, high);
        }
    }
}

template <class T>
struct Space {
    int dim, time;
    T size, root, cancelled;
};

// Read some coordinates of as many points as there are lanes; what lies beyond is not used, but must be there to be read.
template <class T>
INLINE void read(const T* from, int dim, int64_t points, int64_t numbers, Vec<T>* to) {
    constexpr int n = Types<T>::LANES;
    for (int i = 0; i < n; ++i) {
        const int64_t at = std::min<int64_t>(i, points - 1) * dim, here = std::min<int64_t>(n, numbers - at);
        if (here == n) {
            std::memcpy(&to[i], from + at, BYTES);
        } else {
            to[i] = Vec<T>{};
            for (int64_t k = 0; k < here; ++k) to[i][k] = from[at + k];
        }
    }
    transpose<T>(to);
}

template <class T>
INLINE void write(Vec<T>* from, int dim, int64_t points, int coordinates, T* to) {
    transpose<T>(from);
    for (int64_t i = 0; i < points; ++i) {
        if (coordinates == Types<T>::LANES)
            std::memcpy(to + i * dim, &from[i], BYTES);
        else
            for (int k = 0; k < coordinates; ++k) to[i * dim + k] = from[i][k];
    }
}

template <class T>
INLINE void put(const Vec<T>& from, int64_t points, T* to) {
    std::memcpy(to, &from, sizeof(T) * points);
}

// The results: a number for each pair, and the residual; without one, the value and the side alone.
template <class T>
struct Results {
    T *value, *residual, *side, *lever, *drop, *ratio;
};

// Separate up to as many pairs as there are lanes; `numbers` are left to be read from `x` and from `y`.
template <class T, int MOST>
INLINE void separate_some(const Space<T>& in, const T* x, const T* y, int64_t pairs, int64_t numbers, const Results<T>& to) {
    constexpr int n = Types<T>::LANES;
    const int dim = in.dim, time = in.time;
    Vec<T> mine[MOST], theirs[MOST];
    for (int k = 0; k < dim; k += n) {
        read<T>(x + k, dim, pairs, numbers - k, mine + k);
        read<T>(y + k, dim, pairs, numbers - k, theirs + k);
    }
    Vec<T> aligned{}, one{}, two{};
    for (int k = 0; k < time; ++k) {
        aligned += mine[k] * theirs[k];
        one += mine[k] * mine[k];
        two += theirs[k] * theirs[k];
    }
    const Vec<T> ones = Vec<T>{} + 1, side = aligned < 0 ? -ones : ones;
    Vec<T> length = ones * in.root, other = length, factor = ones;
    if (time < dim) {
        length = time == 1 ? absolute<T>(mine[0]) : root<T>(one);
        other = time == 1 ? absolute<T>(theirs[0]) : root<T>(two);
        factor = nearest_power_of_two<T>(length / other);
    }
    const Vec<T> scale = side * factor, total = length + factor * other;
    Vec<T> early{}, late{};
    for (int k = 0; k < dim; ++k) {
        const Vec<T> scaled = scale * theirs[k], sum = mine[k] + scaled;
        mine[k] -= scaled;
        theirs[k] = sum;
        (k < time ? early : late) += mine[k] * sum;
    }
    const Vec<T> rise = (late + in.size * (1 - factor * factor)) / total;
    const Vec<T> slope = rise / total, turn = early / (total * total);
    const Vec<T> before = early;
    early = late = Vec<T>{};
    for (int k = 0; k < time; ++k) {
        mine[k] = time == 1 && dim > 1 ? Vec<T>{} : mine[k] - turn * theirs[k];
        early += mine[k] * mine[k];
    }
    for (int k = time; k < dim; ++k) {
        mine[k] -= slope * theirs[k];
        late += mine[k] * mine[k];
    }
    const Vec<T> gap = factor == 1 ? rise : length - other, drop = gap / length;
    const Vec<T> lever = total / (2 * factor * length), weight = lever * (total / (2 * factor * other)) / in.size;
    const Vec<T> ahead = drop * (gap / other) + weight * late, angle = weight * early, difference = ahead - angle;
    Vec<T> value = difference;
    if (1 < time && time < dim) value = absolute<T>(difference) <= in.cancelled * (ahead + angle) ? Vec<T>{} : difference;
    put<T>(value, pairs, to.value);
    put<T>(side, pairs, to.side);
    if (to.residual == nullptr) return;
    if (time < dim) {  // along the sums, rounding is as large as what is left
        Vec<T> turned{}, risen{};
        for (int k = 0; k < dim; ++k) (k < time ? turned : risen) += mine[k] * theirs[k];
        const Vec<T> square = total * total, share = early / (4 * factor * length * other);
        const Vec<T> along = slope * in.size * ((1 + factor) * (1 + factor) + factor * ahead) - in.size * (1 - factor * factor);
        const Vec<T> lift = (along - risen) / square;
        const Vec<T> twist = time > 1 ? (before * share - turned) / (square * (1 - share)) : Vec<T>{};
        for (int k = 0; k < dim; ++k) mine[k] += (k < time ? twist : lift) * theirs[k];
    }
    put<T>(lever, pairs, to.lever);
    put<T>(drop, pairs, to.drop);
    put<T>(length / other, pairs, to.ratio);
    for (int k = 0; k < dim; k += n) write<T>(mine + k, dim, pairs, std::min(n, dim - k), to.residual + k);
}

template <class T, int MOST>
void separate(const Space<T>& in, const T* x, const T* y, int64_t pairs, int threads, const Results<T>& all) {
    constexpr int64_t n = Types<T>::LANES, share = n * TASK;
    for_each((pairs + share - 1) / share, threads, [&](int64_t task) {
        for (int64_t first = task * share; first < std::min(pairs, (task + 1) * share); first += n) {
            const int64_t at = first * in.dim;
            separate_some<T, MOST>(in, x + at, y + at, std::min(n, pairs - first), pairs * in.dim - at,
                                   {all.value + first, all.residual ? all.residual + at : nullptr, all.side + first,
                                    all.lever + first, all.drop + first, all.ratio + first});
        }
    });
}

template <class T>
void separate(const Space<T>& in, const T* x, const T* y, int64_t pairs, int threads, const Results<T>& all) {
    if (in.dim <= 16)
        separate<T, 16>(in, x, y, pairs, threads, all);
    else
        separate<T, MOST_COORDINATES>(in, x, y, pairs, threads, all);
}

}  // namespace

extern "C" {

void separate_float(const float* x, const float* y, int64_t pairs, int32_t dim, int32_t time, const float* size, double cancelled,
                    int32_t threads, float* value, float* residual, float* side, float* lever, float* drop, float* ratio) {
    separate<float>({dim, time, *size, std::sqrt(*size), static_cast<float>(cancelled)}, x, y, pairs, threads,
                    {value, residual, side, lever, drop, ratio});
}

void separate_double(const double* x, const double* y, int64_t pairs, int32_t dim, int32_t time, const double* size,
                     double cancelled, int32_t threads, double* value, double* residual, double* side, double* lever,
                     double* drop, double* ratio) {
    separate<double>({dim, time, *size, std::sqrt(*size), cancelled}, x, y, pairs, threads, {value, residual, side, lever, drop, ratio});
}

}  // extern "C"
