// inotify replaces polling: the events' file tells of progress, and the closing of the lock files
// tells of the end. No process has to be asked, so a job can be watched whose ApplicationMaster
// hangs.
#include "history/job_watch.h"

#include <algorithm>

#include "common/status_macros.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_liveness.h"

namespace tony::history {
namespace {

// The kernel reports that a file was closed just before it releases the file's lock, so the lock is
// tested several times, at this interval.
constexpr int kChecks = 20;
constexpr std::chrono::milliseconds kCheckInterval{20};

}  // namespace

absl::StatusOr<std::unique_ptr<JobWatch>> JobWatch::Start(const storage::JobFolder& folder) {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<os::FolderWatcher> watcher, os::FolderWatcher::Create());
  TONY_RETURN_IF_ERROR(watcher->Watch(folder.root()));
  std::unique_ptr<JobWatch> watch(new JobWatch(folder, std::move(watcher)));
  watch->CheckAlive();
  watch->ReadEvents();
  return watch;
}

absl::StatusOr<std::vector<std::string>> JobWatch::Wait(std::chrono::milliseconds timeout,
                                                        int stop_fd) {
  if (checks_left_ > 0)
    timeout = timeout.count() < 0 ? kCheckInterval : std::min(timeout, kCheckInterval);
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> paths, watcher_->Wait(timeout, stop_fd));
  const auto changed = [&](const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  // A change of the root itself means that the kernel's queue overflowed: everything may have
  // changed.
  const bool lost_count = changed(folder_.root());
  if (lost_count || changed(folder_.am_lock()) || changed(folder_.am_guard()))
    checks_left_ = kChecks;
  if (lost_count || changed(folder_.events())) ReadEvents();
  // A call that does not wait gives the kernel no time to release the lock, so it does not count as
  // a look.
  if (checks_left_ > 0 && timeout.count() != 0) {
    --checks_left_;
    CheckAlive();
  }
  return paths;
}

void JobWatch::ReadEvents() {
  events_.Read([this](const std::string& line) {
    // Measurements are not needed here, and histories of earlier versions have one for each
    // heartbeat; they are skipped without parsing.
    if (rpc::ScanMeasurement(line)) return;
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    if (event.ok()) view_.Apply(*event);
  });
}

void JobWatch::CheckAlive() {
  gone_ = !storage::IsAlive(folder_);
  if (gone_) ReadEvents();
}

}  // namespace tony::history
