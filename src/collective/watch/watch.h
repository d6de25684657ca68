// Observes an engine: counters, the timeline, and reports about tensors that wait too long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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

/// Each thread of the engine reports here what it does. Nothing runs while nobody submits: timers
/// are set when something waits. Thread safe.
class Watch : private SubmissionWatch {
 public:
  struct Callbacks {
    /// Prints text for the user: rank 0's stall reports, and that the counters' file cannot be
    /// written. The engine prints to stderr.
    std::function<void(const std::string& text)> print;
    /// Ends everything: no rank waits any longer. Called from the links' thread of rank 0.
    std::function<void(const Status& status)> fail;
    /// Sends a message to another rank's watch: rank 0 to any rank, any other rank to rank 0.
    std::function<void(int rank, const std::string& message)> send;
    std::function<void(std::function<void()> work)> post;
    std::function<void(Deadline when, std::function<void()> work)> post_at;
  };
  /// For tensors that some ranks have submitted and others have not: time until a stall report, and
  /// until everything ends. 0: never.
  struct Patience {
    std::chrono::milliseconds report = std::chrono::seconds(60);
    std::chrono::milliseconds end{0};
  };

  Watch(int rank, int ranks, Callbacks callbacks);
  ~Watch() override;

  // Called by the engine. Submitted(), Decided() and Failed() are called under the engine's mutex.

  /// This rank has submitted the last `count` of `tensors`, for one operation. From any thread.
  void Submitted(const std::vector<TensorKey>& tensors, size_t count,
                 collective::Operation operation);
  /// This rank has sent rank 0 so many tensors by number and so many by request.
  void Said(size_t by_number, size_t by_request);
  /// A decision has come, in the links' thread. `own`: how many of its tensors are this rank's.
  void Decided(const Decision& decision, size_t own);
  /// A tensor that is not decided yet has failed: it will not be decided.
  void Failed(const TensorKey& tensor);
  /// Rank 0 has looked for ready tensors and has found some.
  void Cycle();
  /// The observer for rank 0's coordinators.
  SubmissionWatch* submissions() { return this; }
  /// A message from another rank's watch. Returns false if it is no message of a watch.
  bool OnMessage(int from, std::string_view message);
  /// The engine does nothing more, so nobody is waited for. From the links' thread.
  void Over() { over_ = true; }
  /// The engine leaves: publishes the counters once more. The last call, made while messages to
  /// other ranks can still be sent.
  void Leave();

  /// An operation, from when the data thread begins it until Done(), which may come later from
  /// another thread. The data thread begins operations one after the other, in the order of
  /// Decided().
  class Operation {
   public:
    Operation(Watch& watch, const Decision& decision, const std::vector<Tensor>& tensors);
    void Done(const Status& status);

   private:
    Watch& watch_;
    const bool is_done_;   ///< false: the decision has an error, and nothing is executed
    const size_t kind_;    ///< the collective::Operation, as an index
    int64_t tensors_ = 0;  ///< number of this rank's tensors
    int64_t bytes_ = 0;    ///< bytes of this rank's tensors
    const Deadline began_;
    std::shared_ptr<const TraceStep> step_;  ///< null: there is no timeline
  };

  // Called by the program.

  void SetPatience(Patience patience);
  /// Starts writing a timeline to `path`. FailedPrecondition – there is a timeline already; the
  /// file cannot be written.
  Status StartTimeline(const std::string& path, bool mark_cycles);
  /// Ends the timeline; all events so far are in its file. FailedPrecondition – there is no
  /// timeline; not all of it could be written.
  Status StopTimeline();
  Counters Count();
  /// Writes Counters::Text() to `path` now, then about each second while there is something new,
  /// and at the end. Internal – the file cannot be written.
  Status WriteCounters(const std::string& path);
  /// The questions that the program answers. May outlive the watch.
  std::shared_ptr<Questions> questions() { return questions_; }
  /// The program's answer to the question `number` of questions().
  void Answer(int64_t number, const std::string& text);

 private:
  /// The first byte of a message. A number (int64) and a text follow.
  enum Word : char {
    /// From rank 0: how long the others have waited for this rank, in nanoseconds.
    kWaitedFor = 'w',
    kAskClock = 'c',
    kClock = 't',     ///< from rank 0: its clock, in nanoseconds
    kAskStack = 'q',  ///< from rank 0: where does the program stand? The number is the question's
    kHeard = 'h',     ///< the program has been asked; number as in kAskStack
    kMute = 'm',      ///< nobody will answer; number as in kAskStack
    kStack = 'p',     ///< the program's answer; number as in kAskStack
  };

  void OnSubmitted(const std::string& tensor, int rank, const std::vector<int>& members) override;
  void OnReady(const std::string& tensor) override;
  void OnJoined(int rank) override;
  void OnAllJoined() override;

  std::shared_ptr<Timeline> timeline();
  void Trace(TraceEvent event);
  Counters CountAt(Deadline now);
  void Settle(size_t tensors, Deadline now);
  /// Whether no tensor has become ready since `since`, and no operation runs.
  bool IsIdleSince(Deadline since);
  void PublishLater();
  void Publish();
  void Tell(int rank, Word word, int64_t number, const std::string& text = "");
  void AskClock();
  void OnClock(int64_t there);

  // On the links' thread of rank 0:
  void SetTimer(Deadline when);
  /// Sets the timer for a tensor that waits since `since`.
  void SetTimerAfter(Deadline since, const Patience& patience);
  void OnTimer();
  void Ask(std::vector<Arrivals::Waiting> waiting, bool end);
  void OnAnswer(int from, Word word, int64_t number, const std::string& text);
  void Report();

  const int rank_;
  const int ranks_;
  const Callbacks callbacks_;
  const std::shared_ptr<Questions> questions_ = std::make_shared<Questions>();

  std::mutex starting_;  ///< held while a timeline is started or stopped; locked before mutex_
  std::atomic<bool> tracing_ = false;
  std::mutex mutex_;
  std::shared_ptr<Timeline> timeline_;
  Counters counters_;
  Arrivals arrivals_;
  Deadline last_ready_;            ///< when a tensor became ready last
  int running_ = 0;                ///< operations that have begun and are not done
  std::set<std::string> stalled_;  ///< tensors of the last report that have waited ever since
  size_t undecided_ = 0;
  Deadline undecided_since_;
  struct Queued {
    Deadline at;
    int64_t number;
  };
  std::deque<Queued> queued_;  ///< decisions that the data thread has not begun
  int64_t decisions_ = 0;
  std::string counters_path_;
  bool publishing_ = false;
  Patience patience_;

  // Owned by the links' thread:
  ClockOffset clock_;
  int64_t clock_asked_ = 0;
  bool clock_awaited_ = false;  ///< the question has no answer yet
  bool clock_stale_ = false;    ///< the awaited answer is one to an earlier timeline's question
  std::shared_ptr<Timeline> clock_for_;
  /// By rank: how long others have waited for it, as last reported.
  std::vector<std::chrono::nanoseconds> reported_waits_;
  std::optional<Deadline> timer_;
  Deadline reported_;  ///< when the last report was printed
  int64_t question_ = 0;
  Deadline answers_until_;
  std::optional<StallReport> report_;
  bool report_ends_ = false;
  bool over_ = false;
};

}  // namespace tony::collective
