// A job that was too short for advice is not looked at any further.
#include "appmaster/record/final_advice.h"

#include <mutex>
#include <optional>

#include "appmaster/record/observed_log.h"
#include "core/advice/advise.h"

namespace tony::appmaster {

std::string FinalAdvice(rpc::EventLog& events, const core::JobMetrics& metrics,
                        const core::Verdict& verdict, int64_t now_millis) {
  const core::AdviceGate gate;
  {
    std::lock_guard lock(events.mutex());
    const auto first = events.NextLocked(1);
    if (first == nullptr || now_millis - first->unix_millis() < gate.least_run_millis) return "";
  }
  std::optional<core::ObservedJob> job = ObserveLog(events);
  if (!job) return "";
  job->view.verdict = verdict;
  return core::AdviceLineOf(core::AdviseJob(core::JobFacts(*job, metrics, now_millis, gate)));
}

}  // namespace tony::appmaster
