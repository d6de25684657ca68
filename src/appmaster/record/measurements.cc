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
namespace {

/// So many measurements do not wait.
constexpr size_t kMostTaken = 200;

}  // namespace

void Measurements::Take(const core::TaskMeasured& measured) {
  taken_.insert_or_assign(measured.task, core::JobEvent{0, clock_.UnixMillis(), measured});
  if (show_timer_ == nullptr || taken_.size() >= kMostTaken) ShowAll();
  if (timer_ == nullptr) timer_ = loop_.After(pause_, [this] { KeepAll(); });
}

void Measurements::ShowAll() {
  if (taken_.empty()) return;
  std::vector<v1::JobEvent> newest;
  newest.reserve(taken_.size());
  for (const auto& [task, event] : taken_) newest.push_back(rpc::ToProto(event));
  taken_.clear();
  log_.ShowMeasurements(std::move(newest));
  if (show_timer_ != nullptr) return;
  show_timer_ = loop_.After(kShowPause, [this] {
    show_timer_.reset();
    ShowAll();
  });
}

void Measurements::KeepAll() {
  timer_.reset();
  ShowAll();
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
