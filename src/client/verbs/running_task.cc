// A job without a living ApplicationMaster is found, too, so that the message can say how it ended.
#include "client/verbs/running_task.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/port_number.h"
#include "common/status_macros.h"
#include "history/job_logs.h"

namespace tony::client {

absl::StatusOr<RunningJob> FindRunningJob(const CommandLine& line, const VerbContext& context,
                                          const std::string& wish, const std::string& what) {
  RunningJob running;
  TONY_ASSIGN_OR_RETURN(running.catalog, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(running.job, running.catalog->Find(wish));
  const StoredJob& job = running.job;
  if (job.ended() || !job.alive) {
    return absl::NotFoundError(absl::StrCat(
        "job ", job.id, " does not run any more (", job.job.StateName(), "), and ", what,
        "; tony status ", job.id, " and tony logs ", job.id, " tell what there was"));
  }
  TONY_ASSIGN_OR_RETURN(running.client, running.catalog->Connect(job));
  return running;
}

absl::StatusOr<core::TaskId> FindOneTask(const StoredJob& job, const std::string& wish) {
  const core::JobView& view = job.job.view;
  TONY_ASSIGN_OR_RETURN(const std::string name, history::ResolveTask(view, wish));
  std::vector<core::TaskId> of_type;
  for (const core::JobView::Task& task : view.tasks) {
    const core::TaskId& id = task.last.task;
    if (id.ToString() == name) return id;
    if (core::TypeName(id.type) == name) of_type.push_back(id);
  }
  if (of_type.size() == 1) return of_type.front();
  return absl::InvalidArgumentError(
      absl::StrCat("'", wish, "' is not one task; write TYPE:INDEX, such as worker:0"));
}

absl::StatusOr<int> ParsePort(const std::string& option, const std::string& text, int example) {
  int port = 0;
  if (absl::SimpleAtoi(text, &port) && port >= 1 && port <= kLargestPort) return port;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " '", text, "' is no port; write ", option, "=", example));
}

}  // namespace tony::client
