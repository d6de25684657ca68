// How an engine's work is seen: what it counts, its timeline, and tensors that wait too long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"
#include "collective/watch/arrivals.h"
#include "collective/watch/clock_offset.h"
#include "collective/watch/counters.h"
#include "collective/watch/questions.h"
#include "collective/watch/stall_report.h"
#include "collective/watch/submission_watch.h"
#include "collective/watch/timeline.h"

namespace tony::collective {

/// What an engine tells: each of its threads calls what is said of it. Nothing of it runs while
/// nobody submits: timers are set when something waits. Thread safe.
class Watch : private SubmissionWatch {
 public:
  struct Ports {
    /// What rank 0's report says; by default stderr.
    std::function<void(const std::string& text)> print;
    /// From the links' thread, at rank 0: nobody waits any longer.
    std::function<void(const Status& status)> fail;
    /// To another rank's watch: rank 0 to each, each to rank 0.
    std::function<void(int rank, const std::string& message)> send;
    std::function<void(std::function<void()> work)> post;
    std::function<void(Deadline when, std::function<void()> work)> post_at;
  };
  /// Of tensors that not all ranks submit; 0: never.
  struct Patience {
    std::chrono::milliseconds report = std::chrono::seconds(60);
    std::chrono::milliseconds end{0};
  };

  Watch(int rank, int ranks, Ports ports);
  ~Watch() override;

  // Of the engine. `Submitted`, `Decided` and `Failed` under its mutex.

  /// The last `count` of `tensors`, for one operation, from any thread.
  void Submitted(const std::vector<TensorKey>& tensors, size_t count,
                 collective::Operation operation);
  /// How rank 0 was told of tensors.
  void Said(size_t by_number, size_t by_request);
  /// From the links' thread; `own`: how many of the tensors are this rank's.
  void Decided(const Decision& decision, size_t own);
  /// It will not be decided on: an undecided one.
  void Failed(const TensorKey& tensor);
  /// At rank 0: something was ready.
  void Cycle();
  /// Whom the coordinator tells.
  SubmissionWatch* submissions() { return this; }
  /// From another rank's watch.
  /// False: this is no message of a watch.
  bool OnMessage(int from, std::string_view message);
  /// From the links' thread: nothing is done any more, so nobody is waited for.
  void Over() { over_ = true; }
  /// The last one, while others can still be told.
  void Leave();

  /// An operation that the data thread begins, one after the other; it may be done later.
  class Operation {
   public:
    Operation(Watch& watch, const Decision& decision, const std::vector<Tensor>& tensors);
    void Done(const Status& status);

   private:
    Watch& watch_;
    const bool is_done_;   ///< with an error nothing is
    const size_t kind_;    ///< a collective::Operation
    int64_t tensors_ = 0;  ///< of this rank
    int64_t bytes_ = 0;    ///< of theirs
    const Deadline began_;
    std::shared_ptr<const TraceStep> step_;  ///< null: nobody traces
  };

  // Of the program.

  void SetPatience(Patience patience);
  /// FailedPrecondition: there is one already; the file cannot be written.
  Status StartTimeline(const std::string& path, bool mark_cycles);
  /// FailedPrecondition: there is none; not all could be written.
  Status StopTimeline();
  Counters Count();
  /// From now on `path` has Counters::Text(), about each second while there is something new, and
  /// at the end. Internal: it cannot be written.
  Status WriteCounters(const std::string& path);
  /// Outlives the watch.
  std::shared_ptr<Questions> questions() { return questions_; }
  /// `number`: of the question.
  void Answer(int64_t number, const std::string& text);

 private:
  /// How a message begins. Then come a number, int64, and a text.
  enum Word : char {
    kWaitedFor = 'w',  ///< rank 0: others have waited for you, nanoseconds
    kAskClock = 'c',
    kClock = 't',     ///< what it says at rank 0
    kAskPlace = 'q',  ///< where do you stand; the question's number, here as below
    kHeard = 'h',     ///< the program is asked
    kMute = 'm',      ///< nobody will answer
    kPlace = 'p',     ///< and the answer
  };

  void OnSubmitted(const std::string& tensor, int rank, const std::vector<int>& members) override;
  void OnReady(const std::string& tensor) override;
  void OnJoined(int rank) override;
  void OnAllJoined() override;

  std::shared_ptr<Timeline> timeline();
  void Trace(TraceEvent event);
  Counters CountAt(Deadline now);
  void Settle(size_t tensors, Deadline now);
  void PublishLater();
  void Publish();
  void Tell(int rank, Word word, int64_t number, const std::string& text = "");
  void AskClock();
  void OnClock(int64_t there);

  // Of the links' thread at rank 0:
  void SetTimer(Deadline when);
  /// For what waits since `since`.
  void SetTimerAfter(Deadline since, const Patience& patience);
  void OnTimer();
  void Ask(std::vector<Arrivals::Waiting> waiting, bool end);
  void OnAnswer(int from, Word word, int64_t number, const std::string& text);
  void Report();

  const int rank_;
  const int ranks_;
  const Ports ports_;
  const std::shared_ptr<Questions> questions_ = std::make_shared<Questions>();

  std::mutex starting_;  ///< a timeline or stopping it; taken before the other mutex
  std::atomic<bool> tracing_ = false;
  std::mutex mutex_;
  std::shared_ptr<Timeline> timeline_;
  Counters counters_;
  Arrivals arrivals_;
  size_t undecided_ = 0;
  Deadline undecided_since_;
  struct Queued {
    Deadline at;
    int64_t number;
  };
  std::deque<Queued> queued_;  ///< decisions that wait for the data thread
  int64_t decisions_ = 0;
  std::string counters_path_;
  bool publishing_ = false;
  Patience patience_;

  // Of the links' thread:
  ClockOffset clock_;
  int64_t clock_asked_ = 0;
  std::shared_ptr<Timeline> clock_for_;
  std::vector<std::chrono::nanoseconds> told_;  ///< to each rank: how long it was waited for
  std::optional<Deadline> timer_;
  Deadline reported_;  ///< the last report
  int64_t question_ = 0;
  Deadline answers_until_;
  std::optional<StallReport> report_;
  bool report_ends_ = false;
  bool over_ = false;
};

}  // namespace tony::collective
