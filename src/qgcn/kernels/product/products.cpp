// Products of sparse matrices with dense columns on the CPU, for a batch at once. cpu.py compiles this file and says what the
// arguments are.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <cstring>

#include "../lanes.h"
#include "../parallel.h"

namespace {

INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }

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

// The entries of the transpose: where its rows begin, their columns, and which entry of the matrix each is. What stands in one
// column of the matrix keeps its order, that of the rows.
void turn(const int32_t* crow, const int32_t* col, int64_t rows, int64_t columns, int32_t* turned_crow, int32_t* turned_col,
          int32_t* order) {
    std::fill_n(turned_crow, columns + 1, 0);
    for (int32_t e = 0; e < crow[rows]; ++e) ++turned_crow[col[e] + 1];
    for (int64_t j = 0; j < columns; ++j) turned_crow[j + 1] += turned_crow[j];
    const std::unique_ptr<int32_t[]> next(new int32_t[columns]);
    std::copy_n(turned_crow, columns, next.get());
    for (int64_t i = 0; i < rows; ++i)
        for (int32_t e = crow[i]; e < crow[i + 1]; ++e) {
            const int32_t place = next[col[e]]++;
            turned_col[place] = static_cast<int32_t>(i);
            order[place] = e;
        }
}

}  // extern "C"
