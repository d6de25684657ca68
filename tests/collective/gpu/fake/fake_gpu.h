// The controls by which tests set and query the fakes of CUDA's driver and of NCCL.
//
// Both are one shared library, fake_gpu.so. A GPU's memory is the process' own, its streams are
// threads, and ranks are threads of one process, or processes (fake_processes.h): what a stream is
// given runs later, in order, so a missing event or an operation that is not waited for shows.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace tony::collective {

struct FakeProcesses;

/// The state of the whole process; a test resets it first. Thread safe.
struct FakeGpu {
  // Settings of a test. A negative rank means none.
  std::atomic<int> devices{4};
  std::atomic<int> driver_version{13000};
  std::atomic<int> init_result{0};              ///< of cuInit
  std::atomic<int> module_result{0};            ///< of cuModuleLoadData
  std::atomic<int> query_result{0};             ///< of cuEventQuery, instead of what is so
  std::atomic<size_t> memory{size_t{1} << 40};  ///< bytes that can be allocated
  std::atomic<int> nccl_version{22809};
  std::atomic<int> unique_id_result{0};
  std::atomic<int> init_fails_at{-1};   ///< the call itself
  std::atomic<int> init_hangs_at{-1};   ///< this rank never comes
  std::atomic<int> call_fails_at{-1};   ///< ncclGroupEnd says so
  std::atomic<int> call_hangs_at{-1};   ///< stays "in progress"
  std::atomic<int> async_fails_at{-1};  ///< an error during the operation, as of a lost network
  std::atomic<int> finalize_hangs_at{-1};
  std::atomic<FakeProcesses*> processes{nullptr};  ///< where ranks meet that are no threads

  // Counts of events.
  std::atomic<int> aborted{0};
  std::atomic<int> finalized{0};  ///< calls of ncclCommFinalize
  std::atomic<int> destroyed{0};
  std::atomic<int> operations{0};  ///< done by all ranks
  std::atomic<int> mismatches{0};  ///< of what ranks called
  std::atomic<int> misuses{0};     ///< calls that real libraries do not allow
  std::atomic<int> kernels{0};
  std::atomic<int> copies{0};
  // Objects that still exist.
  std::atomic<int> communicators{0};
  std::atomic<int> streams{0};
  std::atomic<int> events{0};
  std::atomic<int> allocations{0};
  std::atomic<int> modules{0};
  std::atomic<int> contexts{0};

  /// Notes the work of streams, in order.
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex);
    notes.push_back(what);
  }
  std::vector<std::string> Notes() {
    const std::lock_guard lock(mutex);
    return notes;
  }

  std::mutex mutex;
  std::vector<std::string> notes;
};

}  // namespace tony::collective

/// The only one, of the library that has it.
extern "C" tony::collective::FakeGpu* tony_fake_gpu();
