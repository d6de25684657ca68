// Only a signal means that the container was lost: an executor that exits has ended its task.
#include "backend/local/executor_end.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process_setup.h"
#include "core/tasks/task_exit.h"
#include "logs/last_lines.h"

namespace tony::backend {

core::ContainerEnd EndOfExecutor(const os::ExitStatus& status, const std::string& log_path) {
  core::TaskExit exit{.code = status.code, .signal = status.signal};
  if (status.signal != 0) exit.cause = core::TaskExit::Cause::kSignaled;
  std::string sentence = absl::StrCat("tony-executor ", exit.Describe());
  if (status.signal == 0 && status.code == kExitUnable) {
    const std::string last = logs::LastLines(log_path, 1);
    if (!last.empty()) absl::StrAppend(&sentence, ": ", last);
  }
  return {.lost = status.signal != 0, .sentence = std::move(sentence)};
}

}  // namespace tony::backend
