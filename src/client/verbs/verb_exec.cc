// `tony exec`: runs a command, or a shell, beside the program of a task.
#include <fcntl.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/exec/exec_client.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "os/machine/machine.h"

namespace tony::client {
namespace {

/// The most bytes of arguments; they travel in one message.
constexpr size_t kMostArgumentBytes = size_t{64} * 1024;

/// JOB, TASK and the command.
struct Wish {
  std::string job;
  std::string task;
  std::vector<std::string> command;
};

absl::StatusOr<Wish> ReadWish(const CommandLine& line) {
  const std::vector<std::string>& words = line.positionals;
  if (words.size() < 2) {
    return absl::InvalidArgumentError(
        "name the job and the task: tony exec latest worker:0, and then a command if it is to be "
        "no shell");
  }
  Wish wish{words[0], words[1], {words.begin() + 2, words.end()}};
  size_t bytes = 0;
  for (const std::string& word : wish.command) bytes += word.size() + 1;
  if (bytes > kMostArgumentBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the command has ", bytes, " bytes, and ", kMostArgumentBytes,
                     " are possible; pass the rest through standard input"));
  }
  if (!wish.command.empty() && wish.command[0].empty()) {
    return absl::InvalidArgumentError("the command is empty; leave it out for a shell");
  }
  return wish;
}

absl::StatusOr<int> Exec(const Wish& wish, const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(RunningJob running,
                        FindRunningJob(line, context, wish.job, "its tasks with it"));
  ExecClient::Request request;
  TONY_ASSIGN_OR_RETURN(request.task, FindOneTask(running.job, wish.task));
  request.arguments = wish.command;
  request.terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !line.Has("pipes");
  request.terminal_type = context.environment.term;
  const absl::StatusOr<os::Machine> machine = os::ReadMachine();
  request.who = absl::StrCat(context.environment.user, "@", machine.ok() ? machine->host_name : "");
  const std::string task = request.task.ToString();
  ExecClient client(std::move(running.client), std::move(request));
  const absl::StatusOr<ExecClient::Result> result = client.Run();
  if (!result.ok()) {
    return absl::Status(result.status().code(),
                        absl::StrCat(task, ": ", std::string(result.status().message())));
  }
  if (!result->sentence.empty()) Say(context, result->sentence);
  return result->exit_status;
}

/// A standard stream that is closed would be the number of the next file that this program opens.
void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);
  }
}

/// Errors have an exit status that hardly any program has, because all others are the command's.
absl::StatusOr<int> RunExec(const CommandLine& line, const VerbContext& context) {
  OpenStandardStreams();
  absl::StatusOr<int> exit = kVerbExecFailed;
  const absl::StatusOr<Wish> wish = ReadWish(line);
  if (wish.ok()) exit = Exec(*wish, line, context);
  const absl::Status status = wish.ok() ? exit.status() : wish.status();
  if (status.ok()) return exit;
  Say(context, std::string(status.message()));
  return kVerbExecFailed;
}

}  // namespace

Verb ExecVerb() {
  return {"exec",
          "JOB TASK [COMMAND…]",
          "a shell or a command in a running task's container",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\"; TASK is "
          "TYPE:INDEX.\nRuns COMMAND, or a shell, with the task's environment and working folder, "
          "in its container: it ends\nwith the task, and its memory counts with the task's. If "
          "input and output are a terminal, COMMAND\nhas one too; the keys ~. at the beginning of "
          "a line leave it. At most 8 run in a task at once.\nThe key tony.task.exec.enabled turns "
          "this off.\n",
          {{"pipes", "", false, "no terminal for COMMAND, although there is one here"}},
          kAnyNumber,
          &RunExec,
          &ExecExits,
          {},
          true,
          2};
}

}  // namespace tony::client
