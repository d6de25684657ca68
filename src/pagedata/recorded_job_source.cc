// A job that is over is read by history/stored_job.h as a whole, which skips what earlier versions
// recorded too much of. A living job is of this version or close to it, and is read line by line.
#include "pagedata/recorded_job_source.h"

#include <sys/stat.h>

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/record_file.h"
#include "history/recorded_events.h"
#include "jobfile/configuration/configuration_loader.h"
#include "pagedata/config_keys.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_liveness.h"

namespace tony::pagedata {
namespace {

/// The store of metrics is bounded (core::JobMetrics), and so is its file.
constexpr size_t kMostMetricsBytes = size_t{1} << 30;
std::vector<web::ConfigKey> ReadConfig(const storage::JobFolder& folder) {
  if (!history::OpenRecordFile(folder.job_xml()).ok()) return {};
  const jobfile::Sources sources{.job_file = folder.job_xml(), .working_folder = "/"};
  return ConfigKeys(jobfile::LoadConfiguration(sources).configuration);
}

}  // namespace

std::optional<core::JobMetrics> ReadMetrics(const storage::JobFolder& folder) {
  const absl::StatusOr<std::string> bytes =
      history::ReadRecordFile(folder.metrics(), kMostMetricsBytes);
  if (!bytes.ok()) return std::nullopt;
  absl::StatusOr<history::StoredMetrics> stored = history::MetricsFromBytes(*bytes);
  if (stored.ok()) return std::move(stored->metrics);
  LogDebug("a job's metrics cannot be read",
           {{"file", folder.metrics()}, {"why", stored.status().message()}});
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<RecordedJobSource>> RecordedJobSource::Load(
    const storage::JobFolder& folder, const std::string& id, const Clock& clock) {
  std::unique_ptr<RecordedJobSource> source(new RecordedJobSource(folder, clock));
  history::StoredJob& stored = source->stored_;
  if (storage::IsAlive(folder)) {
    stored.id = id;
    stored.folder = folder;
    stored.alive = true;
    source->ReadLines();
    source->ReadUsage();
    stored.submitted_millis = history::SubmittedMillis(folder);
    source->ConcludeAgain();
  } else {
    TONY_RETURN_IF_ERROR(source->ReadWhole(folder, id));
  }
  if (stored.job.unreadable) return absl::FailedPreconditionError(stored.sentence);
  source->config_ = ReadConfig(folder);
  if (std::optional<core::JobMetrics> metrics = ReadMetrics(folder)) {
    source->metrics_ = *std::move(metrics);
  }
  return source;
}

absl::Status RecordedJobSource::ReadWhole(const storage::JobFolder& folder, const std::string& id) {
  core::JobTimeline timeline;
  TONY_ASSIGN_OR_RETURN(history::StoredJob stored,
                        history::ReadStoredJob(folder, id, [&](const core::JobEvent& event) {
                          timeline.Apply(event);
                          changes_.OnEvent(event);
                        }));
  stored_ = std::move(stored);
  timeline_ = std::move(timeline);
  return absl::OkStatus();
}

bool RecordedJobSource::ReadLines() {
  bool any = false;
  if (std::exchange(wait_filled_, false)) stored_.job.view.waiting.reset();
  tail_.Read([&](const std::string& line) {
    any = true;
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    if (event.ok()) {
      timeline_.Apply(*event);
      changes_.OnEvent(*event);
    }
    (void)history::TakeLine(++lines_, event, stored_);
  });
  return any;
}

// The file is replaced as a whole, so it is the one that was read if it has the same inode and
// time.
void RecordedJobSource::ReadUsage() {
  struct stat status {};
  if (::stat(stored_.folder.usage().c_str(), &status) != 0) return;
  const UsageMark mark{status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  if (mark == usage_mark_) return;
  usage_mark_ = mark;
  for (const core::TaskMeasured& measured :
       rpc::ParseMeasurements(history::ReadUsage(stored_.folder))) {
    stored_.job.view.Measure(measured);
    timeline_.Measure(measured, clock_.UnixMillis());
    changes_.OnMeasurement(measured.task);
  }
}

void RecordedJobSource::ConcludeAgain() {
  const bool waited = stored_.job.view.waiting.has_value();
  history::Conclude(stored_);
  wait_filled_ = !waited && stored_.job.view.waiting.has_value();
}

// The locks are looked at before the lines, as a job that ends in between would look lost.
bool RecordedJobSource::Refresh() {
  if (!alive()) return false;
  const int64_t before = changes_.version;
  stored_.alive = storage::IsAlive(stored_.folder);
  ReadLines();
  if (!stored_.ended()) ReadUsage();
  ConcludeAgain();
  if (!stored_.alive && !stored_.ended()) {
    // Lost, as far as was read on. The whole history has the last word, as it had for a page that
    // is opened only now.
    const absl::Status read =
        ReadWhole(storage::JobFolder(stored_.folder), std::string(stored_.id));
    if (!read.ok()) LogDebug("a lost job is not read again", {{"why", read.message()}});
    changes_.job_version = ++changes_.version;
  }
  return changes_.version != before;
}

void RecordedJobSource::ReadEvents(int64_t after, size_t limit, TakeEvents take) {
  if (event_worker_ == nullptr) return take(events_->Read(after, limit, [] { return false; }));
  event_worker_->Run<web::EventPage>(
      nullptr,
      [events = events_, after, limit](const Worker::Stop& stop) -> absl::StatusOr<web::EventPage> {
        return events->Read(after, limit, stop);
      },
      std::move(take));
}

void RecordedJobSource::Stop(const std::string& why, Stopped done) {
  if (can_stop()) return stop_(why, std::move(done));
  done(absl::FailedPreconditionError("a job cannot be ended from its history alone"));
}

}  // namespace tony::pagedata
