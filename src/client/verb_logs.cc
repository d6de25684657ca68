// `tony logs`: what a job's tasks print.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/job_json.h"
#include "client/log_stream.h"
#include "client/terminal.h"
#include "client/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// JOB and TASK of the command line; a single word with a colon, or "am", is a task.
struct Target {
  std::string job = "latest";
  std::string task;
};

Target ReadTarget(const std::vector<std::string>& words) {
  Target target;
  if (words.size() == 1 && (words[0] == "am" || absl::StrContains(words[0], ":"))) {
    target.task = words[0];
    return target;
  }
  if (!words.empty()) target.job = words[0];
  if (words.size() > 1) target.task = words[1];
  return target;
}

absl::StatusOr<LogStreamOptions> ReadOptions(const CommandLine& line) {
  LogStreamOptions options;
  if (line.Has("stdout") || line.Has("stderr") || line.Has("executor")) {
    options.selection.standard_output = line.Has("stdout");
    options.selection.standard_error = line.Has("stderr");
    options.selection.executor = line.Has("executor");
  }
  if (line.Has("tail") &&
      (!absl::SimpleAtoi(line.Value("tail"), &options.tail) || options.tail < 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tail '", line.Value("tail"), "' is no number of lines; write --tail=20"));
  }
  return options;
}

/// How a line reaches the user.
LogLineUse MakePrinter(bool json, bool prefix, const VerbContext& context) {
  if (json) {
    return [&context](const LogFile& log, const std::string& line) {
      nlohmann::ordered_json entry;
      entry["task"] = log.task;
      entry["attempt"] = log.attempt;
      entry["stream"] = log.stream;
      entry["line"] = line;
      context.out(DumpJsonLine(entry));
    };
  }
  return [&context, prefix](const LogFile& log, const std::string& line) {
    context.out(absl::StrCat(prefix ? absl::StrCat(log.task, " | ") : "",
                             context.terminal ? SafeText(line) : line, "\n"));
  };
}

absl::StatusOr<int> RunLogs(const CommandLine& line, const VerbContext& context) {
  const Target target = ReadTarget(line.positionals);
  TONY_ASSIGN_OR_RETURN(LogStreamOptions options, ReadOptions(line));
  TONY_ASSIGN_OR_RETURN(const JobStore store, OpenJobStore(line, context));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, store.Find(target.job));
  if (!target.task.empty()) {
    TONY_ASSIGN_OR_RETURN(options.selection.task, ResolveTask(job.job.view, target.task));
  }
  const bool one_task =
      options.selection.task == "am" || absl::StrContains(options.selection.task, ":");
  LogStream stream(job.folder, options, MakePrinter(line.Has("json"), !one_task, context));
  if (line.Has("follow")) {
    TONY_RETURN_IF_ERROR(stream.Follow());
  } else if (stream.PrintAll() == 0) {
    context.err(absl::StrCat("tony: job ", job.id, " has no such logs (yet)\n"));
  }
  return kVerbDone;
}

}  // namespace

Verb LogsVerb() {
  return {"logs",
          "[JOB] [TASK]",
          "what the tasks print, also while they run",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
          "default).\n"
          "TASK is one task (worker:0), all tasks of a type (worker), or the ApplicationMaster "
          "(am); without it\n"
          "the logs of all tasks are printed, each line behind its task's name. A single word with "
          "a colon is a "
          "TASK.\n",
          {{"follow", "", false, "go on printing until the job has ended", "f"},
           {"tail", "N", false, "only the last N lines of each log"},
           {"stdout", "", false, "only the standard output"},
           {"stderr", "", false, "only the standard error"},
           {"executor", "", false, "the executor's own log"}},
          2,
          &RunLogs};
}

}  // namespace tony::client
