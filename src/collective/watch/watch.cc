// Counts and traces each step of a tensor, and publishes the counters. A step takes one look at the
// clock and one short lock; events are built only while there is a timeline. The messages between
// watches are in watch_messages.cc.
#include "collective/watch/watch.h"

#include <algorithm>
#include <utility>

namespace tony::collective {
namespace {

/// Time between two writes of the counters.
constexpr auto kPublishTime = std::chrono::seconds(1);
/// Rank 0 tells a rank how long the others have waited for it whenever this much has been added.
constexpr auto kWorthTelling = std::chrono::milliseconds(1);

Deadline Now() { return std::chrono::steady_clock::now(); }

int64_t BytesOf(const Tensor& tensor) {
  const Request& request = tensor.request;
  const Operation operation = request.kind.operation;
  const bool has_none = operation == Operation::kBarrier || ChangesSets(operation);
  if (!tensor.submitted() || has_none) return 0;
  return request.elements() * static_cast<int64_t>(SizeOf(request.kind.type));
}

}  // namespace

Watch::Watch(int rank, int ranks, Callbacks callbacks)
    : rank_(rank),
      ranks_(ranks),
      callbacks_(std::move(callbacks)),
      arrivals_(ranks),
      reported_waits_(static_cast<size_t>(ranks)) {}

Watch::~Watch() {
  questions_->Close();
  if (timeline_ == nullptr) return;
  const Status written = timeline_->Finish();
  static_cast<void>(written);  // Finish() has printed it on stderr
}

std::shared_ptr<Timeline> Watch::timeline() {
  // The flag spares the lock while there is no timeline. Relaxed is enough: an event that is missed
  // or dropped at the start or end of a timeline does no harm.
  if (!tracing_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  return timeline_;
}

void Watch::Trace(TraceEvent event) {
  if (const auto timeline = this->timeline()) timeline->Add(std::move(event));
}

void Watch::Submitted(const std::vector<TensorKey>& tensors, size_t count,
                      collective::Operation operation) {
  const Deadline now = Now();
  {
    const std::lock_guard lock(mutex_);
    if (undecided_ == 0) undecided_since_ = now;
    undecided_ += count;
  }
  const auto timeline = this->timeline();
  if (timeline == nullptr) return;
  for (size_t i = tensors.size() - count; i < tensors.size(); ++i) {
    timeline->Add({.kind = TraceEvent::Kind::kSubmitted,
                   .at = now,
                   .name = WatchedName(tensors[i].set, tensors[i].name),
                   .operation = operation});
  }
}

void Watch::Said(size_t by_number, size_t by_request) {
  const std::lock_guard lock(mutex_);
  counters_.by_number += static_cast<int64_t>(by_number);
  counters_.by_request += static_cast<int64_t>(by_request);
}

void Watch::Settle(size_t tensors, Deadline now) {
  // The counter is the time in which at least one tensor is undecided, not a sum over tensors; so
  // it can be compared with the time of the training.
  if (undecided_ == 0) return;
  undecided_ -= std::min(tensors, undecided_);
  if (undecided_ == 0) counters_.negotiation += now - undecided_since_;
}

void Watch::Decided(const Decision& decision, size_t own) {
  const Deadline now = Now();
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Settle(own, now);
    number = ++decisions_;
    queued_.push_back({.at = now, .number = number});
  }
  const auto timeline = this->timeline();
  if (timeline == nullptr) return;
  auto step = std::make_shared<TraceStep>(TraceStep{.number = number, .kind = decision.kind});
  for (const collective::Decided& tensor : decision.tensors) {
    step->tensors.push_back({.name = WatchedName(decision.set, tensor.name)});
  }
  timeline->Add({.kind = TraceEvent::Kind::kDecided, .at = now, .step = std::move(step)});
}

void Watch::Failed(const TensorKey& tensor) {
  const Deadline now = Now();
  {
    const std::lock_guard lock(mutex_);
    ++counters_.failed;
    Settle(1, now);
  }
  Trace(
      {.kind = TraceEvent::Kind::kFailed, .at = now, .name = WatchedName(tensor.set, tensor.name)});
}

void Watch::Cycle() {
  const auto timeline = this->timeline();
  if (timeline == nullptr || !timeline->mark_cycles()) return;
  timeline->Add({.kind = TraceEvent::Kind::kCycle, .at = Now()});
}

Watch::Operation::Operation(Watch& watch, const Decision& decision,
                            const std::vector<Tensor>& tensors)
    : watch_(watch),
      is_done_(decision.error.empty()),
      kind_(static_cast<size_t>(decision.kind.operation)),
      began_(Now()) {
  for (const Tensor& tensor : tensors) {
    tensors_ += tensor.submitted() ? 1 : 0;
    bytes_ += BytesOf(tensor);
  }
  int64_t number = 0;
  {
    const std::lock_guard lock(watch_.mutex_);
    // The data thread begins decisions in the order in which Decided() was told of them, so this
    // one is the first in the queue.
    ++watch_.running_;
    if (!watch_.queued_.empty()) {
      number = watch_.queued_.front().number;
      watch_.counters_.queue += began_ - watch_.queued_.front().at;
      watch_.queued_.pop_front();
    }
  }
  const auto timeline = watch_.timeline();
  if (timeline == nullptr) return;
  auto step = std::make_shared<TraceStep>(TraceStep{.number = number, .kind = decision.kind});
  for (size_t i = 0; i < tensors.size(); ++i) {
    step->tensors.push_back({.name = WatchedName(decision.set, decision.tensors[i].name),
                             .bytes = BytesOf(tensors[i])});
  }
  step_ = std::move(step);
  if (!is_done_) return;
  timeline->Add({.kind = TraceEvent::Kind::kStarted, .at = began_, .step = step_});
}

void Watch::Operation::Done(const Status& status) {
  const Deadline now = Now();
  {
    const std::lock_guard lock(watch_.mutex_);
    --watch_.running_;
    Counters& counters = watch_.counters_;
    // A decision with an error has executed no operation, but its tensors have failed.
    if (is_done_) {
      ++counters.operations;
      counters.operation += now - began_;
    }
    if (status.ok()) {
      counters.tensors[kind_] += tensors_;
      counters.bytes[kind_] += bytes_;
    } else {
      counters.failed += tensors_;
    }
  }
  if (step_ != nullptr) {
    watch_.Trace({.kind = TraceEvent::Kind::kDone,
                  .at = now,
                  .name = status.ok() ? "" : status.message(),
                  .step = step_});
  }
  watch_.PublishLater();
}

Counters Watch::CountAt(Deadline now) {
  Counters counters = counters_;
  // A wait that is still going on counts up to `now`.
  if (undecided_ > 0) counters.negotiation += now - undecided_since_;
  if (rank_ == 0) {
    counters.waited_for_ranks = arrivals_.WaitedFor(now);
    counters.waited_for = counters.waited_for_ranks[0];
  }
  return counters;
}

Counters Watch::Count() {
  const std::lock_guard lock(mutex_);
  return CountAt(Now());
}

bool Watch::IsIdleSince(Deadline since) {
  const std::lock_guard lock(mutex_);
  return last_ready_ <= since && running_ == 0 && queued_.empty();
}

Status Watch::WriteCounters(const std::string& path) {
  if (Status written = Replace(path, Count().Text()); !written.ok()) return written;
  const std::lock_guard lock(mutex_);
  counters_path_ = path;
  return {};
}

void Watch::PublishLater() {
  {
    const std::lock_guard lock(mutex_);
    const bool tells = rank_ == 0 && ranks_ > 1;
    if (publishing_ || (counters_path_.empty() && !tells)) return;
    publishing_ = true;
  }
  // The timer is set after an operation and not renewed by itself: an idle process is never woken.
  callbacks_.post_at(Now() + kPublishTime, [this] { Publish(); });
}

void Watch::Publish() {
  Counters counters;
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    publishing_ = false;
    counters = CountAt(Now());
    path = counters_path_;
  }
  for (size_t rank = 1; rank < counters.waited_for_ranks.size(); ++rank) {
    const auto waited_for = counters.waited_for_ranks[rank];
    if (waited_for - reported_waits_[rank] < kWorthTelling) continue;
    reported_waits_[rank] = waited_for;
    Tell(static_cast<int>(rank), kWaitedFor, waited_for.count());
  }
  if (path.empty()) return;
  // A file that cannot be written is given up after one message, instead of a message each second.
  const Status written = Replace(path, counters.Text());
  if (written.ok()) return;
  callbacks_.print("tony.collective: " + written.message() + "; it is not tried again\n");
  const std::lock_guard lock(mutex_);
  counters_path_.clear();
}

void Watch::Leave() {
  questions_->Close();
  {
    const std::lock_guard lock(mutex_);
    counters_.stalled.clear();
  }
  callbacks_.post([this] { Publish(); });
}

Status Watch::StartTimeline(const std::string& path, bool mark_cycles) {
  const std::lock_guard starting(starting_);
  if (timeline() != nullptr) {
    return {Code::kFailedPrecondition, "there is a timeline already: stop it first"};
  }
  auto started = Timeline::Start({.path = path, .rank = rank_, .mark_cycles = mark_cycles});
  if (!started.ok()) return started.status();
  {
    const std::lock_guard lock(mutex_);
    timeline_ = *started;
    tracing_ = true;
  }
  // The links' thread compares this rank's clock with rank 0's. The timeline holds its events until
  // then (SetClock()).
  callbacks_.post([this, timeline = *started] {
    if (rank_ == 0) return timeline->SetClock(0, 0);
    clock_ = {};
    clock_for_ = timeline;
    // The answer to a question of an earlier timeline comes first. It belongs to another time, so
    // OnClock() asks anew instead of counting it.
    clock_stale_ = clock_awaited_;
    if (!clock_awaited_) AskClock();
  });
  return {};
}

Status Watch::StopTimeline() {
  const std::lock_guard starting(starting_);
  std::shared_ptr<Timeline> timeline;
  {
    const std::lock_guard lock(mutex_);
    tracing_ = false;
    timeline = std::exchange(timeline_, nullptr);
  }
  if (timeline != nullptr) return timeline->Finish();
  return {Code::kFailedPrecondition, "there is no timeline that could be stopped"};
}

}  // namespace tony::collective
