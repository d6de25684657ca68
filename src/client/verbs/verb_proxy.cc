// `tony proxy`: a port of this machine that leads to a port of a task.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/running_task.h"
#include "client/exec/task_proxy.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

absl::StatusOr<int> RunProxy(const CommandLine& line, const VerbContext& context) {
  const std::vector<std::string>& words = line.positionals;
  const size_t colon = words.size() == 2 ? words[1].rfind(':') : std::string::npos;
  if (colon == std::string::npos) {
    return absl::InvalidArgumentError(
        "name the job, the task and its port: tony proxy latest worker:0:8888");
  }
  TONY_ASSIGN_OR_RETURN(const int port, ParsePort("TASK:PORT", words[1].substr(colon + 1), 8888));
  int own_port = 0;
  if (line.Has("port")) {
    TONY_ASSIGN_OR_RETURN(own_port, ParsePort("--port", line.Value("port"), 8888));
  }
  TONY_ASSIGN_OR_RETURN(RunningJob running,
                        FindRunningJob(line, context, words[0], "its tasks with it"));
  TONY_ASSIGN_OR_RETURN(const core::TaskId task,
                        FindOneTask(running.job, words[1].substr(0, colon)));
  EventLoop loop;
  TONY_ASSIGN_OR_RETURN(
      const std::unique_ptr<TaskProxy> proxy,
      TaskProxy::Open(loop, std::move(running.client), {task, port}, own_port, context.err));
  const std::string address = absl::StrCat("127.0.0.1:", proxy->port());
  line.Has("json") ? context.bytes(DumpJsonLine({{"address", address}, {"port", proxy->port()}}))
                   : context.out(absl::StrCat(address, "\n"));
  context.err(absl::StrCat("tony: port ", port, " of ", SafeText(task.ToString()), " of job ",
                           SafeText(running.job.id),
                           " is there until Ctrl-C, or until the job ends\n"));
  TONY_ASSIGN_OR_RETURN(const std::optional<core::Verdict> verdict, proxy->Serve());
  if (verdict) context.err(absl::StrCat("tony: ", EndOf(running.job.id, *verdict), "\n"));
  return kVerbDone;
}

}  // namespace

Verb ProxyVerb() {
  return {
      "proxy",
      "JOB TASK:PORT",
      "a port of this machine that leads to a port of a running task",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\"; TASK:PORT "
      "is\nTYPE:INDEX:PORT. Prints an address of this machine. Your own connections to it, and "
      "nobody else's,\nreach the port of the task's loopback, if one of the task's processes "
      "listens there, until Ctrl-C\nor the job's end.\n",
      {{"port", "NUMBER", false, "to listen on; any free one unless given"}},
      2,
      &RunProxy};
}

}  // namespace tony::client
