// Reports are made under the mutex, so that none is under way when the destructor has returned.
// They only post to the event loop.
#include "appmaster/alerts/alert_sender.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony::appmaster {
namespace {

constexpr std::chrono::seconds kHurriedPause{1};

}  // namespace

struct AlertSender::State {
  std::string server;
  Post post;
  std::function<double()> random;
  Reports reports;
  mutable std::mutex mutex;  ///< guards what follows, and the calls of `reports`
  std::condition_variable changed;
  std::deque<AlertMessage> queue;
  bool sending = false;
  bool hurried = false;
  bool leaving = false;
  int dropped = 0;
};

AlertSender::AlertSender(std::string server, Post post, std::function<double()> random,
                         Reports reports)
    : state_(std::make_shared<State>()) {
  state_->server = std::move(server);
  state_->post = std::move(post);
  state_->random = std::move(random);
  state_->reports = std::move(reports);
  try {
    std::thread([state = state_] { Run(state); }).detach();
  } catch (const std::system_error& error) {  // the user has as many threads as they may
    state_->leaving = true;
    state_->reports.on_trouble(
        absl::StrCat("No alerts are sent to ", state_->server, ": no thread: ", error.what()));
  }
}

AlertSender::~AlertSender() {
  std::lock_guard lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_all();
}

void AlertSender::Push(AlertMessage message) {
  std::lock_guard lock(state_->mutex);
  if (state_->leaving) return;
  state_->queue.push_back(std::move(message));
  state_->changed.notify_all();
  if (state_->queue.size() <= kMostQueued) return;
  LogInfo("an alert is dropped", {{"peer", state_->server}, {"alert", state_->queue.front().id}});
  state_->queue.pop_front();
  if (++state_->dropped > 1) return;
  state_->reports.on_trouble(absl::StrCat("Alerts to ", state_->server,
                                          " are dropped, the oldest first: more than ", kMostQueued,
                                          " wait"));
}

void AlertSender::Hurry() {
  std::lock_guard lock(state_->mutex);
  state_->hurried = true;
  state_->changed.notify_all();
}

size_t AlertSender::pending() const {
  std::lock_guard lock(state_->mutex);
  return state_->queue.size() + (state_->sending ? 1 : 0);
}

void AlertSender::Run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->leaving || !state->queue.empty(); });
    if (state->leaving) return;
    const AlertMessage message = std::move(state->queue.front());
    state->queue.pop_front();
    state->sending = true;
    lock.unlock();
    Deliver(state, message);
    lock.lock();
    state->sending = false;
    if (state->leaving) return;
    if (state->queue.empty()) state->reports.on_idle();
  }
}

// One alert, until it is delivered or given up. The later ones wait, so that their order holds.
void AlertSender::Deliver(const std::shared_ptr<State>& state, const AlertMessage& message) {
  for (int tries = 1;; ++tries) {
    const core::AlertAnswer answer = state->post(message);
    std::unique_lock lock(state->mutex);
    LogDebug("an alert was sent", {{"peer", state->server},
                                   {"alert", message.id},
                                   {"try", tries},
                                   {"code", answer.code},
                                   {"why", answer.trouble}});
    if (state->leaving || answer.delivered()) return;
    const auto pause = core::NextAlertTry(tries, answer, state->random());
    if (!pause) {
      return state->reports.on_trouble(absl::StrCat("The alert \"", message.event,
                                                    "\" did not reach ", state->server, ": ",
                                                    answer.Sentence()));
    }
    const auto begin = std::chrono::steady_clock::now();
    state->changed.wait_until(lock, begin + *pause,
                              [&] { return state->leaving || state->hurried; });
    const Duration left = begin + *pause - std::chrono::steady_clock::now();
    if (!state->leaving && left > Duration::zero()) {
      state->changed.wait_for(lock, std::min<Duration>(left, kHurriedPause),
                              [&] { return state->leaving; });
    }
    if (state->leaving) return;
  }
}

}  // namespace tony::appmaster
