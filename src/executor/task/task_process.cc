// Turns the keeper's events into exactly one end of each run. Several causes may apply at once
// (time-out, stop, memory, signal); the order of the checks in On(KeeperExited) decides which one
// is reported.
#include "executor/task/task_process.h"

#include <signal.h>

#include <cerrno>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "executor/task/command_request.h"
#include "executor/task/exit_hints.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

// Exit code of a shell whose program died of SIGKILL.
constexpr int kShellOfKilled = 128 + SIGKILL;

/// Maps a failure of fork(), of exec() or of the steps between them to a status.
absl::Status SpawnError(const os::KeeperSpawnFailed& failed) {
  switch (failed.error_number) {
    case EAGAIN:  // the limit of processes
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(failed.message);
    default:
      return absl::InvalidArgumentError(failed.message);
  }
}

/// "2.1 GiB" or "512 MiB".
std::string BytesText(int64_t bytes) {
  const bool large = bytes >= int64_t{1} << 30;
  const double tenths = std::round(static_cast<double>(bytes) * 10 / (large ? 1 << 30 : 1 << 20));
  return absl::StrCat(tenths / 10, large ? " GiB" : " MiB");
}

}  // namespace

core::TaskExit NotStarted(const absl::Status& why) {
  const std::string message(why.message());
  if (absl::IsResourceExhausted(why)) {
    return core::TaskExit::Lost(absl::StrCat("the machine has no room to start it: ", message));
  }
  if (absl::IsUnavailable(why)) return core::TaskExit::Lost(message);
  return {core::TaskExit::Cause::kNotStarted, 0, 0, message, {}};
}

TaskProcess::TaskProcess(EventLoop& loop, os::Keeper& keeper, Callbacks callbacks)
    : loop_(loop), keeper_(keeper), callbacks_(std::move(callbacks)) {
  keeper_watch_ = loop_.WatchReadable(keeper_.fd(), [this] { OnKeeperReadable(); });
}

// A failure to spawn is reported through the same callbacks as the end of a program, so the caller
// has one path for both.
void TaskProcess::Run(const Command& command) {
  active_ = true;
  ended_ = false;
  timed_out_ = false;
  ++runs_;
  stopped_ = false;
  memory_limit_bytes_ = command.memory_limit_bytes;
  memory_key_ = command.memory_key;
  facts_ = {command.shell_command, command.environment, command.working_folder, command.framework,
            command.reserved_ports};
  last_output_ = clock_.Now();
  printed_bytes_ = 0;
  exceeding_bytes_ = 0;
  tail_ = OutputTail(static_cast<size_t>(command.tail_lines));
  parameters_.reset();
  if (command.finds_parameters) parameters_.emplace();
  const absl::Status spawned = Spawn(command);
  if (!spawned.ok()) {
    std::string why(spawned.message());
    if (keeper_.containment_name().empty()) {
      absl::StrAppend(&why, "; set tony.task.containment to auto or another way");
    }
    End(NotStarted(absl::Status(spawned.code(), why)));
    TreeGone();
    return;
  }
  if (command.timeout > Duration::zero()) {
    timeout_ =
        loop_.After(command.timeout, [this, grace = command.kill_grace] { OnTimeout(grace); });
  }
}

// Its stacks are read before the kill, while it may still end by itself, or be stopped: then this
// time-out has nothing more to do, in particular not with the next run.
void TaskProcess::OnTimeout(Duration grace) {
  LogWarning("the program has run too long and is ended",
             {{"grace_ms", grace / std::chrono::milliseconds(1)}});
  const auto end = [this, grace, run = runs_](const std::string& note) {
    if (run != runs_ || ended_ || stopped_ || timed_out_) return;
    timed_out_ = true;
    timeout_note_ = note;
    Kill(grace);
  };
  if (!callbacks_.before_timeout) return end("");
  callbacks_.before_timeout(end);
}

// The pipes are opened before the spawn, and this process closes its write ends directly
// afterwards: only then does the end of the last writer end the stream.
//
// Standard output is read before each read of standard error. Its pump may be pausing in the middle
// of a line, as Python writes one in pieces when it does not buffer; the error that the program
// printed after that line would otherwise stand before it.
absl::Status TaskProcess::Spawn(const Command& command) {
  const std::string& prefix = command.log_prefix;
  TONY_RETURN_IF_ERROR(os::MakeFolders(prefix.substr(0, prefix.rfind('/'))));
  pumps_.clear();
  for (int stream = 0; stream < 2; ++stream) {
    const std::string path = absl::StrCat(prefix, stream == 0 ? "stdout.log" : "stderr.log");
    TONY_ASSIGN_OR_RETURN(std::unique_ptr<LogPump> pump,
                          LogPump::Open(loop_, clock_, path, command.logs,
                                        {[this, stream](const char* data, size_t size) {
                                           tail_.Add(stream, data, size);
                                           if (stream == 0 && parameters_)
                                             parameters_->Add(data, size);
                                           if (progress_ != nullptr)
                                             progress_->Add(stream, data, size);
                                           last_output_ = clock_.Now();
                                           printed_bytes_ += static_cast<int64_t>(size);
                                         },
                                         [this](const std::string& sentence) { Note(sentence); },
                                         [this, stream] {
                                           if (stream == 1) pumps_[0]->ReadWaiting();
                                         }}));
    pumps_.push_back(std::move(pump));
  }
  OpenReports(command);
  TONY_ASSIGN_OR_RETURN(os::SpawnRequest request,
                        RequestFor(command.shell_command, command.environment,
                                   command.working_folder, FindShell("")));
  request.environment = command.environment;
  request.working_folder = command.working_folder;
  request.stdout_fd = pumps_[0]->write_end();
  request.stderr_fd = pumps_[1]->write_end();
  request.leftover_grace = command.kill_grace;
  const absl::Status status = keeper_.Spawn(request);
  for (auto& pump : pumps_) pump->CloseWriteEnd();
  return status;
}

// A program need not report anything, so it is started also where its reports cannot be read.
void TaskProcess::OpenReports(const Command& command) {
  report_pipe_.reset();
  progress_.reset();
  reports_ = std::make_unique<ProgramReports>(
      clock_, [this](const std::string& sentence) { Note(sentence); });
  if (!command.report_pipe.empty()) {
    auto pipe = ReportPipe::Open(loop_, command.report_pipe, *reports_);
    if (pipe.ok()) {
      report_pipe_ = *std::move(pipe);
    } else {
      LogWarning("the program cannot report", {{"why", pipe.status().message()}});
    }
  }
  if (!command.progress_pattern.empty()) {
    auto finder = ProgressFinder::Create(loop_, command.progress_pattern, *reports_);
    if (finder.ok()) {
      progress_ = *std::move(finder);
    } else {
      Note(std::string(finder.status().message()));
    }
  }
}

// A time-out kills the program through the same function, but must not be reported as a stop; so
// `stopped_` is set only without a time-out.
void TaskProcess::Kill(Duration grace) {
  if (!active_) {
    callbacks_.on_tree_gone();
    return;
  }
  if (!timed_out_) {
    stopped_ = true;
    timeout_.reset();
  }
  LogDebug("ending the program", {{"grace_ms", grace / std::chrono::milliseconds(1)}});
  const absl::Status status = keeper_.Kill(grace);
  if (!status.ok()) LogError(absl::StrCat("cannot end the process tree: ", status.ToString()));
}

void TaskProcess::OnKeeperReadable() {
  while (std::optional<os::KeeperEvent> event = keeper_.Next()) {
    const bool lost = std::holds_alternative<os::KeeperLost>(*event);
    std::visit([this](const auto& kind) { On(kind); }, *event);
    if (lost) return;
  }
}

void TaskProcess::On(const os::KeeperStarted& started) {
  LogDebug("the program has started",
           {{"pid", started.pid}, {"containment", keeper_.containment_name()}});
  if (memory_limit_bytes_ > 0 && !keeper_.limits_memory()) WatchMemory();
  callbacks_.on_started(started.pid);
}

// The program gets no grace period, in which it could go on allocating.
void TaskProcess::WatchMemory() {
  memory_watch_ = std::make_unique<MemoryWatch>(
      loop_, memory_limit_bytes_, [this] { return keeper_.Processes(); },
      [this](int64_t bytes) {
        exceeding_bytes_ = bytes;
        LogWarning("the program uses more memory than it may and is ended",
                   {{"used", BytesText(bytes)}, {"limit", BytesText(memory_limit_bytes_)}});
        Kill(Duration::zero());
      });
}

// The kernel may have killed a child only. The program's own end decides: SIGKILL (or a shell that
// reports it) means out of memory, any other end keeps its cause and gets a note about the killed
// children.
void TaskProcess::JudgeMemory(const os::KeeperExited& exited, core::TaskExit& exit) const {
  const int64_t peak = exceeding_bytes_ > 0 ? exceeding_bytes_ : exited.memory.peak_bytes;
  const std::string numbers = absl::StrCat("peak ", BytesText(peak), ", limit ",
                                           BytesText(memory_limit_bytes_), " (", memory_key_, ")");
  const bool killed = exited.status.signal == SIGKILL || exited.status.code == kShellOfKilled;
  if (exceeding_bytes_ > 0 || (exited.memory.kills > 0 && killed)) {
    exit.cause = core::TaskExit::Cause::kOutOfMemory;
    exit.message = numbers;
  } else if (exited.memory.kills > 0) {
    absl::StrAppend(&exit.message, exit.message.empty() ? "" : "; ", exited.memory.kills,
                    exited.memory.kills == 1 ? " process that it had started was"
                                             : " processes that it had started were",
                    " ended since they used more memory than the container has: ", numbers);
  }
}

void TaskProcess::On(const os::KeeperSpawnFailed& failed) {
  LogWarning("the program cannot be started", {{"why", failed.message}});
  End(NotStarted(SpawnError(failed)));
  TreeGone();
}

// Pipes are drained first, so that the tail of the output is complete in the report. If
// the memory watch killed the program, memory is the cause, although Kill() looks like a stop.
void TaskProcess::On(const os::KeeperExited& exited) {
  for (auto& pump : pumps_) pump->Drain();
  core::TaskExit exit;
  exit.tail = tail_.Lines();
  if (parameters_) exit.model_parameters = FoundParameters();
  if (report_pipe_ != nullptr) report_pipe_->Finish();
  report_pipe_.reset();
  if (progress_ != nullptr) progress_->Finish();
  progress_.reset();
  exit.reported = reports_->values();
  if (timed_out_ && exceeding_bytes_ == 0) {
    exit.cause = core::TaskExit::Cause::kTimedOut;
    exit.message = absl::StrCat("tony.task.executor.execution-timeout-ms has passed",
                                timeout_note_.empty() ? "" : "; ", timeout_note_);
  } else if (exited.status.signal != 0) {
    exit.cause = core::TaskExit::Cause::kSignaled;
    exit.signal = exited.status.signal;
  } else {
    exit.code = exited.status.code;
    exit.message = exit.code == 0 ? "" : ExplainExit(exit.code, exit.tail, facts_);
  }
  if (stopped_ && !exit.ok() && exceeding_bytes_ == 0) {
    exit.cause = core::TaskExit::Cause::kStopped;
    exit.message.clear();
  } else if (!timed_out_ || exceeding_bytes_ > 0) {
    JudgeMemory(exited, exit);
  }
  End(std::move(exit));
}

void TaskProcess::On(const os::KeeperTreeGone& gone) {
  if (gone.leftovers > 0) {
    LogInfo(absl::StrCat(gone.leftovers, " processes outlived the program and were ended"));
  }
  TreeGone();
}

std::string TaskProcess::FoundParameters() {
  parameters_->Finish();
  if (parameters_->too_long()) {
    Note(
        absl::StrCat("the tasks get no MODEL_PARAMS, since the line with \"Model "
                     "parameters: \" is longer than ",
                     ParameterFinder::kMaxBytes / 1024, " KiB; let it name a file that has them"));
  }
  return parameters_->parameters();
}

// Without the keeper nothing proves that the tree is gone, so no on_tree_gone follows.
void TaskProcess::On(const os::KeeperLost& lost) {
  keeper_watch_.reset();
  for (auto& pump : pumps_) pump->Drain();
  const std::string why = absl::StrCat("the keeper of the process tree was killed; ",
                                       lost.survivors, " processes could not be ended");
  LogError(why);
  End({core::TaskExit::Cause::kLost, 0, 0, why, tail_.Lines()});
  active_ = false;
  callbacks_.on_keeper_lost(why);
}

// A keeper that is lost after the program has ended would report a second end; only the first
// counts.
void TaskProcess::End(core::TaskExit exit) {
  timeout_.reset();
  memory_watch_.reset();
  if (std::exchange(ended_, true)) return LogDebug("a second end of the program is ignored");
  exit.host_millis = clock_.UnixMillis();
  callbacks_.on_ended(std::move(exit));
}

void TaskProcess::TreeGone() {
  // Every writer is gone, so the pipes now hold all the output that will ever come.
  for (auto& pump : pumps_) pump->Finish();
  pumps_.clear();
  active_ = false;
  callbacks_.on_tree_gone();
}

void TaskProcess::Note(const std::string& sentence) {
  LogWarning(sentence);
  if (callbacks_.on_note) callbacks_.on_note(sentence);
}

}  // namespace tony::executor
