// A job that is over is read by history/stored_job.h as a whole, which skips what earlier versions
// recorded too much of. A living job is of this version or close to it, and is read line by line.
#include "pagedata/recorded_job_source.h"

#include <fstream>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/recorded_events.h"
#include "jobfile/configuration/configuration_loader.h"
#include "os/files/files.h"
#include "pagedata/config_keys.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_liveness.h"

namespace tony::pagedata {
namespace {

constexpr absl::string_view kSequence = "{\"sequence\":\"";

/// The number that the line begins with; 0: it does not begin with one.
int64_t SequenceOf(absl::string_view line) {
  if (!absl::StartsWith(line, kSequence)) return 0;
  line.remove_prefix(kSequence.size());
  int64_t number = 0;
  return absl::SimpleAtoi(line.substr(0, line.find('"')), &number) ? number : 0;
}

std::vector<web::ConfigKey> ReadConfig(const storage::JobFolder& folder) {
  jobfile::Sources sources;
  sources.job_file = folder.job_xml();
  sources.working_folder = "/";
  return ConfigKeys(jobfile::LoadConfiguration(sources).configuration);
}

}  // namespace

std::optional<core::JobMetrics> ReadMetrics(const storage::JobFolder& folder) {
  const absl::StatusOr<std::string> bytes = os::ReadFile(folder.metrics());
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
    TONY_ASSIGN_OR_RETURN(
        stored, history::ReadStoredJob(folder, id, [&source](const core::JobEvent& event) {
          source->timeline_.Apply(event);
          source->changes_.OnEvent(event);
        }));
  }
  if (stored.job.unreadable) return absl::FailedPreconditionError(stored.sentence);
  source->config_ = ReadConfig(folder);
  if (std::optional<core::JobMetrics> metrics = ReadMetrics(folder)) {
    source->metrics_ = *std::move(metrics);
  }
  return source;
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

void RecordedJobSource::ReadUsage() {
  const absl::StatusOr<std::string> usage = os::ReadFile(stored_.folder.usage());
  if (!usage.ok() || *usage == usage_) return;
  usage_ = *usage;
  for (const core::TaskMeasured& measured : rpc::ParseMeasurements(usage_)) {
    stored_.job.view.Measure(measured);
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
  if (!stored_.alive && !stored_.ended()) changes_.job_version = ++changes_.version;  // it is lost
  return changes_.version != before;
}

web::EventPage RecordedJobSource::Events(int64_t after, size_t limit) {
  web::EventPage page;
  std::ifstream file(stored_.folder.events(), std::ios::binary);
  int64_t last = after;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    // Only the lines that are wanted are parsed; a line without a number in front is no event.
    const int64_t sequence = SequenceOf(line);
    if (sequence <= last) continue;
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    if (!event.ok()) continue;
    if (page.events.size() == limit) {
      page.next = last;
      break;
    }
    last = sequence;
    page.events.push_back(rpc::EventToNumericJson(rpc::ToProto(*event)));
  }
  return page;
}

void RecordedJobSource::Stop(const std::string& why) {
  LogWarning("a job cannot be stopped from its history", {{"job", stored_.id}, {"why", why}});
}

}  // namespace tony::pagedata
