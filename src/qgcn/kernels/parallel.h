// Work shared out among threads.

#pragma once

#include <cstdint>

namespace {

// Call `task(i)` for all i below a number, each thread taking the next one. The threads are OpenMP's, as PyTorch's are: those
// would be in the way of others, waiting for work.
template <class Task>
void for_each(int64_t count, int threads, Task task) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < count; ++i) task(i);
}

}  // namespace
