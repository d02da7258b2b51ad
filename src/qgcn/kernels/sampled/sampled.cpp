// Sums over drawn columns on the CPU: one row at a time against 32 columns at a time, slabs of rows shared out among threads.
// The same arithmetic as ../pairs/pairs.cpp; cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../flush.h"
#include "../pairs/packs.h"
#include "../pairs/separation.h"
#include "../parallel.h"

namespace {

constexpr int STEP = 4;  // words between two looks at the largest term of a sum
constexpr int64_t BATCH = 64;  // rows that a thread takes at a time

// Rows of points, row by row: coordinates, and of each factor the length of the time part and its inverse.
struct Rows {
    const float *x, *reach;
    int dim, factors;
};

template <bool SLOPES>
INLINE Vec squared_distance(const Space& space, const Rows& rows, int64_t row, const Points& columns, int64_t column,
                            Separation* parts) {
    Vec total = all(0);
    const int64_t stride = columns.stride;
    for (int f = 0; f < space.factors; ++f) {
        const float *mine = rows.x + row * rows.dim + space.shape[3 * f], *far = rows.reach + 2 * (row * rows.factors + f);
        const float *from = columns.x + space.shape[3 * f] * stride, *reach = columns.reach + 2 * f * stride;
        const Separation part = separate<SLOPES>(
            space, f, [=](int k) { return mine[k]; }, [=](int k) { return load(from + k * stride + column); }, far[0], far[1],
            load(reach + column), load(reach + stride + column));
        total += part.square * space.sizes[f];
        if (SLOPES) parts[f] = part;
    }
    return total;
}

INLINE Int left_out(uint32_t bits) {
    Int r;
    EACH {
        Bits lane;
        for (int i = 0; i < LANES; ++i) lane[i] = static_cast<int32_t>(1u << (p * LANES + i));
        r.of[p] = (static_cast<int32_t>(bits) & lane) != 0;
    }
    return r;
}

}  // namespace

extern "C" {

// The base-2 logarithm of each row's sum of 2^(-tau E + bias) over the columns whose bit is not set; bias is of the column, or
// absent. Bits are by word, then by row.
void log_sum(const float* x, const float* reach, int64_t count, int64_t first, int64_t last, int32_t dim, const float* y,
             const float* y_reach, int64_t words, const int32_t* shape, int32_t factors, const float* sizes,
             const float* polynomial, float limit, float tau, int32_t squared, const float* bias, const int32_t* bits,
             int32_t threads, float* out) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Rows rows{x, reach, dim, factors};
    const Points columns{y, y_reach, words * WORD, static_cast<int>(words * WORD)};
    for_each((last - first + BATCH - 1) / BATCH, threads, [&](int64_t batch) {
        const Flushed flushed;
        for (int64_t row = first + batch * BATCH; row < std::min(last, first + (batch + 1) * BATCH); ++row) {
            float reference = -INF;
            uint32_t some = 0;  // not zero if a column is not left out
            Vec total = all(0);
            for (int64_t word = 0; word < words; word += STEP) {
                Vec value[STEP], top = all(-INF);
                const int here = static_cast<int>(std::min<int64_t>(STEP, words - word));
                for (int v = 0; v < here; ++v) {
                    const uint32_t masked = static_cast<uint32_t>(bits[(word + v) * count + row]);
                    some |= ~masked;
                    Vec energy = squared_distance<false>(space, rows, row, columns, (word + v) * WORD, nullptr);
                    if (!squared) energy = root(energy);
                    value[v] = -tau * energy;
                    if (bias != nullptr) value[v] += load(bias + (word + v) * WORD);
                    if (masked) value[v] = select(left_out(masked), all(-INF), value[v]);
                    top = select(value[v] > top, value[v], top);
                }
                const float largest = highest(top);
                if (largest > reference + 32) {  // 2^32 times larger than what the sum is counted in: count in that
                    total = reference > -INF ? total * std::exp2(reference - largest) : all(0);
                    reference = largest;
                }
                if (reference > -INF)
                    for (int v = 0; v < here; ++v) total += exp2(value[v] - reference);
            }
            // without a number among its terms a sum is none either
            out[row] =
                reference > -INF ? reference + std::log2(sum(total)) : some ? std::numeric_limits<float>::quiet_NaN() : -INF;
        }
    });
}

// Sums over all pairs of a row and a column that is not left out, weighted by weight * 2^(shift - tau E + bias) of row and column:
// of half the slope of the energy by either point (out_x by row; out_y by slab of rows, coordinate and column; where there is a
// bias, of the weights themselves as one coordinate more), and of the energy and its slopes by the sizes (out_rest, by row). How
// rows are cut into slabs decides how columns are added up: never the threads.
void log_sum_gradient(const float* x, const float* reach, int64_t count, int64_t first, int64_t last, int32_t dim,
                      const float* y, const float* y_reach, int64_t words, const int32_t* shape, int32_t factors,
                      const float* sizes, const float* polynomial, float limit, float tau, int32_t squared,
                      const float* bias, const int32_t* bits, int32_t threads, const float* shift, const float* weight,
                      int64_t slab, float* out_x, float* out_y, float* out_rest) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Rows rows{x, reach, dim, factors};
    const int64_t stride = words * WORD;
    const Points columns{y, y_reach, stride, static_cast<int>(stride)};
    for_each((last - first + slab - 1) / slab, threads, [&](int64_t which) {
        const Flushed flushed;
        const int64_t height = dim + (bias != nullptr);
        float* to_y = out_y + which * height * stride;
        std::fill_n(to_y, height * stride, 0.0f);
        Separation parts[MOST_FACTORS];
        Vec by_size[MOST_FACTORS];
        std::vector<Vec> to_x(dim);
        for (int64_t row = first + which * slab; row < std::min(last, first + (which + 1) * slab); ++row) {
            Vec by_energy = all(0);
            std::fill_n(by_size, factors, all(0));
            std::fill(to_x.begin(), to_x.end(), all(0));
            const float row_shift = shift[row], row_weight = weight[row];
            const bool counts = !(row_weight == 0.0f);  // a row without edges pushes nobody
            for (int64_t word = 0; counts && word < words; ++word) {
                const int64_t column = word * WORD;
                const uint32_t masked = static_cast<uint32_t>(bits[word * count + row]);
                Vec energy = squared_distance<true>(space, rows, row, columns, column, parts);
                if (!squared) energy = root(energy);
                Vec power = row_shift - tau * energy;
                if (bias != nullptr) power += load(bias + column);
                Vec own = row_weight * exp2(power);
                if (masked) own = select(left_out(masked), all(0), own);
                if (bias != nullptr) {
                    const Vec sum = load(to_y + dim * stride + column) + own;
                    __builtin_memcpy(to_y + dim * stride + column, &sum, sizeof(Vec));
                }
                Vec changed = own;
                if (!squared) changed *= select(energy > 0.0f, 0.5f / energy, all(0));  // the derivative of the root, zero at zero
                by_energy += own * energy;
                for (int f = 0; f < factors; ++f) {
                    by_size[f] += changed * parts[f].by_size;
                    const int begin = shape[3 * f], middle = begin + shape[3 * f + 2], end = begin + shape[3 * f + 1];
                    const Vec push = changed * parts[f].slope, side = parts[f].side;
                    const float* mine = x + row * dim;
                    const Vec back = -side * reach[2 * (row * factors + f)];
                    const auto shove = [&](int k, const Vec& force) {
                        const Vec along = force * (mine[k] - side * load(y + k * stride + column));
                        to_x[k] += along;
                        const Vec sum = load(to_y + k * stride + column) + back * along;
                        __builtin_memcpy(to_y + k * stride + column, &sum, sizeof(Vec));
                    };
                    const Vec pull = 0.0f - push;
                    for (int k = begin; k < middle; ++k) shove(k, pull);
                    for (int k = middle; k < end; ++k) shove(k, push);
                }
            }
            for (int k = 0; k < dim; ++k) out_x[row * dim + k] = sum(to_x[k]);
            float* rest = out_rest + row * (factors + 1);
            rest[0] = sum(by_energy);
            for (int f = 0; f < factors; ++f) rest[1 + f] = sum(by_size[f]);
        }
        for (int f = 0; f < factors; ++f)  // the reach of a column, which all of its sum has in common
            for (int k = shape[3 * f]; k < shape[3 * f] + shape[3 * f + 1]; ++k)
                for (int64_t c = 0; c < stride; ++c) to_y[k * stride + c] *= y_reach[(2 * f + 1) * stride + c];
    });
}

}  // extern "C"
