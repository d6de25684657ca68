// `tony top`: which job holds which share of this machine, and which waits, from the ledger that
// new jobs would use; with a job's name, what the job's tasks use.
//
// The job is read from its folder, as `tony status` does it, so it needs no ApplicationMaster. A
// job of many tasks takes a while to read, so the pause grows with it: reading takes a fifth of the
// time at most.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "backend/local/capacity_probe.h"
#include "backend/local/ledger.h"
#include "backend/local/ledger_choice.h"
#include "client/cli/terminal.h"
#include "client/exec/raw_terminal.h"
#include "client/jobs/job_json.h"
#include "client/show/machine_table.h"
#include "client/show/redrawn_text.h"
#include "client/show/top_table.h"
#include "client/verbs/verbs.h"
#include "common/event_loop.h"
#include "common/status_macros.h"
#include "core/schedule/amount.h"
#include "jobfile/job/job_builder.h"
#include "os/machine/machine.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

Json AmountJson(const core::Amount& amount) {
  return {{"gpus", amount.gpus}, {"memory_mb", amount.memory_mb}, {"vcores", amount.vcores}};
}

Json ClaimJson(const core::Claim& claim, const std::string& own_user) {
  Json gpus = Json::array();
  for (const core::Grant& grant : claim.held) {
    for (const int gpu : grant.gpus) gpus.push_back(gpu);
  }
  return {{"user", claim.user.empty() ? own_user : claim.user},
          {"id", claim.job_id},
          {"pid", claim.pid},
          {"held", AmountJson(core::HeldBy(claim))},
          {"gpu_indices", std::move(gpus)},
          {"wanted", AmountJson(core::WantedIn(claim.wanted))}};
}

absl::StatusOr<int> TopMachine(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const jobfile::LocalSettings settings = jobfile::BuildLocalSettings(configuration);
  TONY_ASSIGN_OR_RETURN(const backend::Ledger ledger,
                        backend::Ledger::Open(backend::LedgerOfNewJobs(settings)));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger.Claims());
  TONY_ASSIGN_OR_RETURN(const os::Machine machine, os::ReadMachine());
  const core::Capacity capacity = backend::ProbeCapacity(settings, machine, /*with_gpus=*/true);
  const std::string& user = context.environment.user;
  if (!line.Has("json")) {
    context.out(RenderMachine(capacity, claims, user, context.screen.width));
    return kVerbDone;
  }
  Json jobs = Json::array();
  for (const core::Claim& claim : claims) jobs.push_back(ClaimJson(claim, user));
  context.bytes(DumpJson({{"host", capacity.host},
                          {"gpus", capacity.gpus.size()},
                          {"memory_mb", capacity.memory_mb},
                          {"ledger", ledger.folder()},
                          {"jobs", std::move(jobs)}}));
  return kVerbDone;
}

constexpr std::chrono::seconds kPause{1};
constexpr int kReadingShare = 4;  ///< pauses are so many times as long as reading took

const char* NameOf(TopTrouble trouble) {
  switch (trouble) {
    case TopTrouble::kFailed:
      return "failed";
    case TopTrouble::kHangs:
      return "hangs";
    case TopTrouble::kFullMemory:
      return "memory";
    case TopTrouble::kNotRunning:
      return "not_running";
    case TopTrouble::kNone:
    case TopTrouble::kOver:
      return nullptr;
  }
  return nullptr;
}

/// The job as `tony status --json` has it, its tasks in the order of the table and with what the
/// table adds.
Json TopJson(const StoredJob& job, const std::vector<TopTask>& tasks) {
  Json json = JobToJson(job, /*details=*/true);
  std::map<std::string, Json> by_name;
  for (Json& task : json["tasks"]) {
    std::string name = task["task"].get<std::string>();
    by_name.emplace(std::move(name), std::move(task));
  }
  json["tasks"] = Json::array();
  for (const TopTask& row : tasks) {
    Json task = std::move(by_name[row.task->last.task.ToString()]);
    const char* trouble = NameOf(row.trouble);
    task["trouble"] = trouble == nullptr ? Json() : Json(trouble);
    task["cores"] = row.cores < 0 ? Json() : Json(row.cores);
    task["asked_memory_bytes"] = row.asked_memory_bytes < 0 ? Json() : Json(row.asked_memory_bytes);
    json["tasks"].push_back(std::move(task));
  }
  return json;
}

/// Draws the table until the user leaves or the job is over. Not thread safe.
class LiveTop {
 public:
  LiveTop(JobCatalog& jobs, std::string id, const VerbContext& context)
      : jobs_(jobs), id_(std::move(id)), context_(context), text_(context.bytes) {}

  absl::Status Run() {
    const auto leave = loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int) { Leave(); });
    std::unique_ptr<RawTerminal> terminal;
    std::unique_ptr<EventLoop::Handle> keys, resumed;
    if (IsLiveTerminal(STDIN_FILENO, context_.environment)) {
      TONY_ASSIGN_OR_RETURN(terminal, RawTerminal::Enter(STDIN_FILENO, RawTerminal::Keys::kSingle));
      keys = loop_.WatchReadable(STDIN_FILENO, [this] { OnKey(); });
      resumed = loop_.WatchSignals({SIGCONT}, [&](int) { terminal->Reenter(); });
    }
    Show();
    loop_.Run();
    return status_;
  }

 private:
  void Show() {
    const TimePoint before = context_.clock->Now();
    const absl::StatusOr<StoredJob> job = jobs_.Find(id_);
    if (!job.ok()) {
      status_ = job.status();
      return Leave();
    }
    const int64_t now = context_.clock->UnixMillis();
    const Screen screen = DescribeScreen(STDOUT_FILENO, context_.environment);
    table_ = SafeLines(RenderTop(job->job, top_.Look(job->job, now), now, screen), PaintOf(screen));
    if (!job->alive) return Leave();
    text_.Draw(table_, "", screen, /*leave=*/false);
    const Duration reading = context_.clock->Now() - before;
    timer_ = loop_.After(std::max<Duration>(kPause, kReadingShare * reading), [this] { Show(); });
  }

  void OnKey() {
    char key = 0;
    const ssize_t size = read(STDIN_FILENO, &key, 1);
    if (size <= 0 || key == 'q' || key == 'Q') Leave();
  }

  void Leave() {
    timer_.reset();
    const Screen screen = DescribeScreen(STDOUT_FILENO, context_.environment);
    if (!std::exchange(left_, true)) text_.Draw(table_, "", screen, /*leave=*/true);
    loop_.Post([this] { loop_.Stop(); });
  }

  JobCatalog& jobs_;
  const std::string id_;
  const VerbContext& context_;
  EventLoop loop_;
  TopTable top_;
  RedrawnText text_;
  std::string table_;
  absl::Status status_;
  bool left_ = false;
  std::unique_ptr<EventLoop::Handle> timer_;
};

/// Shows the job `wish`: as JSON, as one table, or, on a terminal and without --once, as a table
/// that is drawn anew each second until the job is over, or the user presses q or Ctrl-C.
absl::StatusOr<int> TopJob(const std::string& wish, const CommandLine& line,
                           const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, OpenJobs(line, context, wish));
  TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs->Find(wish));
  const bool live = context.terminal && !line.Has("once") && !line.Has("json") && job.alive &&
                    IsLiveTerminal(STDOUT_FILENO, context.environment);
  if (live) {
    TONY_RETURN_IF_ERROR(LiveTop(*jobs, job.id, context).Run());
    return kVerbDone;
  }
  const int64_t now = context.clock->UnixMillis();
  TopTable top;
  const std::vector<TopTask> tasks = top.Look(job.job, now);
  if (line.Has("json")) {
    context.bytes(DumpJson(TopJson(job, tasks)));
    return kVerbDone;
  }
  Screen screen = context.screen;
  screen.rows = 0;  // printed once, so it may scroll
  context.out(RenderTop(job.job, tasks, now, screen));
  return kVerbDone;
}

absl::StatusOr<int> RunTop(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) return TopMachine(line, context);
  return TopJob(line.positionals[0], line, context);
}

}  // namespace

Verb TopVerb() {
  return {
      "top",
      "[JOB]",
      "what a job's tasks use and how far they are; without JOB, which job holds what here",
      "JOB is a job's name, a part of it from the start or to the end, or \"latest\". Its tasks "
      "are shown each\nsecond, those in trouble first, until the job is over; q or Ctrl-C "
      "leaves. Where the output is no\nterminal, and with --once, they are shown once.\n"
      "Without JOB: which job holds what of this machine, and which waits. Jobs of other users "
      "are seen if an\nadministrator has made the folder of the key tony.local.ledger.\n",
      {{"once", "", false, "show the job's tasks once"}},
      1,
      &RunTop};
}

}  // namespace tony::client
