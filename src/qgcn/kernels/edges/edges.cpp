// Sums over the edges of a graph on the CPU: no matrix is built. cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../lanes.h"
#include "../parallel.h"

namespace {

enum Kind { SUM = 0, MEAN = 1, SYM = 2 };

INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
INLINE void store(float* to, const Lanes& value) { *reinterpret_cast<Lanes*>(to) = value; }

INLINE void add_scaled(const float* from, float scale, int32_t width, float* to) {
    int32_t c = 0;
    for (; c + LANES <= width; c += LANES) store(to + c, load(to + c) + scale * load(from + c));
    for (; c < width; ++c) to[c] += scale * from[c];
}

// A place among `ends` that holds no index below `limit`, or -1.
int64_t outside(const int64_t* ends, int64_t count, int64_t limit) {
    uint64_t largest = 0;  // what is negative is large
    for (int64_t e = 0; e < count; ++e) largest = std::max(largest, static_cast<uint64_t>(ends[e]));
    if (count == 0 || largest < static_cast<uint64_t>(limit)) return -1;
    return std::find_if(ends, ends + count, [&](int64_t end) { return end < 0 || end >= limit; }) - ends;
}

INLINE double inverse(double degree) { return degree > 0 ? 1 / degree : 1; }

}  // namespace

extern "C" {

// Which edge has an end that is no node; -1 if none has. The functions below do not ask.
void stray(const int64_t* source, const int64_t* target, int64_t edges, int64_t sources, int64_t targets, int64_t* found) {
    *found = outside(source, edges, sources);
    if (*found < 0) *found = outside(target, edges, targets);
}

// Coefficients of the edges and of the nodes' own loops, normalised in float64 and rounded once. `same`: sources and targets
// are the same nodes, so that a loop is given by an edge, and both ends have the same degree.
void coefficients(const int64_t* source, const int64_t* target, const float* weight, int64_t edges, int64_t sources,
                  int64_t targets, int32_t kind, int32_t same, int32_t loops, float* of_edges, float* of_loops) {
    const bool found = same && loops;  // loops among the edges are taken out
    std::vector<double> own(loops ? targets : 0, 1.0), into(targets, 0.0), leaving(same ? 0 : sources, loops ? 1.0 : 0.0);
    for (int64_t e = 0; e < edges; ++e) {
        const double w = weight == nullptr ? 1.0 : weight[e];
        if (found && source[e] == target[e]) {
            own[target[e]] = w;  // of several, the last one counts
            continue;
        }
        into[target[e]] += w;
        if (!same) leaving[source[e]] += w;
    }
    for (int64_t i = 0; i < targets && loops; ++i) into[i] += own[i];
    for (auto* degrees : {&into, &leaving})  // they become the factors of an edge's ends
        for (double& degree : *degrees) degree = kind == SUM ? 1 : kind == MEAN ? inverse(degree) : std::sqrt(inverse(degree));
    const double* from = same ? into.data() : leaving.data();
    for (int64_t e = 0; e < edges; ++e) {
        const double w = found && source[e] == target[e] ? 0.0 : weight == nullptr ? 1.0 : weight[e];
        of_edges[e] = static_cast<float>(w * into[target[e]] * (kind == SYM ? from[source[e]] : 1));
    }
    for (int64_t i = 0; i < targets && loops; ++i)
        of_loops[i] = static_cast<float>(own[i] * into[i] * (kind == SYM ? into[i] : 1));
}

// out[k, to[e]] += coefficient[e] * v[k, from[e]]; each thread has a range of the rows of `out`, and reads all edges. With loops,
// which need as many rows as sources, out[k, i] begins at loops[i] * v[k, i], else at 0.
void gather(const int64_t* from, const int64_t* to, const float* coefficient, int64_t edges, const float* loops, const float* v,
            int64_t sources, int64_t rows, int32_t width, int64_t batch, int32_t threads, float* out) {
    const int64_t step = (rows + threads - 1) / std::max(threads, 1);
    for_each(threads, threads, [&](int64_t part) {
        const int64_t first = part * step, last = std::min(rows, first + step);
        for (int64_t k = 0; k < batch; ++k) {
            const float* read = v + k * sources * width;
            float* write = out + k * rows * width;
            std::fill(write + first * width, write + std::max(first, last) * width, 0.0f);
            for (int64_t i = first; i < last && loops != nullptr; ++i) add_scaled(read + i * width, loops[i], width, write + i * width);
            for (int64_t e = 0; e < edges; ++e)
                if (threads == 1 || (to[e] >= first && to[e] < last))
                    add_scaled(read + from[e] * width, coefficient[e], width, write + to[e] * width);
        }
    });
}

// out[e] = sum over the batch of a[k, from[e]] . b[k, to[e]]
void dots(const int64_t* from, const int64_t* to, int64_t edges, const float* a, int64_t a_rows, const float* b, int64_t b_rows,
          int32_t width, int64_t batch, int32_t threads, float* out) {
    constexpr int64_t STEP = 512;
    for_each((edges + STEP - 1) / STEP, threads, [&](int64_t block) {
        for (int64_t e = block * STEP; e < std::min(edges, (block + 1) * STEP); ++e) {
            float total = 0;
            for (int64_t k = 0; k < batch; ++k) {
                const float *left = a + (k * a_rows + from[e]) * width, *right = b + (k * b_rows + to[e]) * width;
                for (int32_t c = 0; c < width; ++c) total += left[c] * right[c];
            }
            out[e] = total;
        }
    });
}

}  // extern "C"
