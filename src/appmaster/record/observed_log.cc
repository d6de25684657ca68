// Events that this version does not know change nothing.
#include "appmaster/record/observed_log.h"

#include <memory>
#include <mutex>
#include <vector>

#include "rpc/convert/convert.h"

namespace tony::appmaster {

std::optional<core::ObservedJob> ObserveLog(rpc::EventLog& events) {
  std::vector<std::shared_ptr<const v1::JobEvent>> all;
  {
    std::lock_guard lock(events.mutex());
    const auto first = events.NextLocked(1);
    if (events.AwaitsLocked(1) || first == nullptr) return std::nullopt;
    for (auto event = first; event != nullptr; event = events.NextLocked(event->sequence() + 1)) {
      all.push_back(event);
    }
  }
  core::ObservedJob job;
  for (const std::shared_ptr<const v1::JobEvent>& event : all) {
    const absl::StatusOr<core::JobEvent> known = rpc::FromProto(*event);
    if (known.ok()) job.Apply(*known);
  }
  return job;
}

}  // namespace tony::appmaster
