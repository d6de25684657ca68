// `tony stacks`: the stacks of a running job's processes, grouped; of an ended job, those that were
// kept before it was ended.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_text.h"
#include "pagedata/kept_stacks.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

/// Executors have two seconds; then the ApplicationMaster answers without them.
constexpr std::chrono::seconds kAnswerLimit{10};

Json StacksArray(const core::StackReport& report) {
  Json stacks = Json::array();
  for (const core::Stack& stack : report.stacks) {
    Json frames = Json::array();
    for (const core::StackFrame& frame : stack.frames) {
      frames.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
    }
    stacks.push_back({{"frames", std::move(frames)}, {"cut", stack.cut}});
  }
  return stacks;
}

Json ProcessJson(const core::ProcessStacks& process) {
  Json threads = Json::array();
  for (const core::ThreadStack& thread : process.threads) {
    threads.push_back({{"name", thread.name}, {"main", thread.main}, {"stack", thread.stack}});
  }
  return {{"pid", process.pid},           {"inner_pid", process.inner_pid},
          {"parent", process.parent},     {"program", process.program},
          {"way", process.way},           {"trouble", process.trouble},
          {"threads", std::move(threads)}};
}

Json TasksArray(const core::StackReport& report) {
  Json tasks = Json::array();
  for (const core::TaskStacks& task : report.tasks) {
    Json processes = Json::array();
    for (const core::ProcessStacks& process : task.processes) {
      processes.push_back(ProcessJson(process));
    }
    tasks.push_back({{"task", task.task.ToString()},
                     {"host", task.host},
                     {"attempt", task.attempt},
                     {"trouble", task.trouble},
                     {"processes", std::move(processes)}});
  }
  return tasks;
}

Json GroupsArray(const core::StackReport& report, const std::vector<core::StackGroup>& groups) {
  Json array = Json::array();
  for (const core::StackGroup& group : groups) {
    Json members = Json::array();
    for (const core::ProcessIndex& member : group.members) {
      const core::TaskStacks& task = report.tasks[member.task];
      members.push_back(
          {{"task", task.task.ToString()}, {"pid", task.processes[member.process].pid}});
    }
    array.push_back(
        {{"suspect", group.suspect}, {"stacks", group.stacks}, {"members", std::move(members)}});
  }
  return array;
}

Json ReportJson(const std::string& job, const core::StackReport& report, core::GroupBy by) {
  const std::vector<core::StackGroup> groups = core::GroupStacks(report, by);
  return {{"job", job},
          {"taken", report.unix_millis},
          {"suspect", core::SuspectSentence(report, groups)},
          {"groups", GroupsArray(report, groups)},
          {"stacks", StacksArray(report)},
          {"tasks", TasksArray(report)}};
}

/// What was kept of one attempt before its program was ended, or of all tasks when the job seemed
/// to hang.
struct KeptText {
  std::string task;  ///< empty: all tasks
  int attempt = 0;
  std::string path;  ///< empty: it was copied to be read, and is nowhere on this machine
  std::string text;
};

/// The stacks that were kept of a job.
struct Kept {
  std::vector<KeptText> texts;
  std::string missing;  ///< why there may be more; empty: there is no more
};

/// A folder with what was kept of the tasks' attempts, which on a cluster are among their logs.
absl::StatusOr<JobCatalog::Logs> FindKept(JobCatalog& catalog, const StoredJob& job,
                                          const std::vector<core::TaskId>& tasks,
                                          const VerbContext& context) {
  JobCatalog::LogRequest request;
  request.notice = [&context](const std::string& sentence) { Say(context, sentence); };
  request.selection.standard_output = false;
  request.selection.standard_error = false;
  request.selection.stacks = true;
  // Several tasks, or all, are read together.
  if (tasks.size() == 1) request.selection.task = tasks[0].ToString();
  return catalog.FindLogs(job, request);
}

/// `tasks`: those that are wanted; empty: all.
absl::StatusOr<Kept> ReadKept(JobCatalog& catalog, const StoredJob& job,
                              std::vector<core::TaskId> tasks, const VerbContext& context) {
  Kept kept;
  if (tasks.empty()) {
    absl::StatusOr<JobCatalog::KeptStacks> all = catalog.ReadStacks(job);
    if (all.ok()) kept.texts.push_back({"", 0, std::move(all->path), std::move(all->text)});
    if (!all.ok() && !absl::IsNotFound(all.status())) return all.status();
    for (const core::JobView::Task& task : job.job.view.tasks) tasks.push_back(task.last.task);
  }
  // On a cluster, all collected logs of the job are read for those of attempts.
  if (!kept.texts.empty() && job.folder.root().empty()) {
    kept.missing = absl::StrCat(
        "stacks that were kept before a program was ended are among its logs on the cluster, which "
        "tony stacks ",
        job.id, " --task TYPE:INDEX looks through");
    return kept;
  }
  const absl::StatusOr<JobCatalog::Logs> logs = FindKept(catalog, job, tasks, context);
  kept.missing = logs.ok() ? logs->missing : std::string(logs.status().message());
  if (!logs.ok()) return kept;
  for (const pagedata::KeptStacksFile& file :
       pagedata::FindStacksOf(logs->folder, tasks, [] { return false; })) {
    TONY_ASSIGN_OR_RETURN(std::string text,
                          pagedata::ReadKeptStacks(file.path, pagedata::kMostKeptBytes));
    const bool copied = logs->folder.root() != job.folder.root();
    kept.texts.push_back({file.task, file.attempt, copied ? "" : file.path, std::move(text)});
  }
  return kept;
}

absl::StatusOr<int> ShowKept(JobCatalog& catalog, const StoredJob& job,
                             const std::vector<core::TaskId>& tasks, const CommandLine& line,
                             const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const Kept kept, ReadKept(catalog, job, tasks, context));
  if (kept.texts.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "job ", job.id, " does not run any more (", job.job.StateName(),
        "), and no stacks were kept: that is done when a time-out of tony's ends a program, and "
        "when the job seems to hang",
        kept.missing.empty() ? "" : absl::StrCat("; not all could be looked for: ", kept.missing)));
  }
  if (!kept.missing.empty()) Say(context, absl::StrCat("there may be more: ", kept.missing));
  Json array = Json::array();
  for (const KeptText& one : kept.texts) {
    array.push_back(
        {{"task", one.task}, {"attempt", one.attempt}, {"path", one.path}, {"text", one.text}});
    if (line.Has("json")) continue;
    const std::string what = one.task.empty() ? "all tasks, when the job seemed to hang"
                                              : absl::StrCat(one.task, ", attempt ", one.attempt,
                                                             ", before it was ended");
    const std::string place = one.path.empty() ? "" : absl::StrCat(" (", SafeText(one.path), ")");
    context.out(absl::StrCat(what, place, ":\n", one.text, "\n"));
  }
  if (line.Has("json")) context.bytes(DumpJsonLine({{"job", job.id}, {"kept", std::move(array)}}));
  return kVerbDone;
}

absl::StatusOr<int> RunStacks(const CommandLine& line, const VerbContext& context) {
  const std::string wish = line.positionals.empty() ? "latest" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> catalog, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, catalog->Find(wish));
  std::vector<core::TaskId> tasks;
  for (const std::string& task : line.Values("task")) {
    TONY_ASSIGN_OR_RETURN(const core::TaskId id, FindOneTask(job, task));
    tasks.push_back(id);
  }
  if (job.ended() || !job.alive) return ShowKept(*catalog, job, tasks, line, context);
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::JobClient> client, catalog->Connect(job));
  const absl::StatusOr<core::StackReport> report = client->Stacks(tasks, kAnswerLimit);
  if (absl::IsUnimplemented(report.status())) {
    return absl::UnimplementedError(absl::StrCat("the ApplicationMaster of job ", job.id,
                                                 " is of an earlier version without stacks"));
  }
  TONY_RETURN_IF_ERROR(report.status());
  const core::GroupBy by =
      line.Has("all") ? core::GroupBy::kAllThreads : core::GroupBy::kMainThread;
  if (line.Has("json")) {
    context.bytes(DumpJsonLine(ReportJson(job.id, *report, by)));
  } else if (report->tasks.empty()) {
    context.out(absl::StrCat("job ", SafeText(job.id), " has no running task at the moment\n"));
  } else {
    context.out(core::StackText(*report, by));
  }
  return kVerbDone;
}

}  // namespace

Verb StacksVerb() {
  return {"stacks",
          "[JOB]",
          "where each process of a running job is: the stacks of its threads",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
          "default).\nProcesses whose main threads are at the same place are shown together; a few "
          "that are\nsomewhere else than most come first, since the others may wait for them. "
          "Python\nprocesses need no preparation. Of an ended job: the stacks that were kept "
          "when it seemed\nto hang, or before a time-out ended a program.\n",
          {{"task", "TYPE:INDEX", true, "only this task"},
           {"all", "", false, "all threads, and processes that have no stack"}},
          1,
          &RunStacks};
}

}  // namespace tony::client
