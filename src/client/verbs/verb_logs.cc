// `tony logs`: prints what a job's tasks print, merged by time, once or while the job runs.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/jobs/job_json.h"
#include "client/show/source_paths.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/first_error.h"
#include "history/log_stream.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/values/values.h"

namespace tony::client {
namespace {

/// JOB and TASK of the command line. A single word that has a colon, or is "am", is a task.
struct Target {
  std::string job = "latest";
  std::string task;
};

Target ReadTarget(const std::vector<std::string>& words) {
  Target target;
  if (words.size() == 1 &&
      (words[0] == core::kMasterTaskType || absl::StrContains(words[0], ":"))) {
    target.task = words[0];
    return target;
  }
  if (!words.empty()) target.job = words[0];
  if (words.size() > 1) target.task = words[1];
  return target;
}

/// "2026-01-31 12:34:56.789" in the user's time zone; as many spaces when the time is not known.
std::string TimeText(int64_t unix_millis) {
  if (unix_millis == 0) return std::string(23, ' ');
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::FromUnixMillis(unix_millis),
                          absl::LocalTimeZone());
}

/// InvalidArgument – options that choose or show lines stand beside --first-error, which looks
/// through the logs whole.
absl::Status CheckFirstError(const CommandLine& line) {
  if (!line.Has("first-error")) return absl::OkStatus();
  for (const char* const option : {"follow", "tail", "since", "timestamps", "level"}) {
    if (!line.Has(option)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", option,
                     " has no effect with --first-error, which looks through the logs that exist "
                     "now, from their begin; leave one of the two out"));
  }
  return absl::OkStatus();
}

absl::StatusOr<history::LogStreamOptions> ReadOptions(const CommandLine& line, const Clock& clock) {
  TONY_RETURN_IF_ERROR(CheckFirstError(line));
  history::LogStreamOptions options;
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
  if (line.Has("since")) {
    const std::optional<int64_t> age = jobfile::ParseMillisecondsWithUnit(line.Value("since"));
    if (!age) {
      return absl::InvalidArgumentError(absl::StrCat("--since '", line.Value("since"),
                                                     "' is no duration; write --since=5m, or a "
                                                     "number with ms, s, h or d"));
    }
    options.since = clock.UnixMillis() - *age;
  }
  if (line.Has("level")) {
    const absl::StatusOr<LogLevel> level = ParseLogLevel(line.Value("level"));
    if (!level.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--level ", level.status().message()));
    }
    options.level = *level;
  }
  return options;
}

nlohmann::ordered_json TimeJson(int64_t unix_millis) {
  return unix_millis == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(unix_millis);
}

/// The writer for lines of logs. They are a program's own bytes: a terminal gets them made safe, a
/// pipe or a file gets them unchanged.
const Writer& LogWriter(const VerbContext& context) {
  return context.terminal ? context.out : context.bytes;
}

/// Makes the function that prints one line, as JSON or as text.
history::LogLineUse MakePrinter(const CommandLine& options, bool prefix,
                                const VerbContext& context) {
  if (options.Has("json")) {
    return [&context](const history::LogFile& log, const logs::LogLine& line) {
      nlohmann::ordered_json entry;
      entry["task"] = log.task;
      entry["attempt"] = log.attempt;
      entry["stream"] = log.stream;
      entry["time_millis"] = TimeJson(line.unix_millis);
      entry["line"] = line.text;
      context.bytes(DumpJsonLine(entry));
    };
  }
  const bool times = options.Has("timestamps");
  return [&context, prefix, times](const history::LogFile& log, const logs::LogLine& line) {
    LogWriter(context)(absl::StrCat(times ? absl::StrCat(TimeText(line.unix_millis), " ") : "",
                                    prefix ? absl::StrCat(log.task, " | ") : "", line.text, "\n"));
  };
}

/// Adds what is known of an error to `json`.
void AddError(const history::FoundError& found, nlohmann::ordered_json& json) {
  json["task"] = found.log.task;
  json["attempt"] = found.log.attempt;
  json["stream"] = found.log.stream;
  json["time_millis"] = TimeJson(found.error.unix_millis);
  json["line_number"] = found.error.line_number;
  json["before"] = found.error.before;
  json["lines"] = found.error.lines;
}

void PrintErrorText(const history::FoundError& found, const SourcePaths& paths,
                    const VerbContext& context) {
  const logs::PrintedError& error = found.error;
  context.out(absl::StrCat(
      found.log.task, found.log.attempt > 0 ? absl::StrCat(", attempt ", found.log.attempt) : "",
      ", ", found.log.stream, ", line ", error.line_number,
      error.unix_millis > 0 ? absl::StrCat(", at ", TimeText(error.unix_millis)) : "", ":\n"));
  for (const std::string& line : paths.Rewrite(error.before)) {
    LogWriter(context)(absl::StrCat("  | ", line, "\n"));
  }
  for (const std::string& line : paths.Rewrite(error.lines)) {
    LogWriter(context)(absl::StrCat("  > ", line, "\n"));
  }
}

/// The failure as one object; its own error lies at the top, where an error without a failure is.
void PrintFailureJson(const history::Failure& failure, const history::FailureErrors& errors,
                      const VerbContext& context) {
  nlohmann::ordered_json json;
  json["sentence"] = failure.sentence;
  json["guilty"] = failure.guilty ? nlohmann::ordered_json(failure.guilty->ToString()) : nullptr;
  if (errors.own) AddError(*errors.own, json);
  json["last_lines"] = failure.exit ? failure.exit->tail : std::vector<std::string>();
  json["after"] = nullptr;
  if (errors.after) AddError(*errors.after, json["after"] = nlohmann::ordered_json::object());
  context.bytes(DumpJson(json));
}

/// What was found of the guilty task's own error, from the end of the failure's sentence on. A mere
/// mention of an error may be harmless, so the last lines are shown with it.
void PrintOwnError(const history::Failure& failure, const history::FailureErrors& errors,
                   const SourcePaths& paths, const VerbContext& context) {
  const std::vector<std::string> last_lines =
      failure.exit ? paths.Rewrite(failure.exit->tail) : std::vector<std::string>();
  if (errors.own) {
    context.out("\n");
    PrintErrorText(*errors.own, paths, context);
    if (!history::IsMention(*errors.own) || last_lines.empty()) return;
    context.out(absl::StrCat("Last lines of ", failure.guilty->ToString(), ":\n"));
  } else {
    // The sentence may have two parts already, of which the second is not about the task.
    const bool simple = !absl::StrContains(failure.sentence, ";");
    context.out(absl::StrCat(simple ? ", and" : absl::StrCat("\n", failure.guilty->ToString()),
                             " printed ",
                             errors.printed || !last_lines.empty() ? "no error" : "nothing",
                             last_lines.empty() ? "\n" : "; its last lines:\n"));
  }
  for (const std::string& line : last_lines) {
    LogWriter(context)(absl::StrCat("  | ", line, "\n"));
  }
}

void PrintFailureText(const history::Failure& failure, const history::FailureErrors& errors,
                      const SourcePaths& paths, const VerbContext& context) {
  context.out(failure.sentence);
  if (failure.guilty) {
    PrintOwnError(failure, errors, paths, context);
  } else {
    context.out(errors.own ? "\n" : "\nNo task printed an error\n");
    if (errors.own) PrintErrorText(*errors.own, paths, context);
  }
  if (!errors.after) return;
  context.out("What others printed after that:\n");
  PrintErrorText(*errors.after, paths, context);
}

/// The first error of the task or type that the user has named.
int PrintFirstErrorOf(const CommandLine& line, const StoredJob& job,
                      const history::LogSelection& selection, const VerbContext& context) {
  const std::optional<history::FoundError> found = history::FindFirstError(job.folder, selection);
  if (!found) {
    context.err(absl::StrCat("tony: there is no error in these logs of job ", job.id, "\n"));
    return kVerbNotPossible;
  }
  if (line.Has("json")) {
    nlohmann::ordered_json json;
    AddError(*found, json);
    context.bytes(DumpJson(json));
  } else {
    PrintErrorText(*found, SourcePaths(job.job.view, context.working_folder), context);
  }
  return kVerbDone;
}

int PrintFirstError(const CommandLine& line, const StoredJob& job,
                    const history::LogSelection& selection, const VerbContext& context) {
  const std::optional<history::Failure> failure = history::FindFailure(job.job.view, job.folder);
  const bool others = !selection.task.empty() && (!failure || !failure->guilty ||
                                                  selection.task != failure->guilty->ToString());
  if (!failure || others) return PrintFirstErrorOf(line, job, selection, context);
  const history::FailureErrors errors = history::FindErrorsOf(*failure, job.folder, selection);
  line.Has("json") ? PrintFailureJson(*failure, errors, context)
                   : PrintFailureText(*failure, errors,
                                      SourcePaths(job.job.view, context.working_folder), context);
  return kVerbDone;
}

absl::StatusOr<int> RunLogs(const CommandLine& line, const VerbContext& context) {
  const Target target = ReadTarget(line.positionals);
  TONY_ASSIGN_OR_RETURN(history::LogStreamOptions options, ReadOptions(line, *context.clock));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs,
                        OpenJobs(line, context, target.job));
  TONY_ASSIGN_OR_RETURN(StoredJob job, jobs->Find(target.job));
  if (!target.task.empty()) {
    TONY_ASSIGN_OR_RETURN(options.selection.task, history::ResolveTask(job.job.view, target.task));
  }
  const bool follow = line.Has("follow");
  const auto notice = [&context](const std::string& sentence) { Say(context, sentence); };
  TONY_ASSIGN_OR_RETURN(
      const JobCatalog::Logs logs,
      jobs->FindLogs(job, {.selection = options.selection, .follow = follow, .notice = notice}));
  if (!logs.missing.empty()) notice(logs.missing);
  job.folder = logs.folder;
  if (line.Has("first-error")) return PrintFirstError(line, job, options.selection, context);
  // Lines of one task need no prefix with the task's name.
  const bool one_task =
      options.selection.of_master() || absl::StrContains(options.selection.task, ":");
  history::LogStream stream(job.folder, options, *context.clock,
                            MakePrinter(line, !one_task, context));
  if (follow && logs.live) {
    TONY_RETURN_IF_ERROR(stream.Follow());
    // Logs from other machines may be incomplete; the exit status must say so.
    if (logs.result) TONY_RETURN_IF_ERROR(logs.result());
  } else if (stream.PrintAll() == 0) {
    context.err(absl::StrCat("tony: job ", job.id, " has no such logs (yet)\n"));
  }
  if (!line.Has("exit-code")) return kVerbDone;
  TONY_ASSIGN_OR_RETURN(job, jobs->Find(job.id));
  if (job.ended() || !job.alive) return ExitStatusOf(job);
  return kVerbJobGoesOn;
}

}  // namespace

Verb LogsVerb() {
  return {
      "logs",
      "[JOB] [TASK]",
      "what the tasks print, also while they run",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
      "default).\n"
      "TASK is one task (worker:0; main:0 in a job of one program), all tasks of a type (worker), "
      "or "
      "the\nApplicationMaster (am); without it the logs of all tasks are printed, each line behind "
      "its task's name. A\nsingle word with a colon is a TASK.\n"
      "Lines of several logs are merged by the time at which they were printed.\n"
      "--first-error begins with the verdict. Then come the error that the guilty task printed, or "
      "its last lines\nif it printed none, and the first error that others printed after that; its "
      "paths lead to your own files\ninstead of a task's copies. Known kinds of secrets never "
      "stand "
      "in logs (tony.task.log.redact adds to\nthem).\n",
      {{"follow", "", false, "go on printing until the job has ended", "f"},
       {"exit-code", "", false,
        "end with the exit status of tony-submit for the job, or with 6 while it goes on"},
       {"tail", "N", false, "only the last N lines of each log"},
       {"since", "5m", false, "only lines that are not older (ms, s, m, h, d)"},
       {"timestamps", "", false, "print when each line was printed"},
       {"first-error", "", false,
        "print why the job failed: the verdict, and the first error, a Python traceback whole"},
       {"stdout", "", false, "only the standard output"},
       {"stderr", "", false, "only the standard error"},
       {"executor", "", false, "the executor's own log"},
       {.name = "level",
        .value = "NAME",
        .meaning = "of tony's own logs (am, --executor) only lines of this level and above: debug, "
                   "info, warning or error",
        .choices = jobfile::ChoicesOf("tony.application.log-level")}},
      2,
      &RunLogs};
}

}  // namespace tony::client
