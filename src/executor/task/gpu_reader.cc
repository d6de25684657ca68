// The thread shares nothing with the reader but `Shared`, which it keeps alive itself: a call that
// hangs in the driver may return when the reader, or even the loop, is gone.
#include "executor/task/gpu_reader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/logging.h"
#include "os/machine/gpus.h"
#include "os/machine/nvml.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// The library's share of one processor.
constexpr double kShare = 0.001;
/// A little less than five seconds, so that a round each five seconds finds it due.
constexpr milliseconds kToolInterval{4500};
/// After this time a reading says nothing about the present.
constexpr milliseconds kStale{15000};
constexpr milliseconds kEndPatience{1000};

core::GpuUsage ToUsage(const os::GpuReading& gpu) {
  return {.index = gpu.index,
          .utilization = gpu.utilization_percent,
          .memory_bytes = gpu.memory_used_bytes,
          .memory_total_bytes = gpu.memory_total_bytes,
          .power_watts = gpu.power_watts,
          .temperature = gpu.temperature_celsius,
          .slowed = std::max<int64_t>(0, gpu.slowed),
          .ecc_errors = gpu.ecc_errors};
}

core::GpuUsage ToUsage(const os::Gpu& gpu) {
  core::GpuUsage usage;
  usage.index = gpu.index;
  usage.utilization = gpu.utilization_percent;
  usage.memory_bytes = gpu.memory_used_bytes;
  usage.memory_total_bytes = gpu.memory_total_bytes;
  return usage;
}

}  // namespace

std::string GpuLibraryBeside(const std::string& tool) {
  return tool == "nvidia-smi" ? os::kNvmlLibrary : "";
}

struct GpuReader::Shared {
  // Used by the thread only; there is one at a time.
  Settings settings;
  std::unique_ptr<os::Nvml> library;  ///< null: not opened, or not to be had
  bool tried_library = false;

  std::mutex mutex;
  std::condition_variable ended;
  EventLoop* loop = nullptr;        ///< null: the reader is gone
  std::function<void()> on_result;  ///< posted to the loop
  bool runs = false;
  std::vector<core::GpuUsage> result;
  Duration cost{0};      ///< processor time of the reading
  bool by_tool = false;  ///< whether the tool made it
};

GpuReader::GpuReader(EventLoop& loop, Settings settings)
    : loop_(loop), gpus_(settings.gpus), shared_(std::make_shared<Shared>()), ration_(kShare) {
  shared_->settings = std::move(settings);
  shared_->loop = &loop_;
}

// The tool has a time limit of its own, and a child process to be waited for. The library has none.
GpuReader::~GpuReader() {
  std::unique_lock lock(shared_->mutex);
  shared_->loop = nullptr;
  const bool ended = shared_->ended.wait_for(lock, kEndPatience, [this] { return !shared_->runs; });
  if (!ended) LogWarning("the GPUs' driver does not answer; it is left alone");
}

bool GpuReader::Begin(std::function<void()> on_read) {
  const TimePoint now = clock_.Now();
  if (reading_ || !ration_.Due(now) || now < not_before_) return false;
  began_ = now;
  shared_->runs = true;
  shared_->on_result = lifetime_.Guard([this] { OnRead(); });
  try {
    std::thread([shared = shared_] { Read(shared); }).detach();
  } catch (const std::system_error& error) {
    shared_->runs = false;
    LogDebug("the GPUs are not read: no thread", {{"why", error.what()}});
    return false;
  }
  reading_ = true;
  on_read_ = std::move(on_read);
  return true;
}

void GpuReader::Read(const std::shared_ptr<Shared>& shared) {
  const Duration before = ThreadTime();
  const Settings& settings = shared->settings;
  if (!shared->tried_library && !settings.library.empty()) {
    auto library = os::Nvml::Open(settings.library);
    if (!library.ok())
      LogInfo("GPUs are measured by their tool", {{"why", library.status().message()}});
    if (library.ok()) shared->library = *std::move(library);
  }
  shared->tried_library = true;
  std::vector<core::GpuUsage> gpus;
  if (shared->library != nullptr) {
    for (const os::GpuReading& gpu : shared->library->Read(settings.gpus)) {
      gpus.push_back(ToUsage(gpu));
    }
  } else {
    for (const os::Gpu& gpu : os::DetectGpus(settings.tool, settings.tool_timeout).gpus) {
      if (std::count(settings.gpus.begin(), settings.gpus.end(), gpu.index) > 0) {
        gpus.push_back(ToUsage(gpu));
      }
    }
  }
  const std::lock_guard lock(shared->mutex);
  shared->result = std::move(gpus);
  shared->cost = ThreadTime() - before;
  shared->by_tool = shared->library == nullptr;
  shared->runs = false;
  shared->ended.notify_all();
  // The reader has set this to null before it, or the loop, went.
  if (shared->loop != nullptr) shared->loop->Post(shared->on_result);
}

void GpuReader::OnRead() {
  {
    const std::lock_guard lock(shared_->mutex);
    newest_ = std::move(shared_->result);
    // Opening the library costs more than any reading, so the first one sets no pace.
    if (newest_at_ != TimePoint()) ration_.Spent(began_, shared_->cost);
    not_before_ = shared_->by_tool ? began_ + kToolInterval : TimePoint();
  }
  newest_at_ = clock_.Now();
  reading_ = false;
  if (const auto on_read = std::exchange(on_read_, nullptr)) on_read();
}

std::vector<core::GpuUsage> GpuReader::Newest() const {
  const bool stale = clock_.Now() - newest_at_ > kStale;
  std::vector<core::GpuUsage> gpus;
  for (const int index : gpus_) {
    const auto known = std::find_if(newest_.begin(), newest_.end(),
                                    [&](const core::GpuUsage& gpu) { return gpu.index == index; });
    core::GpuUsage unknown;
    unknown.index = index;
    gpus.push_back(stale || known == newest_.end() ? unknown : *known);
  }
  return gpus;
}

}  // namespace tony::executor
