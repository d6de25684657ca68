// The protocol between the watches of ranks: comparing clocks, asking missing ranks where they
// stand when tensors stall, and telling a rank how long the others have waited for it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/watch/watch.h"

namespace tony::collective {
namespace {

/// How long rank 0 waits for the missing ranks to say where they stand.
constexpr auto kAnswerTime = std::chrono::seconds(5);
/// How often a rank asks rank 0 for its clock; the answer with the shortest round trip counts.
constexpr int kClockQuestions = 8;
constexpr size_t kMostAnswerBytes = size_t{1} << 16;

Deadline Now() { return std::chrono::steady_clock::now(); }
int64_t NowNumber() { return Now().time_since_epoch().count(); }

}  // namespace

void Watch::Tell(int rank, Word word, int64_t number, const std::string& text) {
  std::string message(1, static_cast<char>(word));
  message.append(reinterpret_cast<const char*>(&number), sizeof(number));
  callbacks_.send(rank, message + text);
}

bool Watch::OnMessage(int from, std::string_view message) {
  int64_t number = 0;
  if (message.size() < 1 + sizeof(number)) return false;
  const auto word = static_cast<Word>(message[0]);
  std::memcpy(&number, &message[1], sizeof(number));
  const std::string text(message.substr(1 + sizeof(number)));
  switch (word) {
    case kWaitedFor: {
      const std::lock_guard lock(mutex_);
      counters_.waited_for = std::chrono::nanoseconds(number);
      return rank_ != 0;
    }
    case kAskClock:
      if (rank_ != 0) return false;
      Tell(from, kClock, NowNumber());
      return true;
    case kClock:
      OnClock(number);
      return rank_ != 0;
    case kAskStack:
      // The links' thread answers at once that it has heard. A rank whose program then stays silent
      // is in code that holds Python's lock; a rank that is silent altogether is stopped.
      Tell(0, questions_->Ask(number) ? kHeard : kMute, number);
      return rank_ != 0;
    case kHeard:
    case kMute:
    case kStack:
      if (rank_ != 0) return false;
      OnAnswer(from, word, number, text);
      return true;
  }
  return false;
}

void Watch::AskClock() {
  clock_awaited_ = true;
  clock_asked_ = NowNumber();
  Tell(0, kAskClock, 0);
}

void Watch::OnClock(int64_t there) {
  clock_awaited_ = false;
  if (clock_for_ == nullptr) return;
  if (std::exchange(clock_stale_, false)) return AskClock();
  clock_.Add(clock_asked_, there, NowNumber());
  if (clock_.answers() < kClockQuestions) return AskClock();
  clock_for_->SetClock(clock_.offset(), clock_.error());
  clock_for_ = nullptr;
}

void Watch::OnSubmitted(const std::string& tensor, int rank, const std::vector<int>& members) {
  const Deadline now = Now();
  bool first = false;
  Patience patience;
  {
    const std::lock_guard lock(mutex_);
    first = arrivals_.Submitted(tensor, rank, members, now);
    patience = patience_;
  }
  // Only the first waiting tensor sets the timer, which then sets itself while something waits. A
  // training pays for it once per `report` time, an idle process never.
  if (first && ranks_ > 1) SetTimerAfter(now, patience);
  Trace({.kind = TraceEvent::Kind::kArrived, .at = now, .name = tensor, .rank = rank});
}

void Watch::OnReady(const std::string& tensor) {
  {
    const std::lock_guard lock(mutex_);
    last_ready_ = Now();
    arrivals_.Ready(tensor, last_ready_);
    if (stalled_.erase(tensor) == 0 || !stalled_.empty()) return;
    counters_.stalled.clear();
  }
  PublishLater();
}

void Watch::OnJoined(int rank) {
  const std::lock_guard lock(mutex_);
  arrivals_.Joined(rank, Now());
}

void Watch::OnAllJoined() {
  const std::lock_guard lock(mutex_);
  arrivals_.AllJoined();
}

void Watch::SetPatience(Patience patience) {
  {
    const std::lock_guard lock(mutex_);
    patience_ = patience;
  }
  if (rank_ == 0) callbacks_.post([this] { OnTimer(); });
}

void Watch::SetTimerAfter(Deadline since, const Patience& patience) {
  if (patience.report.count() > 0) SetTimer(std::max(since, reported_) + patience.report);
  if (patience.end.count() > 0) SetTimer(since + patience.end);
}

void Watch::SetTimer(Deadline when) {
  if (over_ || (timer_ && *timer_ <= when)) return;
  timer_ = when;
  callbacks_.post_at(when, [this, when] {
    if (timer_ != when) return;  // an earlier timer was set since, and has replaced this one
    timer_.reset();
    OnTimer();
  });
}

void Watch::OnTimer() {
  if (over_) return;
  const Deadline now = Now();
  // One report at a time: while ranks are being asked, the timer is that of their answers.
  if (report_) {
    if (now >= answers_until_) return Report();
    return SetTimer(answers_until_);
  }
  Patience patience;
  std::optional<Deadline> oldest;
  std::vector<Arrivals::Waiting> waiting;
  bool end = false;
  {
    const std::lock_guard lock(mutex_);
    patience = patience_;
    oldest = arrivals_.Oldest();
    if (!oldest) return;
    end = patience.end.count() > 0 && *oldest + patience.end <= now;
    const bool report =
        patience.report.count() > 0 && std::max(*oldest, reported_) + patience.report <= now;
    // What has waited nearly as long is part of the same report: ranks that wait for each other
    // have begun one after the other.
    if (end || report)
      waiting = arrivals_.Since(now - (end ? patience.end : patience.report * 9 / 10));
  }
  if (waiting.empty()) return SetTimerAfter(*oldest, patience);
  Ask(std::move(waiting), end);
}

void Watch::Ask(std::vector<Arrivals::Waiting> waiting, bool end) {
  report_.emplace(std::move(waiting));
  report_ends_ = end;
  answers_until_ = Now() + kAnswerTime;
  ++question_;
  for (const int rank : report_->missing()) {
    if (rank != 0) {
      Tell(rank, kAskStack, question_);
    } else if (questions_->Ask(question_)) {
      report_->OnHeard(0);
    } else {
      report_->OnMute(0);
    }
  }
  if (report_->complete()) return Report();
  SetTimer(answers_until_);
}

void Watch::OnAnswer(int from, Word word, int64_t number, const std::string& text) {
  // An answer to an earlier question is ignored: it says where the program stood then.
  if (over_ || !report_ || number != question_) return;
  if (word == kHeard) return report_->OnHeard(from);
  if (word == kMute) report_->OnMute(from);
  if (word == kStack) report_->OnAnswer(from, text);
  if (report_->complete()) Report();
}

void Watch::Report() {
  const Deadline now = Now();
  StallReport report = *std::exchange(report_, std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    // While the ranks were asked their tensors may have become ready. The report is about what
    // still waits. The same lock sets what is shown as stalled, so that a tensor that becomes ready
    // right after it is taken back.
    report.Keep(arrivals_.Since(now));
    if (!report.empty()) {
      stalled_ = report.names();
      counters_.stalled = report.Summary();
    }
  }
  if (report.empty()) return OnTimer();
  reported_ = now;
  callbacks_.print(report.Text(now));
  PublishLater();
  if (report_ends_) {
    return callbacks_.fail({Code::kDeadlineExceeded,
                            report.Sentence(now) + "; nobody waits longer than "
                                                   "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS says"});
  }
  if (report.IsDeadlock() && IsIdleSince(report.newest())) {
    return callbacks_.fail(
        {Code::kInvalidArgument,
         "ranks wait for each other in different operations, so that none can go "
         "on: " +
             report.Summary()});
  }
  OnTimer();
}

void Watch::Answer(int64_t number, const std::string& text) {
  callbacks_.post([this, number, text = text.substr(0, kMostAnswerBytes)] {
    if (rank_ == 0) return OnAnswer(0, kStack, number, text);
    Tell(0, kStack, number, text);
  });
}

}  // namespace tony::collective
