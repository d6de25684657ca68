// The start time is compared after the pidfd is open: from then on the number cannot pass to
// another process unnoticed.
#include "executor/tie.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/processes/process_identity.h"

namespace tony::executor {

absl::StatusOr<std::unique_ptr<Tie>> Tie::To(EventLoop& loop, pid_t pid, int64_t start_ticks,
                                             std::function<void()> on_end) {
  TONY_ASSIGN_OR_RETURN(os::ProcessHandle process, os::ProcessHandle::Open(pid));
  if (os::ProcessStart(pid) != start_ticks) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " is another one by now"));
  }
  std::unique_ptr<Tie> tie(new Tie(std::move(process)));
  tie->watch_ = loop.WatchReadable(tie->process_.pidfd(), [tie = tie.get(), on_end] {
    // The pidfd stays readable. The watch, which holds this function, lives until the end of it.
    const auto over = std::move(tie->watch_);
    on_end();
  });
  return tie;
}

}  // namespace tony::executor
