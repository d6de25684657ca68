// The driver of a Horovod job: assigns the ranks, runs the rendezvous, and reports who is waited
// for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "driver/elastic_session.h"
#include "driver/options.h"
#include "driver/replica_acceptor.h"
#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"

namespace tony::driver {

/// Reports to its executor through files that are replaced whole (core/rendezvous/plan_text.h): the
/// plan once its servers listen, then the tasks that processes wait for, and a regular beat as its
/// sign of life. Not thread safe: owned by the event loop.
class Driver {
 public:
  /// Called if the rendezvous was not complete in time; `sentence` names the missing tasks.
  using OnFailed = std::function<void(const std::string& sentence)>;

  /// `loop` and `clock` must outlive the driver. InvalidArgument – there is no plan for the hosts;
  /// Unavailable – a port cannot be listened on; errno codes of the output folder.
  static absl::StatusOr<std::unique_ptr<Driver>> Start(EventLoop& loop, const Clock& clock,
                                                       const Options& options, OnFailed on_failed);

 private:
  Driver(EventLoop& loop, const Clock& clock, const Options& options, OnFailed on_failed);
  absl::Status Begin();
  absl::Status BeginElastic();
  absl::Status WritePlan(const core::RendezvousPlan& plan);
  void Fail(const core::RendezvousWait& why);
  /// Called when a value was put or removed.
  void OnChange();
  void CheckWaits();
  void ReportWait(const core::RendezvousWait& wait);
  void Beat();

  EventLoop& loop_;
  const Clock& clock_;
  const Options options_;
  const OnFailed on_failed_;
  std::vector<std::string> tasks_;  ///< tasks of the current round, by rank
  rendezvous::LocalStore store_;
  std::unique_ptr<EventLoop::Handle> watch_;
  std::unique_ptr<rendezvous::RendezvousServer> server_;
  std::unique_ptr<ReplicaAcceptor> replica_acceptor_;
  std::unique_ptr<ElasticSession> elastic_;  ///< of an elastic job; otherwise null
  std::unique_ptr<EventLoop::Handle> check_;
  std::unique_ptr<EventLoop::Handle> beat_;
  std::optional<TimePoint> waiting_since_;
  core::RendezvousWait reported_wait_;
  bool failed_ = false;
  std::optional<TimePoint> reported_at_;
};

}  // namespace tony::driver
