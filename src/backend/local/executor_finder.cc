// Looks up the noted pid and start time first; falls back to a scan of /proc for the command line.
#include "backend/local/executor_finder.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/processes/own_program.h"
#include "os/processes/process_identity.h"
#include "os/processes/process_tree.h"

namespace tony::backend {
namespace {

absl::Status Gone(const std::string& container_id) {
  return absl::NotFoundError(absl::StrCat("no process is the tony-executor of ", container_id));
}

// The file that the kernel executes when `program` is started.
std::string ExecutedFor(const std::string& program) {
  const absl::StatusOr<std::vector<std::string>> command = os::OwnProgramCommand(program);
  return command.ok() ? command->front() : program;
}

}  // namespace

std::optional<core::ExecutorProcess> IdentityOf(pid_t pid) {
  const std::optional<int64_t> start = os::ProcessStart(pid);
  if (!start) return std::nullopt;
  return core::ExecutorProcess{.pid = pid, .start_ticks = *start};
}

ExecutorFinder::ExecutorFinder(const std::string& executor, std::string id_flag)
    : program_(ExecutedFor(executor)), id_flag_(std::move(id_flag)) {}

absl::StatusOr<FoundExecutor> ExecutorFinder::Find(const core::Container& container) {
  const core::ExecutorProcess& noted = container.executor;
  const pid_t pid = noted.pid != 0 ? static_cast<pid_t>(noted.pid) : FindByArgument(container.id);
  if (pid == 0) return Gone(container.id);
  TONY_ASSIGN_OR_RETURN(os::ProcessHandle process, os::ProcessHandle::Open(pid));
  const std::optional<core::ExecutorProcess> identity = IdentityOf(pid);
  const bool same = noted.pid != 0 ? identity == noted : HasArgument(pid, container.id);
  if (!identity || !same || !os::IsOwnProcess(pid)) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " is not the tony-executor of ",
                                            container.id, ", which has ended"));
  }
  if (noted.pid == 0) {
    LogInfo(absl::StrCat("the journal does not say which process the tony-executor of ",
                         container.id, " is; by its command line it is ", pid));
  }
  return FoundExecutor{std::move(process), *identity};
}

pid_t ExecutorFinder::FindByArgument(const std::string& container_id) {
  if (!by_argument_) by_argument_ = os::ProcessesByArgument(id_flag_, program_);
  const auto found = by_argument_->find(container_id);
  return found == by_argument_->end() ? 0 : found->second;
}

bool ExecutorFinder::HasArgument(pid_t pid, const std::string& container_id) const {
  return os::Executes(pid, program_) && os::ArgumentOf(pid, id_flag_) == container_id;
}

}  // namespace tony::backend
