// The translation by a bias on the CPU, for a batch at once. cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../angles.h"
#include "../columns.h"
#include "../parallel.h"

namespace {

// One network's: the step S b, the factor C, the size |beta|; see geometry/tangent.py for the formula.
struct Translation {
    int dim, time;
    const float* push;
    float ahead, size, root, antipode, tiny;
};

// What both passes need of sixteen points.
struct Moved {
    Lanes half_cosine, half_sine, quarter, cosine, radius, excess, stretch, turned, k, room, side, scale;
    Lanes first, length, factor;  // of the logarithm on the sphere
    Bits inside, behind, bounded;
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
        bounded = room < root * excess;  // otherwise k would have no bound next to the cone of the antipode
        room = select(bounded, root * excess, room);
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
        const Lanes by_front = select(at.bounded, Lanes{}, at.side * by_room);
        const Lanes by_floor = at.cosine * by_front + select(at.bounded, by_room, Lanes{});  // of root excess, in both rooms
        Lanes by_this_size = select(at.bounded | (at.side > 0.0f), Lanes{}, 2 * by_room);
        by_stretch -= by_overlap * at.turned;
        // room = 2 size half_cosine^2 + root excess cosine, with excess = reach / (radius + root)
        by_this_size += 2 * at.half_cosine * at.half_cosine * by_front;
        by_half_cosine += 4 * size * at.half_cosine * by_front;
        by_cosine += root * at.excess * by_front;
        Lanes by_reach = root * by_floor / (at.radius + root);
        by_radius -= by_reach * at.excess;
        by_root += at.excess * by_floor - by_reach * at.excess;
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
