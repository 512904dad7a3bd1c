// Work that is shared by the threads of a pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "xla/ffi/api/ffi.h"

namespace hyperaction {

// Calls `work` on several threads at once, this one among them, with a function that hands out
// every number below the count once, and then the count or more. An exception on any thread is
// rethrown here when all are done.
template <typename Work>
void parallel_for(xla::ffi::ThreadPool pool, int64_t count, const Work& work) {
  struct Shared {
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable done;
    int64_t working = 0;
    bool over = false;
    std::exception_ptr thrown;
  };
  const auto shared = std::make_shared<Shared>();
  const auto take_part = [&work](Shared& shared) {
    std::exception_ptr thrown;
    try {
      work([&shared] { return shared.next.fetch_add(1); });
    } catch (...) {
      thrown = std::current_exception();
    }
    std::lock_guard<std::mutex> lock(shared.mutex);
    if (thrown) shared.thrown = thrown;
  };
  const int64_t helpers = std::min(count, pool.num_threads()) - 1;
  for (int64_t helper = 0; helper < helpers; ++helper) {
    pool.Schedule([shared, &take_part] {
      {
        std::lock_guard<std::mutex> lock(shared->mutex);
        if (shared->over) return;  // It came too late: the caller, and the work, may be gone.
        ++shared->working;
      }
      take_part(*shared);
      std::lock_guard<std::mutex> lock(shared->mutex);
      --shared->working;
      shared->done.notify_one();
    });
  }
  take_part(*shared);
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->over = true;
  shared->done.wait(lock, [&] { return shared->working == 0; });
  if (shared->thrown) std::rethrow_exception(shared->thrown);
}

}  // namespace hyperaction
