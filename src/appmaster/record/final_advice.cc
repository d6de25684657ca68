// The events are taken out of the log first, so that nobody waits for it meanwhile.
#include "appmaster/record/final_advice.h"

#include <memory>
#include <mutex>
#include <vector>

#include "core/advice/advise.h"
#include "rpc/convert/convert.h"

namespace tony::appmaster {

std::string FinalAdvice(rpc::EventLog& events, const core::JobMetrics& metrics,
                        const core::Verdict& verdict, int64_t now_millis) {
  const core::AdviceGate gate;
  std::vector<std::shared_ptr<const v1::JobEvent>> all;
  {
    std::lock_guard lock(events.mutex());
    const auto first = events.NextLocked(1);
    if (events.AwaitsLocked(1) || first == nullptr) return "";
    if (now_millis - first->unix_millis() < gate.least_run_millis) return "";
    for (auto event = first; event != nullptr; event = events.NextLocked(event->sequence() + 1)) {
      all.push_back(event);
    }
  }
  core::ObservedJob job;
  for (const std::shared_ptr<const v1::JobEvent>& event : all) {
    const absl::StatusOr<core::JobEvent> known = rpc::FromProto(*event);
    if (known.ok()) job.Apply(*known);
  }
  job.view.verdict = verdict;
  return core::AdviceLineOf(core::AdviseJob(core::JobFacts(job, metrics, now_millis, gate)));
}

}  // namespace tony::appmaster
