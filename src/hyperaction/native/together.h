// Work on many things by all threads of a pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "xla/ffi/api/ffi.h"

namespace hyperaction {

// Calls a work on several threads at once, this one among them, with a function that gives every
// number below the count to one of them, and the count when there are no more.
template <typename Work>
void together(xla::ffi::ThreadPool pool, int64_t count, const Work& work) {
  struct Shared {
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable done;
    int64_t working = 0;
    bool over = false;
  };
  const auto shared = std::make_shared<Shared>();
  const auto next = [shared] { return shared->next.fetch_add(1); };
  const int64_t helpers = std::min(count, pool.num_threads()) - 1;
  for (int64_t helper = 0; helper < helpers; ++helper) {
    pool.Schedule([shared, next, &work] {
      {
        std::lock_guard<std::mutex> lock(shared->mutex);
        if (shared->over) return;  // It came too late: the caller, and the work, may be gone.
        ++shared->working;
      }
      work(next);
      std::lock_guard<std::mutex> lock(shared->mutex);
      --shared->working;
      shared->done.notify_one();
    });
  }
  work(next);
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->over = true;
  shared->done.wait(lock, [&] { return shared->working == 0; });
}

}  // namespace hyperaction
