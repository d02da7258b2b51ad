// Masks drawn from keys on the CPU, for a batch at once. cpu.py compiles this file and says what the arguments are.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "../lanes.h"
#include "../parallel.h"

namespace {

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

inline uint64_t scrambled(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

extern "C" {

// For each key, the decisions for rows of `width` numbers, each a function of the key and of the row's number alone.
void scattered(const int64_t* keys, int64_t batch, int64_t width, const int64_t* rows, int64_t count, int32_t most, float value,
               int32_t threads, float* out) {
    constexpr int64_t PIECE = 1024;
    constexpr uint64_t GOLDEN = 0x9e3779b97f4a7c15u, STEP = 0xd1ab0a5f2f295d2du;
    const int64_t pieces = (count + PIECE - 1) / PIECE;
    for_each(batch * pieces, threads, [&](int64_t task) {
        const uint64_t key = static_cast<uint64_t>(keys[task / pieces]);
        float* to = out + task / pieces * count * width;
        const int64_t first = task % pieces * PIECE, end = std::min(count, first + PIECE);
        for (int64_t j = first; j < end; ++j) {
            const uint64_t base = scrambled(static_cast<uint64_t>(rows[j]) * GOLDEN + key);
            for (int64_t i = 0; i < width; i += 4) {
                const uint64_t word = scrambled(base + static_cast<uint64_t>(i / 4) * STEP);
                int16_t bits[4];
                std::memcpy(bits, &word, sizeof(bits));
                const int64_t here = std::min<int64_t>(4, width - i);
                for (int64_t l = 0; l < here; ++l) to[j * width + i + l] = bits[l] <= most ? value : 0.0f;
            }
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

}  // extern "C"
