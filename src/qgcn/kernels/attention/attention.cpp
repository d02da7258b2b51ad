// Attention of all points to all others on the CPU: one row at a time against 32 columns at a time, rows shared out among threads.
// cpu.py compiles this file and says what the arguments are. Nothing of a pair is kept: what the gradient needs is computed again.

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

constexpr int64_t BATCH = 4;  // rows that a thread takes at a time

// The energy of a row's point with 32 columns, and how the factors are separated.
template <bool SLOPES, Square SQUARE>
INLINE Vec energy_of(const Space& space, const Points& rows, int64_t row, const Points& columns, int64_t column, Separation* parts) {
    Vec total = all(0);
    for (int f = 0; f < space.factors; ++f) {
        const float *mine = rows.x + space.shape[3 * f] * rows.stride, *reach = rows.reach + 2 * f * rows.stride;
        const float *from = columns.x + space.shape[3 * f] * columns.stride, *far = columns.reach + 2 * f * columns.stride;
        const int64_t here = rows.stride, there = columns.stride;
        const Separation part = separate<SLOPES, SQUARE>(
            space, f, [=](int k) { return mine[k * here + row]; }, [=](int k) { return load(from + k * there + column); },
            reach[row], reach[here + row], load(far + column), load(far + there + column));
        total += part.square * space.sizes[f];
        if (SLOPES) parts[f] = part;
    }
    return total;
}

INLINE Int outside(int64_t column, int n) {  // lanes past the last column
    Int r;
    EACH for (int i = 0; i < LANES; ++i) r.of[p][i] = column + p * LANES + i >= n ? -1 : 0;
    return r;
}

template <class Task>
void for_rows(int64_t first, int64_t count, int threads, Task task) {
    for_each((count + BATCH - 1) / BATCH, threads, [&](int64_t batch) {
        const Flushed flushed;
        for (int64_t i = batch * BATCH; i < std::min((batch + 1) * BATCH, count); ++i) task(first + i, i);
    });
}

template <Square SQUARE>
void forward(const Space& space, const Points& queries, const Points& keys, float rate, const float* v, int width, int64_t first,
             int64_t count, int threads, float* out, float* logs) {
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        thread_local std::vector<Vec> sums;
        sums.assign(width, all(0));
        Vec total = all(0);
        float reference = -INF;
        for (int64_t column = 0; column < keys.n; column += WORD) {
            Vec value = -rate * energy_of<false, SQUARE>(space, queries, row, keys, column, nullptr);
            if (column + WORD > keys.n) value = select(outside(column, keys.n), all(-INF), value);
            const float largest = highest(value);
            if (largest > reference + 32) {  // 2^32 times larger than what the sums are counted in: count in that
                const float scale = reference > -INF ? std::exp2(reference - largest) : 0.0f;
                total = total * scale;
                for (Vec& sum : sums) sum = sum * scale;
                reference = largest;
            }
            const Vec share = exp2(value - reference);
            total += share;
            for (int k = 0; k < width; ++k) sums[k] += share * load(v + k * keys.stride + column);
        }
        const float mass = reference > -INF ? sum(total) : std::numeric_limits<float>::quiet_NaN();
        for (int k = 0; k < width; ++k) out[i * width + k] = sum(sums[k]) / mass;
        logs[i] = reference + std::log2(mass);
    });
}

// Sums over the columns of a row. By query: of the slopes by the row's point, and of the score's slope times the energy and times
// its slopes by the sizes. By key: of the slopes by the row's point, and of the shares times what comes back to the queries.
template <Square SQUARE, bool BY_KEY>
void backward(const Space& space, const Points& rows, const Points& columns, float rate, const float* row_v, const float* column_v,
              int width, const float* logs, const float* deltas, int64_t first, int64_t count, int threads, int dim, float* to_x,
              float* to_rest) {
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        Separation parts[MOST_FACTORS];
        thread_local std::vector<Vec> by_x, by_rest;
        const int rest = BY_KEY ? width : space.factors + 1;
        by_x.assign(dim, all(0));
        by_rest.assign(rest, all(0));
        for (int64_t column = 0; column < columns.n; column += WORD) {
            const Vec energy = energy_of<true, SQUARE>(space, rows, row, columns, column, parts);
            Vec share = BY_KEY ? exp2(-rate * energy - load(logs + column)) : exp2(-rate * energy - logs[row]);
            if (column + WORD > columns.n) share = select(outside(column, columns.n), all(0), share);
            Vec pull = all(0);
            for (int k = 0; k < width; ++k) pull += row_v[row * width + k] * load(column_v + k * columns.stride + column);
            const Vec change = share * (BY_KEY ? pull - load(deltas + column) : pull - deltas[row]);
            if (BY_KEY) {
                for (int k = 0; k < width; ++k) by_rest[k] += share * load(column_v + k * columns.stride + column);
            } else {
                by_rest[0] += change * energy;
            }
            for (int f = 0; f < space.factors; ++f) {
                if (!BY_KEY) by_rest[1 + f] += change * parts[f].by_size;
                const int begin = space.shape[3 * f], middle = begin + space.shape[3 * f + 2], end = begin + space.shape[3 * f + 1];
                const Vec push = change * parts[f].slope, side = parts[f].side;
                const auto difference = [&](int k) {
                    return rows.x[k * rows.stride + row] - side * load(columns.x + k * columns.stride + column);
                };
                for (int k = begin; k < middle; ++k) by_x[k] -= push * difference(k);
                for (int k = middle; k < end; ++k) by_x[k] += push * difference(k);
            }
        }
        for (int k = 0; k < dim; ++k) to_x[i * dim + k] = sum(by_x[k]);
        for (int k = 0; k < rest; ++k) to_rest[i * rest + k] = sum(by_rest[k]);
    });
}

}  // namespace

extern "C" {

// The share-weighted mean of the values of each row, and the base-2 logarithm of the sum of 2^(-rate E).
void attend(const float* x, const float* reach, int64_t stride, int32_t n, const float* y, const float* y_reach, int64_t y_stride,
            int32_t m, const int32_t* shape, int32_t factors, const float* sizes, const float* polynomial, float limit, float rate,
            int32_t chord, const float* v, int32_t width, int64_t first, int64_t count, int32_t threads, float* out, float* logs) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points queries{x, reach, stride, n}, keys{y, y_reach, y_stride, m};
    (chord ? forward<CHORD> : forward<SIGNED>)(space, queries, keys, rate, v, width, first, count, threads, out, logs);
}

void attend_back(const float* x, const float* reach, int64_t stride, int32_t n, const float* y, const float* y_reach,
                 int64_t y_stride, int32_t m, const int32_t* shape, int32_t factors, const float* sizes, const float* polynomial,
                 float limit, float rate, int32_t chord, int32_t by_key, const float* row_v, const float* column_v, int32_t width,
                 const float* logs, const float* deltas, int64_t first, int64_t count, int32_t threads, int32_t dim, float* to_x,
                 float* to_rest) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points rows{x, reach, stride, n}, columns{y, y_reach, y_stride, m};
    const auto pass = chord ? (by_key ? backward<CHORD, true> : backward<CHORD, false>)
                            : (by_key ? backward<SIGNED, true> : backward<SIGNED, false>);
    pass(space, rows, columns, rate, row_v, column_v, width, logs, deltas, first, count, threads, dim, to_x, to_rest);
}

}  // extern "C"
