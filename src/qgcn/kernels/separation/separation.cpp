// How pairs of points are separated, on the CPU, in one pass over the memory. cpu.py compiles this file and says what the
// arguments are; geometry/chord.py has the formulas.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../parallel.h"

namespace {

constexpr int BLOCK = 128;  // pairs at a time: steps that run along coordinates take turns with steps that run along pairs

// The results: a number for each pair, and the residual.
template <class T>
struct Results {
    T *value, *residual, *side, *lever, *drop, *ratio;
};

template <class T>
struct Space {
    int dim, time;
    T size, cancelled;
};

// The power of two nearest by ratio to a positive number: its bits without the fraction.
template <class T>
inline T nearest_power_of_two(T x) {
    using Integer = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int fraction = sizeof(T) == 4 ? 23 : 52;
    const T raised = static_cast<T>(M_SQRT2) * x;
    Integer bits;
    std::memcpy(&bits, &raised, sizeof(T));
    bits = bits >> fraction << fraction;
    T result;
    std::memcpy(&result, &bits, sizeof(T));
    return result;
}

template <class T>
inline T dot(const T* x, const T* y, int count) {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (int k = 0; k < count; ++k) total += x[k] * y[k];
    return total;
}

// The difference of the squares of x and scale y, of their time and of their space part.
template <class T>
inline void differences(const Space<T>& in, const T* x, const T* y, T scale, T& time, T& space) {
    T all = 0, late = 0;
    const int begin = in.time, dim = in.dim;
#pragma omp simd reduction(+ : all, late)
    for (int k = 0; k < dim; ++k) {
        const T other = scale * y[k], product = (x[k] - other) * (x[k] + other);
        late += k < begin ? 0 : product;
        all += k < begin ? product : 0;
    }
    time = all;
    space = late;
}

// Write the residual: x - scale y less a part of x + scale y, one part in time and one in space. Return both squares.
template <class T>
inline void reduce(const Space<T>& in, const T* x, const T* y, T scale, T turn, T slope, T* out, T& time, T& space) {
    T early = 0, late = 0;
    const int begin = in.time, dim = in.dim;
#pragma omp simd reduction(+ : early, late)
    for (int k = 0; k < dim; ++k) {
        const T other = scale * y[k], left = (x[k] - other) - (k < begin ? turn : slope) * (x[k] + other), square = left * left;
        out[k] = left;
        late += k < begin ? 0 : square;
        early += k < begin ? square : 0;
    }
    time = early;
    space = late;
}

template <class T>
void round_block(const Space<T>& in, const T* x, const T* y, int count, const Results<T>& to) {
    for (int i = 0; i < count; ++i) {
        const int64_t at = static_cast<int64_t>(i) * in.dim;
        T time, space;
        to.side[i] = dot(x + at, y + at, in.dim) < 0 ? -1 : 1;
        reduce<T>(in, x + at, y + at, to.side[i], 0, 0, to.residual + at, time, space);
        to.value[i] = time / -in.size;
        to.lever[i] = to.ratio[i] = 1;
        to.drop[i] = 0;
    }
}

template <class T>
void block(const Space<T>& in, const T* x, const T* y, int count, const Results<T>& to) {
    T length[BLOCK], other[BLOCK], aligned[BLOCK], factor[BLOCK], scale[BLOCK], total[BLOCK], turn[BLOCK], slope[BLOCK];
    T gap[BLOCK], time[BLOCK], space[BLOCK];
    const int64_t dim = in.dim;
    const bool alone = in.time == 1;
    for (int i = 0; i < count; ++i) {
        const T *mine = x + i * dim, *theirs = y + i * dim;
        aligned[i] = alone ? mine[0] * theirs[0] : dot(mine, theirs, in.time);
        length[i] = alone ? std::fabs(mine[0]) : dot(mine, mine, in.time);
        other[i] = alone ? std::fabs(theirs[0]) : dot(theirs, theirs, in.time);
    }
    for (int i = 0; i < count; ++i) {
        length[i] = alone ? length[i] : std::sqrt(length[i]);
        other[i] = alone ? other[i] : std::sqrt(other[i]);
        to.ratio[i] = length[i] / other[i];
        to.side[i] = aligned[i] < 0 ? -1 : 1;
        factor[i] = nearest_power_of_two(to.ratio[i]);
        scale[i] = to.side[i] * factor[i];
        total[i] = length[i] + factor[i] * other[i];
    }
    for (int i = 0; i < count; ++i) differences(in, x + i * dim, y + i * dim, scale[i], time[i], space[i]);
    for (int i = 0; i < count; ++i) {
        const T rise = (space[i] + in.size * (1 - factor[i] * factor[i])) / total[i];
        gap[i] = factor[i] == 1 ? rise : length[i] - other[i];
        slope[i] = rise / total[i];
        turn[i] = time[i] / (total[i] * total[i]);
    }
    for (int i = 0; i < count; ++i) {
        T* out = to.residual + i * dim;
        reduce(in, x + i * dim, y + i * dim, scale[i], turn[i], slope[i], out, time[i], space[i]);
        if (alone) out[0] = 0;
    }
    for (int i = 0; i < count; ++i) {
        const T lever = total[i] / (2 * factor[i] * length[i]), drop = gap[i] / length[i];
        const T weight = lever * (total[i] / (2 * factor[i] * other[i])) / in.size;
        const T ahead = drop * (gap[i] / other[i]) + weight * space[i], angle = alone ? 0 : weight * time[i];
        const T value = ahead - angle;
        to.value[i] = std::fabs(value) <= (alone ? 0 : in.cancelled) * (ahead + angle) ? 0 : value;
        to.lever[i] = lever;
        to.drop[i] = drop;
    }
}

template <class T>
void separate(const Space<T>& in, const T* x, const T* y, int64_t pairs, int threads, const Results<T>& all) {
    for_each((pairs + BLOCK - 1) / BLOCK, threads, [&](int64_t task) {
        const int64_t first = task * BLOCK, at = first * in.dim;
        const int count = static_cast<int>(pairs - first < BLOCK ? pairs - first : BLOCK);
        const Results<T> to{all.value + first, all.residual + at, all.side + first,
                            all.lever + first, all.drop + first,  all.ratio + first};
        (in.time == in.dim ? round_block<T> : block<T>)(in, x + at, y + at, count, to);
    });
}

}  // namespace

extern "C" {

void separate_float(const float* x, const float* y, int64_t pairs, int32_t dim, int32_t time, const float* size, double cancelled,
                    int32_t threads, float* value, float* residual, float* side, float* lever, float* drop, float* ratio) {
    separate<float>({dim, time, *size, static_cast<float>(cancelled)}, x, y, pairs, threads,
                    {value, residual, side, lever, drop, ratio});
}

void separate_double(const double* x, const double* y, int64_t pairs, int32_t dim, int32_t time, const double* size,
                     double cancelled, int32_t threads, double* value, double* residual, double* side, double* lever,
                     double* drop, double* ratio) {
    separate<double>({dim, time, *size, cancelled}, x, y, pairs, threads, {value, residual, side, lever, drop, ratio});
}

}  // extern "C"
