// A job's alerts: turns its events into messages for webhooks.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "appmaster/alerts/alert_sender.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/alerts/alert.h"
#include "core/record/job_event.h"
#include "jobfile/configuration/configuration.h"

namespace tony::appmaster {

/// Not thread safe: owned by the event loop. Each webhook has a sender with a thread of its own, so
/// that a dead one takes no time from the others.
class Alerts {
 public:
  /// The facts of the job that all its alerts have.
  struct Job {
    std::string id;
    std::string name;
    std::string user;
    std::string framework;
    std::string backend;
    std::string page;  ///< see core::Alert
    int master_attempt = 1;
    bool started = false;  ///< an earlier ApplicationMaster has seen the start
  };
  /// Takes a sentence for the job's user.
  using Note = std::function<void(const std::string& sentence)>;

  /// Null: the configuration has no address of alerts. `loop` and `clock` must outlive the result.
  /// InvalidArgument, PermissionDenied, NotFound – the secret file is too short, not private or
  /// missing; FailedPrecondition – there is no libcurl.
  static absl::StatusOr<std::unique_ptr<Alerts>> Create(const jobfile::Configuration& configuration,
                                                        Job job, EventLoop& loop,
                                                        const Clock& clock, Note note);

  /// Takes an event that was just recorded.
  void Take(const core::JobEvent& event);
  void OnHang(const std::string& sentence);
  /// The job's end, which an earlier ApplicationMaster has recorded; whether its alert was
  /// delivered is not known.
  void RepeatEnd(const core::Verdict& verdict);
  /// Calls `done` on the loop, or from within the call, as soon as everything is delivered or given
  /// up, after kPatience at the latest.
  void Finish(std::function<void()> done);

  /// The longest time by which a receiver that does not answer delays the ApplicationMaster's exit.
  /// A receiver that fails for a moment gets two or three tries within it.
  static constexpr std::chrono::seconds kPatience{5};

 private:
  Alerts(Job job, EventLoop& loop, const Clock& clock, Note note)
      : job_(std::move(job)), loop_(loop), clock_(clock), note_(std::move(note)) {}

  core::Alert NewAlert(core::AlertEvent event) const;
  core::Alert EndOf(const core::Verdict& verdict) const;
  void Send(const core::Alert& alert);
  void OnTrouble(const std::string& sentence);
  void OnIdle();
  size_t pending() const;

  const Job job_;
  EventLoop& loop_;
  const Clock& clock_;
  const Note note_;
  std::set<std::string> wanted_;  ///< names of events
  bool slack_ = false;
  bool started_ = false;
  int epoch_ = 0;
  std::string state_;
  int number_ = 0;  ///< alerts so far
  int notes_ = 0;
  std::function<void()> done_;
  std::unique_ptr<EventLoop::Handle> deadline_;
  Lifetime lifetime_;
  std::vector<std::unique_ptr<AlertSender>> senders_;  ///< last: they report to the members above
};

}  // namespace tony::appmaster
