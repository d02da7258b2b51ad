// Sums over all pairs of points on the CPU: one row at a time against sixteen columns at a time, rows shared out among threads.
// The same arithmetic as gpu.py; cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "../flush.h"
#include "packs.h"
#include "separation.h"

namespace {

constexpr int STEP = 4;  // words between two looks at the largest term of a sum

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

// Call `task(row)` for all rows, a few at a time on each thread; one at a time where rows are few, so that all threads end
// together.
template <class Task>
void for_rows(int64_t first, int64_t count, int threads, Task task) {
    const int64_t batch = std::clamp<int64_t>(count / (32 * threads), 1, 8);
    std::atomic<int64_t> next{0};
    const auto work = [&] {
        for (int64_t begin; (begin = next.fetch_add(batch)) < count;)
            for (int64_t i = begin; i < std::min(begin + batch, count); ++i) task(first + i, i);
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
        const Flushed flushed;
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
        const Flushed flushed;
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
                const Vec push = both * parts[f].slope, side = parts[f].side;
                const auto difference = [&](int k) { return x[k * stride + row] - side * load(x + k * stride + column); };
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
                       const float* sizes, const float* polynomial, float limit, const float* lead, const int64_t* start,
                       const int64_t* target, int64_t first, int64_t count, int32_t threads, double* out) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    for_rows(first, count, threads, [&](int64_t row, int64_t i) {
        thread_local std::vector<float> distance, bound;
        thread_local std::vector<int64_t> within;
        if (start[row] == start[row + 1]) {  // no neighbours to be found
            out[i] = 0;
            return;
        }
        distance.resize(n);
        distances_from(space, points, row, distance.data());
        for (int j = 0; lead != nullptr && j < n; ++j) distance[j] -= lead[j];
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
        const float last = bound.back();
        distance[row] = -INF;
        for (int j = 0; j < n; ++j)  // count each point at the first bound it is within
            if (distance[j] <= last) ++within[std::lower_bound(bound.begin(), bound.end(), distance[j]) - bound.begin()];
        double total = 0;
        int64_t points_within = -1;  // not the node itself, which is within every bound
        for (size_t b = 0, equal; b < bound.size(); b = equal) {
            for (equal = b; equal < bound.size() && bound[equal] == bound[b]; ++equal) points_within += within[equal];
            total += static_cast<double>(equal - b) * static_cast<double>(equal) / static_cast<double>(points_within);
        }
        out[i] = total / bound.size();
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
            const Vec by_size = pull * parts[f].by_size, push = 2.0f * pull * parts[f].slope, side = parts[f].side;
            const float* far = reach + 2 * f * stride;
            const Vec back = -side * gather(far, source) * gather(far + stride, target);
            for (int i = 0; i < here; ++i) to_sizes[(begin + i) * factors + f] = reinterpret_cast<const float*>(&by_size)[i];
            for (int k = 0; k < shape[3 * f + 1]; ++k) {
                const float* from = x + (shape[3 * f] + k) * stride;
                const Vec along = push * (gather(from, source) - side * gather(from, target));
                const Vec first = k < shape[3 * f + 2] ? -along : along, second = back * first;
                for (int i = 0; i < here; ++i) {
                    to_source[(begin + i) * dim + shape[3 * f] + k] = reinterpret_cast<const float*>(&first)[i];
                    to_target[(begin + i) * dim + shape[3 * f] + k] = reinterpret_cast<const float*>(&second)[i];
                }
            }
        }
    });
}

}  // extern "C"
