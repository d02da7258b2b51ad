// What the layers of a network spend their time on, on the CPU, for a batch of networks at once: products with a sparse matrix,
// keyed masks, the translation by a bias. network.py compiles this file and says what the arguments are.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int LANES = 16;
constexpr float PI = 3.14159265358979f;

typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Bits __attribute__((vector_size(4 * LANES), aligned(4)));

INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }

// Call `task(i)` for all i below a number, each thread taking the next one. The threads are OpenMP's, as PyTorch's are: those
// would be in the way of others, waiting for work.
template <class Task>
void for_each(int64_t count, int threads, Task task) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < count; ++i) task(i);
}

// --- products -----------------------------------------------------------------------------------------------------------

// One row of a sparse matrix: `order` says where its values stand, if not beside its columns.
struct Row {
    const int32_t *col, *order;
    const float* values;
    int32_t count;

    INLINE float value(int32_t e) const { return order == nullptr ? values[e] : values[order[e]]; }
};

// Sixteen columns of one row of a product; several sums, so that one is added to while others wait.
INLINE Lanes product(const Row& row, const float* columns, int64_t width) {
    Lanes total[4] = {};
    int32_t e = 0;
    for (; e + 4 <= row.count; e += 4)
        for (int i = 0; i < 4; ++i) total[i] += row.value(e + i) * load(columns + row.col[e + i] * width);
    for (; e < row.count; ++e) total[0] += row.value(e) * load(columns + row.col[e] * width);
    return (total[0] + total[1]) + (total[2] + total[3]);
}

INLINE void narrow_product(const Row& row, const float* columns, int64_t width, int rest, float* out) {
    float total[LANES] = {};
    for (int32_t e = 0; e < row.count; ++e)
        for (int i = 0; i < rest; ++i) total[i] += row.value(e) * columns[row.col[e] * width + i];
    std::copy_n(total, rest, out);
}

// --- masks ----------------------------------------------------------------------------------------------------------------

// The Mersenne Twister, seeded and read as PyTorch does: two numbers make a word of 64 bits, the first of them the upper half.
class Twister {
   public:
    static constexpr int SIZE = 624;

    explicit Twister(uint64_t seed) {
        state_[0] = static_cast<uint32_t>(seed);
        for (uint32_t i = 1; i < SIZE; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }

    // The next 624 numbers, pairs in the order of memory.
    void next(uint32_t* out) {
        uint32_t fresh[SIZE];
        for (int i = 0; i < SIZE - SHIFT; ++i) fresh[i] = state_[i + SHIFT] ^ twist(state_[i], state_[i + 1]);
        for (int i = SIZE - SHIFT; i < SIZE - 1; ++i) fresh[i] = fresh[i + SHIFT - SIZE] ^ twist(state_[i], state_[i + 1]);
        fresh[SIZE - 1] = fresh[SHIFT - 1] ^ twist(state_[SIZE - 1], fresh[0]);
        std::memcpy(state_, fresh, sizeof(state_));
        for (int i = 0; i < SIZE; ++i) {
            uint32_t y = fresh[i];
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c5680u;
            y ^= (y << 15) & 0xefc60000u;
            fresh[i] = y ^ (y >> 18);
        }
        for (int i = 0; i < SIZE; i += 2) {
            out[i] = fresh[i + 1];
            out[i + 1] = fresh[i];
        }
    }

   private:
    static constexpr int SHIFT = 397;

    static INLINE uint32_t twist(uint32_t high, uint32_t low) {
        return (((high & 0x80000000u) | (low & 0x7fffffffu)) >> 1) ^ ((low & 1u) ? 0x9908b0dfu : 0u);
    }

    uint32_t state_[SIZE];
};

// --- functions of sixteen numbers -------------------------------------------------------------------------------------------

INLINE Lanes all(float value) { return Lanes{} + value; }

INLINE Lanes select(const Bits& mask, const Lanes& yes, const Lanes& no) { return mask ? yes : no; }

INLINE Lanes absolute(const Lanes& x) { return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(x) & 0x7fffffff); }

INLINE Lanes root_of(const Lanes& x) {
    Lanes r;
    for (int i = 0; i < LANES; ++i) r[i] = __builtin_sqrtf(x[i]);
    return r;
}

INLINE float sum(const Lanes& x) {
    float half[LANES];
    std::memcpy(half, &x, sizeof(half));
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i) half[i] += half[i + width];
    return half[0];
}

INLINE bool any(const Bits& mask) {
    int32_t found = 0;
    for (int i = 0; i < LANES; ++i) found |= mask[i];
    return found != 0;
}

// Sine and cosine of numbers that are not negative.
INLINE void sine_cosine(const Lanes& x, Lanes& sine, Lanes& cosine) {
    if (any(x > 8192.0f)) {  // the quarter turns of such numbers are not known well enough below
        for (int i = 0; i < LANES; ++i) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
        return;
    }
    const Lanes magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Lanes shifted = x * 0.636619772367581f + magic, turns = shifted - magic;
    const Bits quarter = reinterpret_cast<Bits>(shifted);
    Lanes r = x - turns * 1.5703125f;  // pi / 2, in three parts
    r = r - turns * 4.837512969970703125e-4f;
    r = r - turns * 7.54978995489188216e-8f;
    const Lanes z = r * r;
    const Lanes s = r + r * z * (((-1.9515295891e-4f * z) + 8.3321608736e-3f) * z - 1.6666654611e-1f);
    const Lanes c = 1.0f - 0.5f * z + z * z * ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f);
    const Bits odd = (quarter & 1) != 0;
    sine = select((quarter & 2) != 0, -select(odd, c, s), select(odd, c, s));
    cosine = select(((quarter + 1) & 2) != 0, -select(odd, s, c), select(odd, s, c));
}

// The angle between (x, y) and the first axis, for y that is not negative.
INLINE Lanes angle(const Lanes& y, const Lanes& x) {
    const Lanes across = absolute(x);
    const Bits steep = across < y;
    const Lanes t = select(steep, across, y) / select(steep, y, across);
    const Bits far = t > 0.4142135623730950f;  // the tangent of an eighth of a half turn
    const Lanes r = select(far, (t - 1.0f) / (t + 1.0f), t), z = r * r;
    Lanes a = r + r * z * (((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f);
    a = select(far, a + 0.25f * PI, a);
    a = select(steep, 0.5f * PI - a, a);
    return select(x < 0.0f, PI - a, a);
}

// --- the translation by a bias ----------------------------------------------------------------------------------------------

// One network's: the step S b, the factor C, the size |beta|; see geometry/tangent.py for the formula.
struct Translation {
    int dim, time;
    const float* push;
    float ahead, size, root, antipode, tiny;
};

// Read sixteen points, or fewer and zeros, coordinate by coordinate; write them.
INLINE void read(const float* from, int dim, int64_t count, Lanes* to) {
    for (int d = 0; d < dim; ++d)
        for (int i = 0; i < LANES; ++i) to[d][i] = i < count ? from[i * dim + d] : 0.0f;
}

INLINE void write(const Lanes* from, int dim, int64_t count, float* to) {
    for (int i = 0; i < count; ++i)
        for (int d = 0; d < dim; ++d) to[i * dim + d] = from[d][i];
}

INLINE Lanes dot(const Lanes* x, const Lanes* y, int begin, int end) {
    Lanes total{};
    for (int d = begin; d < end; ++d) total += x[d] * y[d];
    return total;
}

INLINE Lanes dot(const Lanes* x, const float* y, int begin, int end) {
    Lanes total{};
    for (int d = begin; d < end; ++d) total += x[d] * y[d];
    return total;
}

// What both passes need of sixteen points.
struct Moved {
    Lanes half_cosine, half_sine, quarter, cosine, radius, excess, stretch, turned, k, room, side, scale;
    Lanes first, length, factor;  // of the logarithm on the sphere
    Bits inside, behind;
    Lanes rest[MOST_COORDINATES];

    INLINE Moved(const Translation& by, const Lanes* u) {
        const float size = by.size, root = by.root;
        const Lanes reach = dot(u, u, by.time, by.dim);
        half_cosine = half_sine = cosine = all(1);
        quarter = turned = first = length = factor = Lanes{};
        inside = behind = Bits{};
        if (by.time > 1) {
            quarter = dot(u, u, 1, by.time) / (-4 * size);
            const Lanes half = root_of(-quarter);
            sine_cosine(half, half_sine, half_cosine);
            half_sine = select(half > by.tiny, half_sine / half, all(1));
            cosine = 2 * half_cosine * half_cosine - 1;
            turned = dot(u, by.push, 1, by.time);
        }
        radius = root_of(size + reach);
        excess = reach / (radius + root);
        stretch = radius * half_sine * half_cosine / root;
        const Lanes overlap = dot(u, by.push, by.time, by.dim) - stretch * turned;
        room = 2 * size * half_cosine * half_cosine + root * excess * cosine;
        const Bits connected = room > by.antipode * size;
        side = select(connected, all(1), all(-1));
        room = select(connected, room, 2 * size - room);
        k = overlap / room;
        scale = by.ahead + side * k;
        if (by.time == 1) return;
        first = k * root + scale * radius * cosine;
        for (int d = 1; d < by.time; ++d) rest[d] = side * by.push[d] + scale * stretch * u[d];
        length = root_of(dot(rest, rest, 1, by.time));
        const Bits front = first > 0.0f;
        inside = length > by.tiny;
        behind = ~(inside | front);
        factor = select(inside, angle(length, first) / length, select(front, 1 / first, Lanes{}));
    }
};

// S' for negative arguments: its series where the quotient would cancel.
INLINE Lanes sine_slope(const Lanes& z, const Lanes& cosine, const Lanes& sine) {
    const Lanes series =
        1 / 6.0f + z * (1 / 60.0f + z * (1 / 1680.0f + z * (1 / 90720.0f + z * (1 / 7983360.0f + z / 1037836800.0f))));
    return select(z < -1.0f, (cosine - sine) / (2 * z), series);
}

constexpr int64_t BLOCK = 128;  // rows whose contributions to a sum are added up before the others'

void translate_block(const Translation& by, const float* u, int64_t count, float* out) {
    Lanes point[MOST_COORDINATES], moved[MOST_COORDINATES];
    for (int64_t i = 0; i < count; i += LANES) {
        read(u + i * by.dim, by.dim, count - i, point);
        const Moved at(by, point);
        moved[0] = Lanes{};
        for (int d = 1; d < by.time; ++d) moved[d] = by.root * at.factor * at.rest[d];
        if (by.time > 1) moved[1] = select(at.behind, all(by.root * PI), moved[1]);
        for (int d = by.time; d < by.dim; ++d) moved[d] = at.side * by.push[d] + at.scale * point[d];
        write(moved, by.dim, std::min<int64_t>(LANES, count - i), out + i * by.dim);
    }
}

// Gradients with respect to the points, and the block's part of those with respect to step, ahead and size.
void translate_block_back(const Translation& by, const float* u, const float* grad, int64_t count, float* to_u, float* to_rest) {
    const float size = by.size, root = by.root;
    Lanes point[MOST_COORDINATES], given[MOST_COORDINATES], to_point[MOST_COORDINATES], to_turned[MOST_COORDINATES];
    Lanes to_push[MOST_COORDINATES], to_ahead{}, to_size{};
    std::fill_n(to_push, by.dim, Lanes{});
    for (int64_t i = 0; i < count; i += LANES) {
        read(u + i * by.dim, by.dim, count - i, point);
        read(grad + i * by.dim, by.dim, count - i, given);
        const Moved at(by, point);
        Lanes by_scale = dot(given, point, by.time, by.dim), by_k{}, by_root{}, by_radius{}, by_cosine{}, by_stretch{};
        Lanes by_half_cosine{}, by_half_sine{};
        if (by.time > 1) {
            // through the logarithm on the sphere, then through its arguments
            const Lanes along = select(at.behind, Lanes{}, root * dot(given, at.rest, 1, by.time));
            const Lanes length = at.length * at.length;
            const Lanes squared = select(at.behind, all(1), select(at.inside, length, Lanes{}) + at.first * at.first);
            const Lanes by_first = -along / squared;
            const Lanes bend = select(at.inside, (at.first / squared - at.factor) / length * along, Lanes{});
            for (int d = 1; d < by.time; ++d) to_turned[d] = root * at.factor * given[d] + bend * at.rest[d];
            by_root = select(at.behind, PI * given[1], at.factor * along / root) + by_first * at.k;
            by_k = by_first * root;
            by_radius = by_first * at.scale * at.cosine;
            by_cosine = by_first * at.scale * at.radius;
            const Lanes across = dot(to_turned, point, 1, by.time);
            by_scale += by_first * at.radius * at.cosine + at.stretch * across;
            by_stretch = at.scale * across;
        }
        by_k += at.side * by_scale;
        const Lanes by_overlap = by_k / at.room, by_room = -by_overlap * at.k;  // of the room on the point's own side
        const Lanes by_front = at.side * by_room;
        Lanes by_this_size = select(at.side > 0.0f, Lanes{}, 2 * by_room);
        by_stretch -= by_overlap * at.turned;
        // room = 2 size half_cosine^2 + root excess cosine, with excess = reach / (radius + root)
        by_this_size += 2 * at.half_cosine * at.half_cosine * by_front;
        by_half_cosine += 4 * size * at.half_cosine * by_front;
        by_cosine += root * at.excess * by_front;
        Lanes by_reach = root * at.cosine * by_front / (at.radius + root);
        by_radius -= by_reach * at.excess;
        by_root += at.excess * at.cosine * by_front - by_reach * at.excess;
        // stretch = radius half_sine half_cosine / root
        by_radius += by_stretch * at.half_sine * at.half_cosine / root;
        by_half_sine += by_stretch * at.radius * at.half_cosine / root;
        by_half_cosine += by_stretch * at.radius * at.half_sine / root;
        by_root -= by_stretch * at.stretch / root;
        by_reach += by_radius / (2 * at.radius);
        by_this_size += by_radius / (2 * at.radius);
        if (by.time > 1) {
            by_half_cosine += 4 * at.half_cosine * by_cosine;
            const Lanes slope = sine_slope(at.quarter, at.half_cosine, at.half_sine);
            const Lanes by_quarter = by_half_cosine * at.half_sine / 2 + by_half_sine * slope;
            by_this_size -= by_quarter * at.quarter / size;
            const Lanes pull = by_overlap * at.stretch, by_turn = by_quarter / (-2 * size);
            for (int d = 1; d < by.time; ++d) {
                to_point[d] = at.scale * at.stretch * to_turned[d] - pull * by.push[d] + by_turn * point[d];
                to_push[d] += at.side * to_turned[d] - pull * point[d];
            }
        }
        to_point[0] = Lanes{};
        for (int d = by.time; d < by.dim; ++d) {
            to_point[d] = at.scale * given[d] + by_overlap * by.push[d] + 2 * by_reach * point[d];
            to_push[d] += at.side * given[d] + by_overlap * point[d];
        }
        to_ahead += by_scale;
        to_size += by_this_size + by_root / (2 * root);
        write(to_point, by.dim, std::min<int64_t>(LANES, count - i), to_u + i * by.dim);
    }
    to_push[0] = Lanes{};
    for (int d = 0; d < by.dim; ++d) to_rest[d] = sum(to_push[d]);
    to_rest[by.dim] = sum(to_ahead);
    to_rest[by.dim + 1] = sum(to_size);
}

}  // namespace

extern "C" {

// out[k] = matrix_k @ columns[k]; the matrices differ in their values alone, or not at all if `stride` is 0. With `order`,
// which may be null, it says where the values of the entries stand.
void products(const int32_t* crow, const int32_t* col, const int32_t* order, const float* values, int64_t stride, int64_t rows,
              int64_t sources, const float* columns, int32_t width, int64_t batch, int32_t threads, float* out) {
    constexpr int64_t STEP = 32;
    const int64_t blocks = (rows + STEP - 1) / STEP;
    for_each(batch * blocks, threads, [&](int64_t task) {
        const int64_t k = task / blocks, begin = task % blocks * STEP;
        const float *from = columns + k * sources * width, *value = values + k * stride;
        for (int64_t i = begin; i < std::min(begin + STEP, rows); ++i) {
            const int32_t first = crow[i], count = crow[i + 1] - first;
            const Row row = order == nullptr ? Row{col + first, nullptr, value + first, count}
                                             : Row{col + first, order + first, value, count};
            float* to = out + (k * rows + i) * width;
            int c = 0;
            for (; c + LANES <= width; c += LANES) {
                const Lanes total = product(row, from + c, width);
                std::memcpy(to + c, &total, sizeof(total));
            }
            if (c < width) narrow_product(row, from + c, width, width - c, to + c);
        }
    });
}

// For each key, the decisions for `total` rows of `width` numbers, of which some rows are taken (all, without `rows`):
// `value` where 16 random bits are at most `most`, 0 elsewhere.
void masks(const int64_t* keys, int64_t batch, int64_t total, int64_t width, const int64_t* rows, int64_t count, int32_t most,
           float value, int32_t threads, float* out) {
    constexpr int64_t PIECE = 2 * Twister::SIZE;
    for_each(batch, threads, [&](int64_t k) {
        Twister twister(static_cast<uint64_t>(keys[k]));
        float* to = out + k * count * width;
        const std::unique_ptr<uint8_t[]> kept(rows == nullptr ? nullptr : new uint8_t[total * width + PIECE]);
        for (int64_t begin = 0; begin < total * width; begin += PIECE) {
            alignas(64) uint32_t words[Twister::SIZE];
            twister.next(words);
            int16_t bits[PIECE];
            std::memcpy(bits, words, sizeof(bits));
            if (rows != nullptr) {
                for (int64_t i = 0; i < PIECE; ++i) kept[begin + i] = bits[i] <= most;
            } else {
                const int64_t here = std::min(PIECE, total * width - begin);
                for (int64_t i = 0; i < here; ++i) to[begin + i] = bits[i] <= most ? value : 0.0f;
            }
        }
        if (rows == nullptr) return;
        for (int64_t j = 0; j < count; ++j)  // a product, not a choice: half of all choices would be guessed wrong
            for (int64_t i = 0; i < width; ++i) to[j * width + i] = value * kept[rows[j] * width + i];
    });
}

// Translate points, or, given the gradient with respect to the result, return those with respect to the points in `out`, and
// with respect to step, ahead and size in `to_rest`, in parts that are to be added up; see geometry/tangent.py.
void translate(const float* u, const float* grad, int64_t batch, int64_t rows, int32_t dim, int32_t time, const float* step,
               const float* ahead, const float* size, float antipode, float tiny, int32_t threads, float* out, float* to_rest) {
    const int64_t blocks = (rows + BLOCK - 1) / BLOCK;
    for_each(batch * blocks, threads, [&](int64_t task) {
        const int64_t k = task / blocks, begin = task % blocks * BLOCK, count = std::min(BLOCK, rows - begin);
        const Translation by{dim, time, step + k * dim, ahead[k], size[k], std::sqrt(size[k]), antipode, tiny};
        const int64_t at = (k * rows + begin) * dim;
        if (grad == nullptr)
            translate_block(by, u + at, count, out + at);
        else
            translate_block_back(by, u + at, grad + at, count, out + at, to_rest + task * (dim + 2));
    });
}

}  // extern "C"
