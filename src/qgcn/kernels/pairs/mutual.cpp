// Sums over all pairs of points on the CPU, each unordered pair computed once: it serves the sums of both its points.
// Nodes are cut into blocks; a tile is the pairs of two blocks. Tiles come in rounds, in each of which every block has one tile, so that
// what a node's sums are made of, and in which order, does not depend on threads. cpu_mutual.py compiles this file.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "../flush.h"
#include "packs.h"
#include "separation.h"

namespace {

constexpr int STRIP = 32;   // rows of a tile whose values are at hand at once
constexpr int WIDEST = 256;  // points of a block, at most

// Bits of the columns that are left out, word by word; see neighbourhoods.py.
struct Words {
    const int32_t *start, *word, *bits;
    // Write the bits of `count` words from `first` on; return whether any is set.
    bool read(int64_t row, int32_t first, int count, uint32_t* out) const {
        std::fill_n(out, count, 0u);
        const int32_t* end = word + start[row + 1];
        const int32_t* at = std::lower_bound(word + start[row], end, first);
        if (at == end || *at >= first + count) return false;
        for (; at < end && *at < first + count; ++at) out[*at - first] = static_cast<uint32_t>(bits[at - word]);
        return true;
    }
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

INLINE void store(float* to, const Vec& x) {
    EACH *reinterpret_cast<Lanes*>(to + p * LANES) = x.of[p];
}

// The sum of all lanes, halves added to halves; one lane after the other waits for each addition.
INLINE float folded(const Vec& x) {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
    const Lanes together = x.of[0] + x.of[1];
    Eight half[2];
    __builtin_memcpy(half, &together, sizeof(half));
    const Eight eight = half[0] + half[1];
    Four quarter[2];
    __builtin_memcpy(quarter, &eight, sizeof(quarter));
    const Four four = quarter[0] + quarter[1];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

// The tiles: round 0 has those of one block, then each round joins every block with another one, by the method of the circle.
struct Rounds {
    int64_t n;
    int block, blocks, even;  // `even`: blocks, and one more that does not exist if they are odd
    Rounds(int64_t n, int block)
        : n(n), block(block), blocks(static_cast<int>((n + block - 1) / block)), even(blocks + blocks % 2) {}
    int64_t tiles(int64_t round) const { return round == 0 ? blocks : even / 2; }
    std::pair<int, int> tile(int64_t round, int64_t k) const {
        if (round == 0) return {static_cast<int>(k), static_cast<int>(k)};
        const int64_t turning = even - 1, r = round - 1;
        const int one = static_cast<int>(k == 0 ? turning : (r + k) % turning);
        const int other = static_cast<int>(k == 0 ? r : (r - k + turning) % turning);
        return {std::min(one, other), std::max(one, other)};
    }
};

// Call `task(one, other)` for the tiles of some rounds, a block's tiles one after the other.
template <class Task>
void for_tiles(const Rounds& rounds, int64_t first, int64_t count, int threads, Task task) {
    std::vector<int64_t> begins(count + 1, 0);
    for (int64_t r = 0; r < count; ++r) begins[r + 1] = begins[r] + rounds.tiles(first + r);
    std::vector<std::atomic<int64_t>> done(rounds.blocks);
    for (auto& each : done) each.store(0);
    std::atomic<int64_t> next{0};
    const auto work = [&] {
        int64_t r = 0;
        for (int64_t t; (t = next.fetch_add(1)) < begins[count];) {
            while (t >= begins[r + 1]) ++r;
            const auto [one, other] = rounds.tile(first + r, t - begins[r]);
            // tiles are taken in order: those that are waited for are being computed
            while (done[one].load(std::memory_order_acquire) < r) std::this_thread::yield();
            if (other < rounds.blocks) {
                while (done[other].load(std::memory_order_acquire) < r) std::this_thread::yield();
                task(one, other);
                if (one != other) done[other].store(r + 1, std::memory_order_release);
            }
            done[one].store(r + 1, std::memory_order_release);
        }
    };
    std::vector<std::thread> others;
    try {
        for (int i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads are to be had: those there are do the work
    }
    work();
    for (auto& thread : others) thread.join();
}

// A row of points: its coordinates, and of each factor the length of the time part and its inverse.
struct Row {
    std::vector<float> x, reach;
    Row(int dim, int factors) : x(dim), reach(2 * factors) {}
    void read(const Points& points, int64_t row) {
        for (size_t k = 0; k < x.size(); ++k) x[k] = points.x[k * points.stride + row];
        for (size_t k = 0; k < reach.size(); ++k) reach[k] = points.reach[k * points.stride + row];
    }
};

template <bool SLOPES>
INLINE Vec squared_distance(const Space& space, const Points& points, const Row& row, int64_t column, Separation* parts) {
    Vec total = all(0);
    for (int f = 0; f < space.factors; ++f) {
        const float *mine = row.x.data() + space.shape[3 * f], *theirs = points.x + space.shape[3 * f] * points.stride + column;
        const float* reach = points.reach + 2 * f * points.stride + column;
        const int64_t stride = points.stride;
        const Separation part = separate<SLOPES>(
            space, f, [=](int k) { return mine[k]; }, [=](int k) { return load(theirs + k * stride); }, row.reach[2 * f],
            row.reach[2 * f + 1], load(reach), load(reach + stride));
        total += part.square * space.sizes[f];
        if (SLOPES) parts[f] = part;
    }
    return total;
}

INLINE void outside(int64_t first, int64_t n, int words, uint32_t* bits) {  // leave out columns past the last
    for (int v = 0; v < words; ++v) {
        const int64_t inside = n - first - v * WORD;
        if (inside < WORD) bits[v] |= inside <= 0 ? ~0u : ~0u << inside;
    }
}

}  // namespace

extern "C" {

// Of every node, in units of 2^top: the sum of 2^(-tau E) over all others, after some rounds; `top` is -infinity and `total` 0 before.
void mutual_log_sum(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
                    const float* sizes, const float* polynomial, float limit, float tau, int32_t squared, const int32_t* start,
                    const int32_t* word, const int32_t* bits, const int32_t* back_start, const int32_t* back_word,
                    const int32_t* back_bits, int32_t block, int64_t first, int64_t count, int32_t threads, int32_t dim,
                    float* top, float* total) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    const Words there{start, word, bits}, back{back_start, back_word, back_bits};
    for_tiles(Rounds(n, block), first, count, threads, [&](int one, int other) {
        const Flushed flushed;
        const int64_t low = int64_t(one) * block, high = std::min<int64_t>(low + block, n), left = int64_t(other) * block;
        const int words = static_cast<int>((std::min<int64_t>(left + block, n) - left + WORD - 1) / WORD);
        const bool mutual = one != other;
        thread_local std::vector<float> kept;
        kept.resize(STRIP * WIDEST);
        float* values = kept.data();
        uint32_t masks[STRIP][WIDEST / WORD], mine[WIDEST / WORD];
        bool masked[STRIP];
        Row row(dim, factors);
        for (int64_t strip = low; strip < high; strip += STRIP) {
            const int rows = static_cast<int>(std::min<int64_t>(STRIP, high - strip));
            for (int i = 0; i < rows; ++i) {
                const int64_t at = strip + i;
                row.read(points, at);
                there.read(at, static_cast<int32_t>(left / WORD), words, mine);
                outside(left, n, words, mine);
                if (mutual) masked[i] = back.read(at, static_cast<int32_t>(left / WORD), words, masks[i]);
                float* value = values + i * WIDEST;
                Vec highest_lanes = all(-INF);
                for (int v = 0; v < words; ++v) {
                    Vec energy = squared_distance<false>(space, points, row, left + v * WORD, nullptr);
                    if (!squared) energy = root(energy);
                    energy = -tau * energy;
                    store(value + v * WORD, energy);
                    if (mine[v]) energy = select(left_out(mine[v]), all(-INF), energy);
                    highest_lanes = select(energy > highest_lanes, energy, highest_lanes);
                }
                const float largest = highest(highest_lanes);
                float reference = top[at], sum_before = total[at];
                if (largest > reference + 32 || (reference == -INF && largest > -INF)) {  // counted in what is 2^32 times larger
                    sum_before = reference > -INF ? sum_before * std::exp2(reference - largest) : sum_before;
                    top[at] = reference = largest;
                }
                const float safe = reference > -INF ? reference : 0.0f;
                Vec sums = all(0);
                for (int v = 0; v < words; ++v) {
                    Vec term = exp2(load(value + v * WORD) - safe);
                    if (mine[v]) term = select(left_out(mine[v]), all(0), term);
                    sums += term;
                }
                total[at] = sum_before + folded(sums);
            }
            if (!mutual) continue;
            for (int v = 0; v < words; ++v) {
                float* to = top + left + v * WORD;
                const Vec before = load(to);
                Vec highest_rows = all(-INF);
                for (int i = 0; i < rows; ++i) {
                    Vec value = load(values + i * WIDEST + v * WORD);
                    if (masked[i] && masks[i][v]) {
                        value = select(left_out(masks[i][v]), all(-INF), value);
                        store(values + i * WIDEST + v * WORD, value);
                    }
                    highest_rows = select(value > highest_rows, value, highest_rows);
                }
                const Vec after = select(highest_rows > before + 32.0f, highest_rows, before);
                const Vec safe = select(after > -INF, after, all(0));
                Vec sums = load(total + left + v * WORD) * select(before > -INF, exp2(before - safe), all(1));
                for (int i = 0; i < rows; ++i) sums += exp2(load(values + i * WIDEST + v * WORD) - safe);
                store(to, after);
                store(total + left + v * WORD, sums);
            }
        }
    });
}

// What every node's sum is changed by, after some rounds: weighted by weight * 2^(shift - tau E) of either end of a pair, half the
// slope of the energy by the node's point, by coordinate (out_x, of `dim` rows); and of each block of nodes, its pairs' energy and slopes
// by the sizes (out_rest).
void mutual_gradient(const float* x, const float* reach, int64_t stride, int32_t n, const int32_t* shape, int32_t factors,
                     const float* sizes, const float* polynomial, float limit, float tau, int32_t squared, const float* shift,
                     const float* weight, const int32_t* start, const int32_t* word, const int32_t* bits, const int32_t* back_start,
                     const int32_t* back_word, const int32_t* back_bits, int32_t block, int64_t first, int64_t count,
                     int32_t threads, int32_t dim, float* out_x, double* out_rest) {
    const Space space{shape, factors, sizes, polynomial, limit};
    const Points points{x, reach, stride, n};
    const Words there{start, word, bits}, back{back_start, back_word, back_bits};
    for_tiles(Rounds(n, block), first, count, threads, [&](int one, int other) {
        const Flushed flushed;
        const int64_t low = int64_t(one) * block, high = std::min<int64_t>(low + block, n), left = int64_t(other) * block;
        const int words = static_cast<int>((std::min<int64_t>(left + block, n) - left + WORD - 1) / WORD);
        const bool mutual = one != other;
        uint32_t mine[WIDEST / WORD], theirs[WIDEST / WORD];
        Separation parts[MOST_FACTORS];
        Vec by_energy = all(0), by_size[MOST_FACTORS];
        std::fill_n(by_size, factors, all(0));
        std::vector<Vec> to_row(dim);
        Row row(dim, factors);
        for (int64_t at = low; at < high; ++at) {
            row.read(points, at);
            there.read(at, static_cast<int32_t>(left / WORD), words, mine);
            back.read(at, static_cast<int32_t>(left / WORD), words, theirs);
            outside(left, n, words, mine);
            outside(left, n, words, theirs);
            const float row_shift = shift[at], row_weight = weight[at];
            std::fill(to_row.begin(), to_row.end(), all(0));
            for (int v = 0; v < words; ++v) {
                const int64_t column = left + v * WORD;
                Vec energy = squared_distance<true>(space, points, row, column, parts);
                if (!squared) energy = root(energy);
                const Vec cost = tau * energy;
                Vec own = row_weight * exp2(row_shift - cost), others = load(weight + column) * exp2(load(shift + column) - cost);
                if (mine[v]) own = select(left_out(mine[v]), all(0), own);
                if (theirs[v]) others = select(left_out(theirs[v]), all(0), others);
                Vec both = own + others, counted = mutual ? both : own;
                by_energy += counted * energy;
                if (!squared) {  // the derivative of the root, zero at zero
                    const Vec slope = select(energy > 0.0f, 0.5f / energy, all(0));
                    both *= slope;
                    counted *= slope;
                }
                for (int f = 0; f < factors; ++f) {
                    by_size[f] += counted * parts[f].by_size;
                    const int begin = shape[3 * f], middle = begin + shape[3 * f + 2], end = begin + shape[3 * f + 1];
                    const Vec push = both * parts[f].slope, side = parts[f].side;
                    const float* own_x = row.x.data();
                    if (!mutual) {
                        for (int k = begin; k < end; ++k) {
                            const Vec along = push * (own_x[k] - side * load(x + k * stride + column));
                            to_row[k] += k < middle ? -along : along;
                        }
                        continue;
                    }
                    const Vec ratio = -side * (row.reach[2 * f] * load(reach + (2 * f + 1) * stride + column));
                    for (int k = begin; k < end; ++k) {
                        const Vec difference = push * (own_x[k] - side * load(x + k * stride + column));
                        const Vec along = k < middle ? -difference : difference;
                        float* to = out_x + k * stride + column;
                        to_row[k] += along;
                        store(to, load(to) + ratio * along);
                    }
                }
            }
            for (int k = 0; k < dim; ++k) out_x[k * stride + at] += folded(to_row[k]);
        }
        double* rest = out_rest + int64_t(one) * (factors + 1);
        rest[0] += folded(by_energy);
        for (int f = 0; f < factors; ++f) rest[1 + f] += folded(by_size[f]);
    });
}

}  // extern "C"
