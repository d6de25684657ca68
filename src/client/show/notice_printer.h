// Prints what concerns a job whose programs' output is shown: new attempts, notes and waits.
#pragma once

#include "client/show/progress_printer.h"
#include "common/clock.h"
#include "core/record/job_view.h"

namespace tony::client {

/// Prints new attempts, notes and losses of the ApplicationMaster as lines, and a wait before the
/// programs run when it has lasted a second, and again when it changes, at most every five seconds.
/// Close() prints the verdict. Not thread safe: owned by the event loop.
class NoticePrinter : public ProgressPrinter {
 public:
  /// `write`: for the verdict.
  NoticePrinter(Writer write, Writer notice, ScreenSource screen, const Clock& clock)
      : write_(std::move(write)),
        notice_(std::move(notice)),
        screen_(std::move(screen)),
        clock_(clock) {}

  void OnEvent(const core::JobEvent& event) override;
  void Refresh() override;
  void Close() override;

 private:
  Writer write_;
  Writer notice_;
  ScreenSource screen_;
  const Clock& clock_;
  core::JobView view_;
  std::optional<core::JobWaiting> printed_waiting_;
  TimePoint waiting_since_{};
  TimePoint waiting_printed_at_{};
};

}  // namespace tony::client
