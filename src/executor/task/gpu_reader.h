// Reads the task's GPUs on a thread of its own, by the driver's library or by nvidia-smi.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/tasks/task_usage.h"
#include "executor/task/ration.h"

namespace tony::executor {

/// NVML's file if `tool` is the default of tony.gpu-exec-path, else "": whoever names another tool
/// wants its numbers.
std::string GpuLibraryBeside(const std::string& tool);

/// 1. A reading runs on a thread of its own, because the library and the tool may take seconds, or
///    hang for ever with a broken GPU.
/// 2. The library (NVML) is opened by the first reading, and costs some 100 us for each GPU. If it
///    is not there, the tool is run for each reading: a whole process, which knows only the use of
///    cores and memory, and is run every five seconds at most.
/// 3. While a reading runs, no other begins, and the newest one is used. When it is too old,
/// nothing
///    is known of the GPUs.
/// Not thread safe: owned by the event loop.
class GpuReader {
 public:
  struct Settings {
    std::vector<int> gpus;  ///< indices of the task's GPUs, as nvidia-smi counts
    std::string library;    ///< NVML's file; empty: only the tool is used
    std::string tool;       ///< path of nvidia-smi
    std::chrono::milliseconds tool_timeout{10000};
  };

  /// `loop` must outlive this.
  GpuReader(EventLoop& loop, Settings settings);
  /// Waits a moment for a reading that runs, and leaves it alone if it hangs.
  ~GpuReader();
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  /// Begins a reading, whose end calls `on_read` on the loop. Returns false, and calls nothing, if
  /// one runs already or it is too early for the next one.
  bool Begin(std::function<void()> on_read);
  /// The newest reading, one entry for each GPU. Numbers that are not known are -1.
  std::vector<core::GpuUsage> Newest() const;

 private:
  struct Shared;

  /// The thread's work. It may outlive this reader.
  static void Read(const std::shared_ptr<Shared>& shared);
  void OnRead();

  EventLoop& loop_;
  const SystemClock clock_;
  const std::vector<int> gpus_;
  const std::shared_ptr<Shared> shared_;
  bool reading_ = false;
  std::function<void()> on_read_;
  std::vector<core::GpuUsage> newest_;
  TimePoint newest_at_;
  TimePoint began_;
  Ration ration_;
  TimePoint not_before_;  ///< for the tool
  Lifetime lifetime_;     ///< last: guards what the thread posts
};

}  // namespace tony::executor
