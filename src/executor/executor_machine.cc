// The search of the machine before the executor lays out the working folder: for its Docker
// container, adapters for RDMA and the Python package.
#include "absl/status/status.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "executor/executor.h"
#include "executor/master/executor_messages.h"
#include "executor/setup/collective_package.h"
#include "executor/setup/docker_check.h"
#include "executor/setup/rdma_setup.h"
#include "executor/task/task_environment.h"
#include "os/processes/own_program.h"

namespace tony::executor {

absl::Status Executor::CheckMachine() {
  TONY_RETURN_IF_ERROR(CheckDocker(environment_, ""));
  if (!assignment_.rdma()) return absl::OkStatus();
  const absl::StatusOr<RdmaSetup> rdma =
      SetUpRdma(EnvironmentOfJob(environment_, assignment_), "", LockableMemory());
  if (!rdma.ok()) return rdma.status();
  machine_variables_ = rdma->variables;
  LogInfo(rdma->sentence);
  // The others of its type are on like machines; each one's own log tells.
  if (assignment_.task().index() == 0) Send(TaskNoteMessage(rdma->sentence));
  return absl::OkStatus();
}

void Executor::FindPackages() {
  const absl::StatusOr<std::string> program = os::OwnProgram();
  const auto find = [&program](bool wanted, auto finder) -> std::string {
    if (!wanted) return "";
    const absl::StatusOr<std::string> folder = program.ok() ? finder(*program) : program;
    if (folder.ok()) return *folder;
    LogInfo(std::string(folder.status().message()));
    return "";
  };
  identity_.collective_package = find(options_.collective_package, &FindCollectivePackage);
  identity_.stacks_package = find(options_.stacks, &FindStacksPackage);
}

}  // namespace tony::executor
