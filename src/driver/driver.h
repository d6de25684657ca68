// The driver of a Horovod job: gives the ranks, runs the rendezvous, and says who is waited for.
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
#include "driver/replica_door.h"
#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"

namespace tony::driver {

/// What it tells its executor it writes into files, which are replaced whole (core/rendezvous/
/// plan_text.h): the plan when its servers listen, then for whom processes wait; and that it lives.
/// Not thread safe: owned by the event loop.
class Driver {
 public:
  /// The rendezvous was not complete in time: who is missing.
  using OnFailed = std::function<void(const std::string& sentence)>;

  /// `loop` and `clock` outlive it. InvalidArgument – there is no plan for the hosts; Unavailable –
  /// a port cannot be listened on; errno codes of the output folder.
  static absl::StatusOr<std::unique_ptr<Driver>> Start(EventLoop& loop, const Clock& clock,
                                                       const Options& options, OnFailed on_failed);

 private:
  Driver(EventLoop& loop, const Clock& clock, const Options& options, OnFailed on_failed);
  absl::Status Begin();
  absl::Status BeginElastic();
  absl::Status WritePlan(const core::RendezvousPlan& plan);
  void Fail(const core::RendezvousWait& why);
  /// A value has come or gone.
  void OnChange();
  void LookWhoWaits();
  void Say(const core::RendezvousWait& wait);
  void Beat();

  EventLoop& loop_;
  const Clock& clock_;
  const Options options_;
  const OnFailed on_failed_;
  std::vector<std::string> tasks_;  ///< by rank, of this round
  rendezvous::LocalStore store_;
  std::unique_ptr<EventLoop::Handle> watch_;
  std::unique_ptr<rendezvous::RendezvousServer> server_;
  std::unique_ptr<ReplicaDoor> door_;
  std::unique_ptr<ElasticSession> elastic_;  ///< of an elastic job
  std::unique_ptr<EventLoop::Handle> look_;
  std::unique_ptr<EventLoop::Handle> beat_;
  std::optional<TimePoint> waiting_since_;
  core::RendezvousWait said_;
  bool failed_ = false;
  std::optional<TimePoint> said_at_;
};

}  // namespace tony::driver
