// Rank 0's part of the engine: decides when its data thread is idle or a window ends, sends the
// decisions to the ranks, and applies the settings that autotuning tries.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "collective/engine/engine.h"
#include "collective/engine/messages.h"
#include "collective/request/wire.h"

namespace tony::collective {
namespace {

/// The file of autotuning's table. Each line is flushed when it is written. The file is closed on
/// exec, so that a child process does not keep it open.
class Table {
 public:
  /// Null – the file cannot be opened; errno says why.
  static std::shared_ptr<Table> Open(const std::string& path) {
    FILE* const file = std::fopen(path.c_str(), "we");
    return file == nullptr ? nullptr : std::make_shared<Table>(file);
  }
  explicit Table(FILE* file) : file_(file, std::fclose) {}

  /// False: the line could not be written.
  bool Write(const std::string& line) {
    return std::fprintf(file_.get(), "%s\n", line.c_str()) >= 0 && std::fflush(file_.get()) == 0;
  }

 private:
  const std::unique_ptr<FILE, int (*)(FILE*)> file_;
};

}  // namespace

void Engine::Submit(int rank, const Submission& submission) {
  const std::string wrong = coordinator_->Submit(rank, submission);
  if (!wrong.empty()) return OnFailure({Code::kInternal, wrong});
  Decide();
}

void Engine::Decide() {
  bool idle = false;
  {
    const std::lock_guard lock(mutex_);
    // While the data thread is busy the coordinators are not asked (`idle`), so tensors that become
    // ready meanwhile are fused with those that are ready now.
    idle = !executing_ && decisions_.empty();
    for (const SetId set : std::exchange(refused_sets_, {})) coordinator_->Drop(set);
  }
  const Deadline now = std::chrono::steady_clock::now();
  auto decisions = coordinator_->Decide(idle, now);
  if (!decisions.empty()) watch_.Cycle();
  std::optional<Settings> settings;
  for (auto& [decision, members] : decisions) {
    if (autotune_ != nullptr) {
      if (auto next = autotune_->Take(decision, now)) settings = std::move(next);
    }
    Tell(std::move(decision), *members);
  }
  // All decisions above were made with the previous settings; the new ones hold from the next
  // decision on.
  if (settings) Use(*settings);
  if (autotune_ != nullptr && autotune_->done()) autotune_.reset();
  DecideLater();
}

void Engine::Tell(Decision decision, const std::vector<int>& members) {
  const std::string message = Message(kDecision, Encode(decision));
  for (const int rank : members) {
    if (rank != 0) members_->Send(rank, message);
  }
  if (members.front() == 0) Take(std::move(decision));
}

void Engine::DecideLater() {
  const auto end = coordinator_->window_end();
  // A timer that is set for the same time or earlier is enough: Decide() then sets the next one.
  if (!end || (deciding_at_ && *deciding_at_ <= *end)) return;
  deciding_at_ = end;
  members_->PostAt(*end, [this] {
    deciding_at_.reset();
    Decide();
  });
}

void Engine::Use(const Settings& settings) {
  coordinator_->SetFusion(settings.fusion_bytes, settings.window());
  if (settings.points == points_) return;
  points_ = settings.points;
  std::vector<int> all(static_cast<size_t>(members_->group().ranks()));
  std::iota(all.begin(), all.end(), 0);
  // The switch points go as a decision, so that all ranks apply them between the same two
  // operations. Fusion and window concern rank 0 only.
  Tell({.kind = {.operation = Operation::kBarrier}, .points = points_->Encode()}, all);
}

Status Engine::StartAutotune(const Tuning& tuning) {
  if (rank_ != 0) {
    return {Code::kFailedPrecondition,
            "rank " + std::to_string(rank_) + " cannot tune: rank 0 does, for all"};
  }
  if (tuned_.exchange(true)) {
    return {Code::kFailedPrecondition, "the engine tunes already, or has done so"};
  }
  std::shared_ptr<Table> table;
  if (!tuning.log.empty()) {
    table = Table::Open(tuning.log);
    if (table == nullptr) {
      tuned_ = false;
      return {Code::kFailedPrecondition, "the table of what is tuned cannot be written to " +
                                             tuning.log + ": " + std::strerror(errno)};
    }
  }
  const auto say = options_.say ? options_.say : [](const std::string&) {};
  const auto ways = members_->group().ways();
  Settings present = {.fusion_bytes = options_.limits.fusion_bytes,
                      .window_us = static_cast<size_t>(options_.limits.window.count())};
  if (ways) present.points = ways->points;
  auto parameters = ParametersOf(tuning.what, ways);
  if (members_->group().ranks() == 1 || parameters.empty()) {
    say("there is nothing to tune: all is fixed, or there is one rank only");
    return {};
  }
  // A table that cannot be written, on a full disk for example, ends; the tuning goes on.
  const auto log = [table, say, path = tuning.log](const std::string& line) mutable {
    if (table == nullptr || table->Write(line)) return;
    table.reset();
    say("the table of what is tuned, " + path + ", ends here: it cannot be written");
  };
  auto autotune = std::make_shared<Autotune>(present, std::move(parameters), tuning.options,
                                             Autotune::Callbacks{.log = log, .say = say});
  // Both members belong to the links' thread.
  members_->Post([this, autotune = std::move(autotune), points = present.points] {
    autotune_ = autotune;
    points_ = points;
  });
  return {};
}

}  // namespace tony::collective
