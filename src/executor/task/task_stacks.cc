// The list of processes is read on the loop, which owns the keeper; the rest on the thread.
#include "executor/task/task_stacks.h"

#include <system_error>
#include <utility>

#include "common/logging.h"
#include "executor/task/stack_reader.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

/// Texts of one reading together, for whomever it is.
constexpr size_t kMostBytes = 1 << 20;
/// Requests that one reading may serve.
constexpr size_t kMostWishes = 16;

}  // namespace

TaskStacks::~TaskStacks() {
  if (reader_.joinable()) reader_.join();
  EndRun();
}

std::string TaskStacks::BeginRun(const std::string& folder) {
  EndRun();
  ++run_number_;
  folder_ = folder;
  absl::Status made = os::RemoveTree(folder_);
  if (made.ok()) made = os::MakeFolders(folder_);
  if (made.ok()) return folder_;
  LogWarning("the stacks of Python programs cannot be read", {{"why", made.message()}});
  folder_.clear();
  return "";
}

void TaskStacks::EndRun() {
  if (folder_.empty()) return;
  const absl::Status removed = os::RemoveTree(folder_);
  if (!removed.ok()) LogDebug("files of stacks stay", {{"why", removed.message()}});
  folder_.clear();
  orphans_.clear();
}

void TaskStacks::Read(std::vector<std::string> tools, Duration limit, size_t limit_bytes,
                      Done done) {
  if (wishes_.size() >= kMostWishes) return done({});
  wishes_.push_back({limit_bytes, run_number_, std::move(done)});
  if (wishes_.size() > 1) return;
  if (reader_.joinable()) reader_.join();
  StackReading reading{keeper_.Processes(), folder_, std::move(tools), limit, kMostBytes};
  try {
    reader_ = std::thread([this, reading = std::move(reading), run = run_number_] {
      std::vector<core::ProcessDump> dumps = ReadStacks(reading);
      loop_.Post(lifetime_.Guard([this, run, dumps = std::move(dumps)] { OnRead(run, dumps); }));
    });
  } catch (const std::system_error& error) {
    LogWarning("the stacks of the program cannot be read: there is no room for a thread",
               {{"why", error.what()}});
    OnRead(run_number_, {});
  }
}

void TaskStacks::OnRead(int64_t run, const std::vector<core::ProcessDump>& dumps) {
  LogDebug("the stacks of the program are read", {{"processes", dumps.size()}});
  for (Wish& wish : std::exchange(wishes_, {})) {
    // A run that began during the reading of another one is not what was read.
    std::vector<core::ProcessDump> own;
    if (wish.run_number == run) own = dumps;
    FitTexts(own, wish.limit_bytes);
    wish.done(std::move(own));
  }
}

void TaskStacks::Sweep() {
  if (folder_.empty()) return;
  orphans_ = SweepStacks(
      folder_, [this] { return keeper_.Processes(); }, orphans_);
}

}  // namespace tony::executor
