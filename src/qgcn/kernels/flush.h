// Numbers too small to be normal, taken for zero: each costs a processor some hundred cycles, and the weights of far pairs are full
// of them.

#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

// As long as it lives, numbers below 1e-38 in size are zero on this thread, as operands and as results.
class Flushed {
  public:
    Flushed() : before(mode()) { set(before | TINY); }
    ~Flushed() { set(before); }
    Flushed(const Flushed&) = delete;
    Flushed& operator=(const Flushed&) = delete;

  private:
#if defined(__SSE2__)
    typedef uint32_t Mode;
    static constexpr Mode TINY = 0x8040;  // results, operands
    static Mode mode() { return _mm_getcsr(); }
    static void set(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
    typedef uint64_t Mode;
    static constexpr Mode TINY = Mode(1) << 24;  // both
    static Mode mode() {
        Mode mode;
        asm volatile("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    static void set(Mode mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
    typedef int Mode;
    static constexpr Mode TINY = 0;
    static Mode mode() { return 0; }
    static void set(Mode) {}
#endif
    const Mode before;
};

}  // namespace
