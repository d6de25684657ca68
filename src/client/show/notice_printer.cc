// A job that runs waits for the ends of its programs, whose output says enough.
#include "client/show/notice_printer.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "client/show/change_lines.h"
#include "client/show/job_table.h"

namespace tony::client {
namespace {

constexpr auto kWaitingShownAfter = std::chrono::seconds(1);
constexpr auto kWaitingInterval = std::chrono::seconds(5);

}  // namespace

void NoticePrinter::OnEvent(const core::JobEvent& event) {
  if (event.sequence <= view_.last_sequence) return;
  const bool waited = view_.waiting.has_value();
  view_.Apply(event);
  if (view_.waiting && !waited) waiting_since_ = clock_.Now();
  if (!view_.waiting) printed_waiting_.reset();
  const bool shown = std::holds_alternative<core::EpochOpened>(event.body) ||
                     std::holds_alternative<core::MasterRestarted>(event.body) ||
                     std::holds_alternative<core::JobNote>(event.body);
  if (shown) notice_(absl::StrCat("tony: ", DescribeJobChange(event)));
}

void NoticePrinter::Refresh() {
  if (!view_.waiting || view_.waiting == printed_waiting_) return;
  if (view_.state == core::JobState::kRunning || view_.verdict) return;
  const TimePoint now = clock_.Now();
  const bool first = !printed_waiting_.has_value();
  const TimePoint since = first ? waiting_since_ : waiting_printed_at_;
  if (now - since < (first ? kWaitingShownAfter : kWaitingInterval)) return;
  printed_waiting_ = view_.waiting;
  waiting_printed_at_ = now;
  notice_(absl::StrCat("tony: ", RenderWaiting(view_, clock_.UnixMillis()), "\n"));
}

void NoticePrinter::Close() { write_(RenderVerdict(view_, screen_())); }

}  // namespace tony::client
