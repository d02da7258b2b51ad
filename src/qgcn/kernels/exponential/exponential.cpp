// The exponential at the pole, through the sphere of time, on the CPU. cpu.py compiles this file and says what the arguments are;
// geometry/diffeomorphic.py has the formula.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../angles.h"
#include "../columns.h"
#include "../parallel.h"

namespace {

struct Space {
    int dim, time;
    float size, root, tiny;
};

// What both passes need of sixteen tangent vectors.
struct Turned {
    Lanes radius, z, cosine, sine;  // S, not the sine itself

    INLINE Turned(const Space& in, const Lanes* u) {
        radius = root_of(in.size + dot(u, u, in.time, in.dim));
        z = Lanes{};
        cosine = sine = all(1);
        if (in.time == 1) return;
        z = dot(u, u, 1, in.time) / -in.size;
        const Lanes angle = root_of(-z);
        sine_cosine(angle, sine, cosine);
        sine = select(angle > in.tiny, sine / angle, all(1));
    }
};

constexpr int64_t BLOCK = 128;  // rows whose contributions to a sum are added up before the others'

void exponential_block(const Space& in, const float* u, int64_t count, float* out) {
    Lanes point[MOST_COORDINATES];
    for (int64_t i = 0; i < count; i += LANES) {
        read(u + i * in.dim, in.dim, count - i, point);
        const Turned at(in, point);
        const Lanes stretch = at.radius * at.sine / in.root;
        point[0] = at.radius * at.cosine;
        for (int d = 1; d < in.time; ++d) point[d] *= stretch;
        write(point, in.dim, std::min<int64_t>(LANES, count - i), out + i * in.dim);
    }
}

// The gradient with respect to the vectors, and the block's part of that with respect to the size.
void exponential_block_back(const Space& in, const float* u, const float* grad, int64_t count, float* to_u, float* to_size) {
    Lanes point[MOST_COORDINATES], given[MOST_COORDINATES], total{};
    for (int64_t i = 0; i < count; i += LANES) {
        read(u + i * in.dim, in.dim, count - i, point);
        read(grad + i * in.dim, in.dim, count - i, given);
        const Turned at(in, point);
        const Lanes along = dot(given, point, 1, in.time) / in.root, stretch = at.radius * at.sine / in.root;
        const Lanes pull = (given[0] * at.cosine + at.sine * along) / at.radius;  // the derivative by the radius, over it
        Lanes by_z{};
        if (in.time > 1) by_z = at.radius * (given[0] * at.sine / 2 + along * sine_slope(at.z, at.cosine, at.sine));
        total += pull / 2 - (by_z * at.z + at.radius * at.sine * along / 2) / in.size;
        const Lanes turn = by_z * (-2 / in.size);
        given[0] = Lanes{};
        for (int d = 1; d < in.time; ++d) given[d] = stretch * given[d] + turn * point[d];
        for (int d = in.time; d < in.dim; ++d) given[d] += pull * point[d];
        write(given, in.dim, std::min<int64_t>(LANES, count - i), to_u + i * in.dim);
    }
    *to_size = sum(total);
}

}  // namespace

extern "C" {

// Map tangent vectors to points, or, given the gradient with respect to these, return that with respect to the vectors in `out`,
// and with respect to the size in `to_size`, in parts that are to be added up.
void exponential(const float* u, const float* grad, int64_t rows, int32_t dim, int32_t time, const float* size, float tiny,
                 int32_t threads, float* out, float* to_size) {
    const Space in{dim, time, *size, std::sqrt(*size), tiny};
    for_each((rows + BLOCK - 1) / BLOCK, threads, [&](int64_t task) {
        const int64_t begin = task * BLOCK, count = std::min(BLOCK, rows - begin), at = begin * dim;
        if (grad == nullptr)
            exponential_block(in, u + at, count, out + at);
        else
            exponential_block_back(in, u + at, grad + at, count, out + at, to_size + task);
    });
}

}  // extern "C"
