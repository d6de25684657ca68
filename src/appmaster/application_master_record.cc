// What the ApplicationMaster records of the job: events, the newest measurements, metrics.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "appmaster/application_master.h"
#include "appmaster/record/observed_log.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/model/lease.h"
#include "core/runtime/runtime.h"
#include "os/files/files.h"
#include "pagedata/job_traits.h"
#include "storage/archived_events.h"

namespace tony::appmaster {
namespace {

/// Pause between two files of archived events: each file costs the cluster's file system memory for
/// ever.
constexpr std::chrono::seconds kArchivePause{2};
/// More events than can happen within kArchivePause.
constexpr int64_t kUnknownEvents = 100'000;

/// Pauses between two writes of the newest measurements. Each write rewrites all lines. On this
/// machine a file costs little, so the pause is short and grows with the number of tasks, each of
/// which takes a tenth of a millisecond; in a cluster's file system it is long.
constexpr std::chrono::seconds kUsagePause{1};
constexpr std::chrono::milliseconds kUsagePauseOfTask{20};
constexpr std::chrono::seconds kArchivedUsagePause{30};

/// Least pauses between two files of metrics, likewise.
constexpr std::chrono::seconds kMetricsPause{20};
constexpr std::chrono::minutes kArchivedMetricsPause{5};

/// Retries and pause for a past that cannot be read at first.
constexpr int kPastRetries = 20;
constexpr std::chrono::seconds kPastPause{5};

}  // namespace

absl::StatusOr<History> ApplicationMaster::OpenArchivedHistory() {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, platform_->OpenFiles());
  TONY_ASSIGN_OR_RETURN(const rpc::HistoryEnd past, EventArchive::ReadEnd(*files));
  TONY_ASSIGN_OR_RETURN(History history,
                        History::Continue(past, platform_->folder().events(), clock_, event_log_));
  TONY_ASSIGN_OR_RETURN(archive_, EventArchive::Open(std::move(files), kArchivePause));
  history.set_copy([this](const std::string& line) {
    if (archive_ != nullptr) archive_->Add(line);
  });
  // Followers may have seen events that were not archived. Skipping numbers keeps a new event from
  // getting a number that a follower already knows.
  if (past.sequence > 0) history.SkipNumbers(kUnknownEvents);
  return history;
}

absl::Status ApplicationMaster::OpenHistory() {
  TONY_ASSIGN_OR_RETURN(History history,
                        platform_->files_take_time()
                            ? OpenArchivedHistory()
                            : History::Open(platform_->folder().events(), clock_, event_log_));
  history_ = std::make_unique<History>(std::move(history));
  OpenMeasurements();
  // Only the job's first ApplicationMaster records the submission; the others continue its history.
  if (history_->past_sequence() > 0) return absl::OkStatus();
  const core::JobDescription& job = machine_->job();
  core::JobSubmitted submitted;
  submitted.job_id = platform_->job_id();
  submitted.name = job.name;
  submitted.user = platform_->user();
  submitted.framework = core::FrameworkName(job.framework);
  submitted.backend = platform_->backend_name();
  for (const core::TaskType& type : job.types) {
    const bool tracked = type.tracking == core::Tracking::kTracked;
    submitted.types.push_back({type.name, type.instances, tracked, type.resources.memory_mb,
                               type.resources.vcores, type.resources.gpus});
  }
  submitted.log_folder =
      platform_->collects_logs() ? platform_->folder().logs() : platform_->folders().logs;
  submitted.master_log_url = platform_->own_log_url();
  history_->Record(std::move(submitted));
  return absl::OkStatus();
}

void ApplicationMaster::OpenMeasurements() {
  const bool archived = platform_->files_take_time();
  const Duration pause = archived
                             ? Duration(kArchivedUsagePause)
                             : Duration(kUsagePause + machine_->tasks().size() * kUsagePauseOfTask);
  measurements_ = std::make_unique<Measurements>(
      loop_, clock_, event_log_, pause, [this, archived](const std::string& lines) {
        if (!archived) return os::WriteFileAtomically(platform_->folder().usage(), lines);
        if (archive_ != nullptr) archive_->KeepUsage(lines);
        return absl::OkStatus();
      });
}

absl::Status ApplicationMaster::OpenMetrics(const jobfile::Configuration& configuration) {
  const bool archived = platform_->files_take_time();
  Metrics::Options options;
  options.job_id = platform_->job_id();
  options.path = platform_->folder().metrics();
  options.least_pause = archived ? Duration(kArchivedMetricsPause) : Duration(kMetricsPause);
  const core::JobDescription& job = machine_->job();
  const auto pause = core::MeasurementPause(job.timeouts, job.CountTasks());
  options.metrics.bytes =
      static_cast<size_t>(configuration.GetMemoryMb("tony.am.metrics-memory") << 20);
  options.metrics.stale_millis = 3 * std::max<int64_t>(1'000, pause / std::chrono::milliseconds(1));
  for (const core::TaskType& type : job.types) {
    options.metrics.types.push_back({type.name, type.instances});
  }
  metrics_ = std::make_unique<Metrics>(loop_, clock_, std::move(options), [this, archived] {
    if (archived && archive_ != nullptr) archive_->KeepMetrics(platform_->folder().metrics());
  });
  if (journal_->incarnation() == 1) return absl::OkStatus();
  absl::StatusOr<std::string> earlier;
  if (archived) {
    TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, platform_->OpenFiles());
    earlier = files->Read(storage::kMetricFile);
  } else {
    earlier = os::ReadFile(platform_->folder().metrics());
  }
  // Metrics are no reason to give up a job.
  if (earlier.ok()) {
    metrics_->Restore(*earlier);
  } else {
    LogInfo(absl::StrCat("there are no earlier metrics: ", std::string(earlier.status().message())),
            {{"job", platform_->job_id()}});
  }
  return absl::OkStatus();
}

// On a cluster the history is in other files (storage/archived_events.h), and nobody lists many of
// them yet.
void ApplicationMaster::KeepSummary() {
  if (platform_->files_take_time()) return;
  const std::optional<core::ObservedJob> job = ObserveLog(event_log_);
  if (!job || !job->view.verdict) return;
  history::JobEntry entry = history::EntryOf(*job, traits_);
  entry.advice = pagedata::CountAdvice(*job, metrics_->metrics(), clock_.UnixMillis());
  std::error_code error;
  entry.events_bytes =
      static_cast<int64_t>(std::filesystem::file_size(platform_->folder().events(), error));
  const absl::Status written =
      error ? absl::UnavailableError(error.message())
            : os::WriteFileAtomically(platform_->folder().summary(), history::EntryToJson(entry));
  if (!written.ok()) {
    LogInfo(absl::StrCat("the job's summary is not kept: ", std::string(written.message())),
            {{"job", platform_->job_id()}});
  }
}

absl::Status ApplicationMaster::ReadPast() {
  if (history_->past_sequence() == 0) return absl::OkStatus();
  PastReader::Open open =
      [path = platform_->folder().events()]() -> absl::StatusOr<std::unique_ptr<std::istream>> {
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!file->is_open()) return os::ErrnoError(errno, path);
    return file;
  };
  if (platform_->files_take_time()) {
    TONY_ASSIGN_OR_RETURN(std::shared_ptr<storage::JobFiles> files, platform_->OpenFiles());
    open = [files]() -> absl::StatusOr<std::unique_ptr<std::istream>> {
      TONY_ASSIGN_OR_RETURN(std::string lines, storage::ReadArchivedEvents(*files));
      return std::make_unique<std::istringstream>(std::move(lines));
    };
  }
  past_reader_ = std::make_unique<PastReader>(event_log_, history_->past_sequence(),
                                              std::move(open), kPastRetries, kPastPause);
  return absl::OkStatus();
}

}  // namespace tony::appmaster
