// At rank 0: what comes next, when, and with which settings.
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

/// Each line is there as soon as it is written. Nobody else has it, nor any child of a fork.
class Table {
 public:
  /// Null: errno says why.
  static std::shared_ptr<Table> Open(const std::string& path) {
    FILE* const file = std::fopen(path.c_str(), "we");
    return file == nullptr ? nullptr : std::make_shared<Table>(file);
  }
  explicit Table(FILE* file) : file_(file, std::fclose) {}

  /// False: it could not be written.
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
    // What becomes ready until then is fused with what is ready now.
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
  // As any decision: between the same two operations at all ranks.
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
  const auto log = [table, say, path = tuning.log](const std::string& line) mutable {
    if (table == nullptr || table->Write(line)) return;
    table.reset();
    say("the table of what is tuned, " + path + ", ends here: it cannot be written");
  };
  auto autotune = std::make_shared<Autotune>(present, std::move(parameters), tuning.options,
                                             Autotune::Ports{.log = log, .say = say});
  members_->Post([this, autotune = std::move(autotune), points = present.points] {
    autotune_ = autotune;
    points_ = points;
  });
  return {};
}

}  // namespace tony::collective
