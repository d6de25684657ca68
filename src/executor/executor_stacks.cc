// The stacks of the program's processes: for the ApplicationMaster, and kept beside the program's
// logs before tony ends it because it takes too long.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/safe_text.h"
#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_report_builder.h"
#include "core/stacks/stack_text.h"
#include "executor/executor.h"
#include "os/files/files.h"
#include "rpc/convert/convert.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// The ApplicationMaster waits for two seconds.
constexpr milliseconds kReadLimit{1500};
/// A program that is about to be ended has to wait for this.
constexpr milliseconds kLastReadLimit{1000};
/// The largest answer, whatever the ApplicationMaster would take.
constexpr size_t kMostAnswerBytes = 256 * 1024;
constexpr size_t kLeastAnswerBytes = 1024;

/// "it was in load_batch (train.py:12)" of the outermost process that has a stack; empty if none
/// has.
std::string WhereItWas(const core::StackReport& report) {
  for (const core::TaskStacks& task : report.tasks) {
    for (const core::ProcessStacks& process : task.processes) {
      if (process.way == "proc") continue;
      for (const core::ThreadStack& thread : process.threads) {
        const std::string top = core::TopCall(report.stacks[thread.stack]);
        if (thread.main && !top.empty()) return absl::StrCat("it was in ", SafeText(top));
      }
    }
  }
  return "";
}

}  // namespace

void Executor::OnTakeStacks(const v1::TakeStacks& wish) {
  const int64_t request = wish.request();
  if (!process_.active()) {
    return Send(StacksMessage({identity_.epoch, identity_.attempt}, request, {},
                              "its program does not run at the moment"));
  }
  const auto limit = static_cast<size_t>(std::max(0, wish.limit_bytes()));
  stacks_.Read(tool_folders_, kReadLimit, std::clamp(limit, kLeastAnswerBytes, kMostAnswerBytes),
               [this, request, run = run_](const std::vector<core::ProcessDump>& dumps) {
                 if (connection_ == nullptr) return;
                 Send(StacksMessage(run, request, dumps,
                                    dumps.empty() ? "its program has no process any more" : ""));
               });
}

void Executor::OnShutdown(const v1::Shutdown& shutdown) {
  if (!shutdown.keep_stacks() || !process_.active()) return ShutDown(0, shutdown.reason());
  KeepStacks([this, reason = shutdown.reason()](const std::string&) { ShutDown(0, reason); });
}

// The file is replaced by that of a later reading of the same run, so there is one for each
// attempt.
void Executor::KeepStacks(std::function<void(const std::string& note)> done) {
  stacks_.Read(tool_folders_, kLastReadLimit, kMostAnswerBytes,
               [this, path = log_prefix_ + "stacks.txt",
                done = std::move(done)](const std::vector<core::ProcessDump>& dumps) {
                 if (dumps.empty()) return done("");
                 core::StackReportBuilder builder(clock_.UnixMillis(), 4 * kMostAnswerBytes);
                 builder.Add({rpc::FromProto(assignment_.task()), "", run_.attempt, "", {}}, dumps);
                 const core::StackReport report = std::move(builder).Take();
                 const absl::Status kept = os::WriteFileAtomically(
                     path, SafeLines(core::StackText(report, core::GroupBy::kAllThreads)));
                 if (!kept.ok()) LogWarning("the stacks are not kept", {{"why", kept.message()}});
                 std::string note = WhereItWas(report);
                 if (kept.ok()) {
                   absl::StrAppend(&note, note.empty() ? "" : "; ", "its stacks are in ", path);
                 }
                 LogInfo("the program is about to be ended", {{"note", note}});
                 done(note);
               });
}

}  // namespace tony::executor
