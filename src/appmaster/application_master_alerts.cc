// The job's alerts: what they are told of the job, and how its end waits for them.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "appmaster/application_master.h"
#include "common/logging.h"
#include "core/runtime/runtime.h"

namespace tony::appmaster {

void ApplicationMaster::OpenAlerts(const jobfile::Configuration& configuration) {
  const core::JobState state = machine_->state();
  Alerts::Job job;
  job.id = platform_->job_id();
  job.name = machine_->job().name;
  job.user = platform_->user();
  job.framework = core::FrameworkName(machine_->job().framework);
  job.backend = platform_->backend_name();
  job.page = platform_->public_page_url();
  job.master_attempt = journal_->incarnation();
  // The journal has brought the machine where the job stands: past its start or not.
  job.started = state != core::JobState::kNew && state != core::JobState::kAllocating &&
                state != core::JobState::kRegistering;
  absl::StatusOr<std::unique_ptr<Alerts>> alerts =
      Alerts::Create(configuration, std::move(job), loop_, clock_,
                     [this](const std::string& sentence) { RecordNote(sentence); });
  if (!alerts.ok()) {
    const std::string why(alerts.status().message());
    LogWarning(absl::StrCat("no alerts are sent: ", why), {{"job", platform_->job_id()}});
    return RecordNote(absl::StrCat("No alerts are sent: ", why));
  }
  alerts_ = *std::move(alerts);
  if (alerts_ == nullptr) return;
  history_->set_observer([this](const core::JobEvent& event) { alerts_->Take(event); });
}

// The verdict is out by now, and the page is closed: only this process is kept.
void ApplicationMaster::Leave() {
  if (alerts_ == nullptr) return loop_.Stop();
  alerts_->Finish([this] { loop_.Stop(); });
}

}  // namespace tony::appmaster
