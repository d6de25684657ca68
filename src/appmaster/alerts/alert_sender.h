// The queue of alerts for one webhook, and the thread that delivers them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "appmaster/alerts/alert_post.h"
#include "core/alerts/alert_retry.h"

namespace tony::appmaster {

/// Sends one alert after the other, in order. Thread safe.
///
/// The thread shares its state and is never joined: a request may take ten seconds, for which
/// neither the job's end nor this object waits. The thread ends after the request under way.
class AlertSender {
 public:
  static constexpr size_t kMostQueued = 16;

  /// Delivers one alert; called by the thread.
  using Post = std::function<core::AlertAnswer(const AlertMessage&)>;
  /// Functions that the sender calls, from its thread or that of Push(). `sentence`: for the job's
  /// user, with the server's name.
  struct Reports {
    std::function<void(const std::string& sentence)> on_trouble;
    std::function<void()> on_idle;  ///< everything is delivered or given up
  };

  /// `server`: the webhook's name in sentences. `random`: numbers from 0 to 1.
  AlertSender(std::string server, Post post, std::function<double()> random, Reports reports);
  /// No report is made after this. What is queued is lost.
  ~AlertSender();
  AlertSender(const AlertSender&) = delete;
  AlertSender& operator=(const AlertSender&) = delete;

  /// Queues an alert. If too many wait, the oldest of them is dropped.
  void Push(AlertMessage message);
  /// No alert follows, and little time is left: pauses are cut to a second.
  void Hurry();
  /// Number of alerts that are neither delivered nor given up.
  size_t pending() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);
  static void Deliver(const std::shared_ptr<State>& state, const AlertMessage& message);

  const std::shared_ptr<State> state_;
};

}  // namespace tony::appmaster
