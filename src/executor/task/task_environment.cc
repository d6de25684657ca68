// Lays one source of variables over the other; the later one wins. The order is the container, the
// runtime, the machine (Hadoop, RDMA), the executor's own variables.
#include "executor/task/task_environment.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/runtime/collective.h"
#include "core/runtime/runtime.h"
#include "executor/task/stack_reader.h"

namespace tony::executor {
namespace {

// Sets the variables that the activation script of a virtual environment would set: VIRTUAL_ENV,
// and its bin folder at the beginning of PATH.
void AddVirtualEnvironment(const v1::Assignment& assignment, const std::string& working_folder,
                           core::Environment& environment) {
  for (const v1::Archive& archive : assignment.archives()) {
    if (archive.kind() != v1::Archive::VIRTUAL_ENVIRONMENT) continue;
    const std::string folder = absl::StrCat(working_folder, "/", archive.name());
    environment["VIRTUAL_ENV"] = folder;
    const std::string path = environment["PATH"];
    environment["PATH"] =
        absl::StrCat(folder, "/bin:", path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path);
  }
}

core::Environment ByName(const std::vector<std::string>& variables) {
  core::Environment environment;
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    if (equals != std::string::npos) {
      environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  return environment;
}

core::TaskContext ContextOf(const v1::Assignment& assignment, const RunIdentity& identity,
                            const core::ClusterSpec& cluster) {
  core::TaskContext context;
  context.task = core::TaskId{assignment.task().type(), assignment.task().index()};
  context.framework =
      core::ParseFramework(assignment.framework()).value_or(core::Framework::kStandalone);
  if (assignment.first_come_served()) context.mode = core::DistributedMode::kFirstComeServed;
  context.job_id = assignment.job_id();
  context.container_id = identity.container_id;
  context.epoch = identity.epoch;
  context.attempt = identity.attempt;
  context.tracked_tasks = assignment.tracked_tasks();
  context.chief = assignment.chief();
  context.visualization_port = identity.visualization_port;
  context.checkpoint_folder = assignment.checkpoint_folder();
  context.gpus = absl::StrJoin(assignment.gpus(), ",");
  context.user_environment = {assignment.environment().begin(), assignment.environment().end()};
  context.cluster = cluster;
  context.horovod = identity.horovod;
  return context;
}

}  // namespace

// The variables of the runtime replace those of the container, and the machine's replace both:
// whoever made them has already taken the job's own values into account.
std::vector<std::string> TaskEnvironment(const std::vector<std::string>& base,
                                         const v1::Assignment& assignment,
                                         const RunIdentity& identity,
                                         const core::ClusterSpec& cluster,
                                         const core::Environment& machine,
                                         const std::string& working_folder) {
  core::Environment environment = ByName(base);
  for (auto& [name, value] : core::RenderEnvironment(ContextOf(assignment, identity, cluster))) {
    environment[name] = value;
  }
  for (const auto& [name, value] : machine) environment[name] = value;
  environment["PWD"] = working_folder;  // as a shell would set it
  if (!identity.driver_output_folder.empty()) {
    environment["DRIVER_OUTPUT_PATH"] = identity.driver_output_folder;
  }
  if (!identity.collective_package.empty()) {
    core::AppendToPythonPath(identity.collective_package, environment);
  }
  if (!identity.stacks_package.empty() && !identity.stacks_folder.empty()) {
    // First, since Python runs the first sitecustomize that it finds; this one runs the next.
    core::PrependToPythonPath(identity.stacks_package, environment);
    environment["TONY_STACKS_DIR"] = identity.stacks_folder;
    environment["TONY_STACKS_SIGNAL"] = absl::StrCat(kStacksSignal);
  }
  if (!identity.report_pipe.empty()) environment["TONY_PROGRESS"] = identity.report_pipe;
  if (!identity.feed_socket.empty()) environment["TONY_FEED_SOCKET"] = identity.feed_socket;
  if (!identity.counters_folder.empty()) {
    environment["TONY_COLLECTIVE_COUNTERS"] = identity.counters_folder;
  }
  // The virtual environment comes last, so that its bin folder precedes PATH even if the user sets
  // PATH.
  AddVirtualEnvironment(assignment, working_folder, environment);
  std::vector<std::string> result;
  for (const auto& [name, value] : environment) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

core::Environment EnvironmentOfJob(const std::vector<std::string>& base,
                                   const v1::Assignment& assignment) {
  core::Environment environment = ByName(base);
  for (const auto& [name, value] : assignment.environment()) environment[name] = value;
  return environment;
}

}  // namespace tony::executor
