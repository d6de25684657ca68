// A timer, started by the first new measurement, rewrites the whole file from the event log's
// newest measurements.
#include "appmaster/record/measurements.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"

namespace tony::appmaster {

void Measurements::Take(const core::TaskMeasured& measured) {
  log_.ShowMeasurement(rpc::ToProto(core::JobEvent{0, clock_.UnixMillis(), measured}));
  if (timer_ == nullptr) timer_ = loop_.After(pause_, [this] { KeepAll(); });
}

void Measurements::KeepAll() {
  timer_.reset();
  std::vector<std::shared_ptr<const v1::JobEvent>> newest;
  {
    std::lock_guard lock(log_.mutex());
    std::optional<rpc::EventLog::Measurement> next = log_.NextMeasurementLocked(0);
    for (; next; next = log_.NextMeasurementLocked(next->position)) newest.push_back(next->event);
  }
  std::string lines;
  for (const auto& proto : newest) {
    const absl::StatusOr<core::JobEvent> event = rpc::FromProto(*proto);
    if (event.ok()) absl::StrAppend(&lines, rpc::EventToJsonLine(*event), "\n");
  }
  const absl::Status kept = keep_(lines);
  if (kept.ok()) {
    said_loss_ = false;
  } else if (!std::exchange(said_loss_, true)) {
    LogWarning(absl::StrCat("the newest measurements are not kept: ", std::string(kept.message())));
  }
}

}  // namespace tony::appmaster
