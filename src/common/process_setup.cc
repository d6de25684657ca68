// Process-wide settings.
#include "common/process_setup.h"

#include <csignal>

#include "absl/synchronization/mutex.h"

namespace tony {

void SetUpProcess() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace tony
