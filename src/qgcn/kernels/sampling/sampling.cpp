// Samples of neighbours on the CPU. cpu.py compiles this file and says what the arguments are; reference.py does the same.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "../parallel.h"

namespace {

constexpr uint64_t GOLDEN = 0x9e3779b97f4a7c15u, STEP = 0xd1ab0a5f2f295d2du;
constexpr int64_t PIECE = 256;  // rows, or words, that a thread takes at once
constexpr int64_t LINE = 16;    // entries of a line of the cache
constexpr int64_t AHEAD = 12;   // rows, or nodes, whose memory is asked for in advance

inline uint64_t scrambled(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Draw places below `others`, different ones unless replaced, by Floyd's method.
inline void choose(uint64_t base, int64_t others, int64_t fanout, bool replace, int64_t* out) {
    for (int64_t draw = 0; draw < fanout; ++draw) {
        const int64_t last = replace ? others - 1 : others - fanout + draw;
        const uint64_t word = scrambled(base + static_cast<uint64_t>(draw) * STEP) >> 32;
        const int64_t place = static_cast<int64_t>((word * static_cast<uint64_t>(last + 1)) >> 32);
        bool taken = false;
        if (!replace)
            for (int64_t i = 0; i < draw; ++i) taken |= out[i] == place;
        out[draw] = taken ? last : place;
    }
}

inline void sort(int64_t* begin, int64_t* end) {
    if (end - begin > 64) return std::sort(begin, end);
    for (int64_t* i = begin; i < end; ++i) {
        const int64_t value = *i;
        int64_t* j = i;
        for (; j > begin && j[-1] > value; --j) *j = j[-1];
        *j = value;
    }
}

inline int64_t places_for(int64_t count) {
    int64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

}  // namespace

extern "C" {

// Numbers of entries drawn of each row, added up: `begin` has one more than there are nodes.
void counts(const int32_t* crow, const int32_t* loops, const int64_t* nodes, int64_t count, int64_t fanout, int32_t replace,
            int64_t* begin) {
    begin[0] = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (i + AHEAD < count) __builtin_prefetch(crow + nodes[i + AHEAD]);
        const int64_t node = nodes[i], has = loops != nullptr && loops[node] >= 0;
        const int64_t others = crow[node + 1] - crow[node] - has;
        const int64_t taken = fanout < 0 ? others : replace ? (others > 0 ? fanout : 0) : std::min(others, fanout);
        begin[i + 1] = begin[i] + taken + has;
    }
}

// Draw entries of the rows, ascending in each, and read their columns.
void neighbours(const int32_t* crow, const int32_t* col, const int32_t* loops, const int64_t* nodes, int64_t count,
                int64_t fanout, uint64_t key, int32_t replace, const int64_t* begin, int32_t threads, int64_t* entries,
                int64_t* sources) {
    for_each((count + PIECE - 1) / PIECE, threads, [&](int64_t piece) {
        const int64_t end = std::min(count, (piece + 1) * PIECE);
        for (int64_t i = piece * PIECE; i < end; ++i) {
            if (i + 2 * AHEAD < end) __builtin_prefetch(crow + nodes[i + 2 * AHEAD]);
            if (i + AHEAD < end) {
                __builtin_prefetch(col + crow[nodes[i + AHEAD]]);
                __builtin_prefetch(col + crow[nodes[i + AHEAD]] + LINE);
            }
            const int64_t node = nodes[i], start = crow[node], own = loops == nullptr ? -1 : loops[node];
            const int64_t has = own >= 0, others = crow[node + 1] - start - has, total = begin[i + 1] - begin[i];
            int64_t* out = entries + begin[i];
            if (fanout < 0 || (!replace && others <= fanout)) {
                for (int64_t j = 0; j < total; ++j) out[j] = start + j;
            } else if (total > 0) {
                if (others > 0) {
                    choose(scrambled(static_cast<uint64_t>(node) * GOLDEN + key), others, fanout, replace, out);
                    for (int64_t j = 0; j < fanout; ++j) out[j] += start + (has && out[j] + start >= own);
                }
                if (has) out[total - 1] = own;
                sort(out, out + total);
            }
            for (int64_t j = 0; j < total; ++j) sources[begin[i] + j] = col[out[j]];
        }
    });
}

// Number nodes in the order in which they first appear, after those known; say how many are new.
void numbers(const int64_t* known, int64_t count, const int64_t* found, int64_t total, int64_t* place, int64_t* fresh,
             int64_t* made) {
    struct Slot {
        int64_t node;
        int64_t number;
    };
    const int64_t size = places_for(count + total);
    const uint64_t mask = static_cast<uint64_t>(size - 1);
    const std::unique_ptr<Slot[]> table(new Slot[size]);
    std::fill_n(table.get(), size, Slot{-1, 0});
    const auto where = [&](int64_t node) { return (static_cast<uint64_t>(node) * GOLDEN >> 20) & mask; };
    int64_t next = 0;
    const auto number_of = [&](int64_t node) {
        for (uint64_t at = where(node);; at = (at + 1) & mask) {
            if (table[at].node == node) return table[at].number;
            if (table[at].node < 0) {
                table[at] = Slot{node, next};
                return next++;
            }
        }
    };
    for (int64_t i = 0; i < count; ++i) number_of(known[i]);
    for (int64_t i = 0; i < total; ++i) {
        if (i + AHEAD < total) __builtin_prefetch(&table[where(found[i + AHEAD])]);
        place[i] = number_of(found[i]);
        if (place[i] == next - 1 && place[i] >= count) fresh[place[i] - count] = found[i];
    }
    *made = next - count;
}

}  // extern "C"
