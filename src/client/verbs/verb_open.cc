// `tony open`: shows the job's page, or the page of a task, in a browser.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/running_task.h"
#include "client/exec/task_proxy.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/runtime/visualization.h"
#include "os/files/files.h"
#include "os/processes/subprocess.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

/// Why there is no visualization to open, and what to do.
std::string NothingListens(const StoredJob& job) {
  core::JobDescription description;
  for (const core::JobSubmitted::Type& type : job.job.view.job.types) {
    description.types.push_back({.name = type.name, .instances = type.instances});
  }
  const std::optional<core::TaskId> task = core::VisualizationTask(description);
  if (!task) return absl::StrCat("job ", job.id, " has no task with a TB_PORT");
  const std::string nothing = absl::StrCat("nothing listens at TB_PORT of ", task->ToString());
  // TensorBoard is started already and may take some seconds until it listens.
  if (task->type == "tensorboard") {
    return absl::StrCat(nothing, " yet; tony logs ", job.id, " tensorboard shows what it does");
  }
  return absl::StrCat(nothing, "; start TensorBoard there or give --sidecar_tensorboard_log_dir");
}

/// The task to open: the one named by --task, or else the job's visualization task.
absl::StatusOr<core::TaskId> ChooseTask(const CommandLine& line, const StoredJob& job) {
  const core::JobView& view = job.job.view;
  if (line.Has("task")) return FindOneTask(job, line.Value("task"));
  if (!view.visualization) return absl::NotFoundError(NothingListens(job));
  return view.visualization->task;
}

void PrintUrl(const CommandLine& line, const VerbContext& context, const std::string& url) {
  line.Has("json") ? context.bytes(DumpJsonLine(Json{{"url", url}}))
                   : context.out(absl::StrCat(url, "\n"));
}

/// Shows `url` in a browser where there is a screen; nothing depends on it. A URL with a code is a
/// secret until its first use. It is passed in a file that only the user can read, because every
/// user can read command lines.
void TryBrowser(const VerbContext& context, const storage::JobFolder& folder,
                const std::string& url) {
  if (!context.terminal || !context.environment.has_display) return;
  os::SubprocessRequest request;
  request.arguments = {"xdg-open", url};
  if (absl::StrContains(url, "?code=")) {
    request.arguments.back() = absl::StrCat(folder.secrets(), "/page.html");
    const std::string page = absl::StrCat(
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
        "content=\"0; url=",
        url, "\">\n");
    if (!os::WriteFileAtomically(request.arguments.back(), page).ok()) return;
  }
  (void)os::Subprocess::Start(request);
}

absl::StatusOr<int> OpenPage(const CommandLine& line, const VerbContext& context,
                             const StoredJob& job, rpc::JobClient& client, Duration limit) {
  if (line.Has("port")) {
    return absl::InvalidArgumentError("--port is for --tensorboard and --task");
  }
  TONY_ASSIGN_OR_RETURN(const std::string url, client.OpenPage(limit));
  PrintUrl(line, context, url);
  TryBrowser(context, job.folder, url);
  return kVerbDone;
}

absl::StatusOr<int> OpenTask(const CommandLine& line, const VerbContext& context,
                             const StoredJob& job, std::unique_ptr<rpc::JobClient> client) {
  int port = 0;
  if (line.Has("port")) {
    TONY_ASSIGN_OR_RETURN(port, ParsePort("--port", line.Value("port"), 6006));
  }
  TONY_ASSIGN_OR_RETURN(const core::TaskId task, ChooseTask(line, job));
  EventLoop loop;
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<TaskProxy> proxy,
                        TaskProxy::Open(loop, std::move(client), {task}, port, context.err));
  PrintUrl(line, context, absl::StrCat("http://127.0.0.1:", proxy->port(), "/"));
  context.err(absl::StrCat("tony: ", SafeText(task.ToString()), " of job ", job.id,
                           " is there until Ctrl-C, or until the job ends\n"));
  TONY_ASSIGN_OR_RETURN(const std::optional<core::Verdict> verdict, proxy->Serve());
  if (verdict) context.err(absl::StrCat("tony: ", EndOf(job.id, *verdict), "\n"));
  return kVerbDone;
}

absl::StatusOr<int> RunOpen(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(RunningJob running,
                        FindRunningJob(line, context, wish, "its page has gone with it"));
  if (line.Has("tensorboard") || line.Has("task")) {
    return OpenTask(line, context, running.job, std::move(running.client));
  }
  return OpenPage(line, context, running.job, *running.client,
                  configuration.GetDuration("tony.client.stop-timeout-ms"));
}

}  // namespace

Verb OpenVerb() {
  return {
      "open",
      "[JOB]",
      "the page of a running job, or its TensorBoard, in a browser",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\nPrints an address. That of the page is good for one visit within two minutes: "
      "the\nbrowser then has a cookie. With --tensorboard or --task a port of this machine "
      "leads\nto the task, for your own connections, until Ctrl-C or the job's end.\n",
      {{"tensorboard", "", false, "what the job's visualization task shows"},
       {"task", "TYPE:INDEX", false,
        "what this task shows: at its visualization port, or else at its own"},
       {"port", "NUMBER", false, "to listen on; any free one unless given"}},
      1,
      &RunOpen};
}

}  // namespace tony::client
