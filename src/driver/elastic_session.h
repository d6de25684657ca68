// The rounds of an elastic job: connects the list of members, the store and the workers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/rendezvous/elastic_rounds.h"
#include "core/rendezvous/worker_hosts.h"
#include "driver/options.h"
#include "driver/worker_notifier.h"
#include "os/files/folder_watcher.h"
#include "rendezvous/local_store.h"

namespace tony::driver {

/// Carries out the decisions of core::ElasticRounds:
///
///   members file ─▶ OnMembers ─┐               ┌─▶ store: begin the round, hand places out
///   GET rank_and_size ─▶ OnAsked ─▶ ElasticRounds ─▶ the plan, to the executor
///   PUT worker_addresses ─▶ OnAddress ─┘        └─▶ WorkerNotifier, to the first rank
///
/// Not thread safe: owned by the event loop.
class ElasticSession {
 public:
  struct Callbacks {
    std::function<void(const core::RendezvousPlan&)> on_round;       ///< the plan has no port yet
    std::function<void(const core::RendezvousWait& why)> on_failed;  ///< called once
    std::function<void()> on_change;  ///< what is waited for may have changed
  };

  /// All arguments must outlive the session. The codes of FolderWatcher.
  static absl::StatusOr<std::unique_ptr<ElasticSession>> Begin(EventLoop& loop, const Clock& clock,
                                                               const Options& options,
                                                               rendezvous::LocalStore& store,
                                                               Callbacks callbacks);

  /// Somebody waits for a value; see LocalStore::OnAsked.
  void OnAsked(const std::string& scope, const std::string& key);
  /// The store is about to change. Does not call the store.
  void OnChange(const core::StoreOperation& operation);
  void OnTick();
  core::RendezvousWait DescribeWait() const { return rounds_.DescribeWait(); }

 private:
  ElasticSession(EventLoop& loop, const Clock& clock, const Options& options,
                 rendezvous::LocalStore& store, std::unique_ptr<os::FolderWatcher> watcher,
                 Callbacks callbacks);
  void ReadMembers();
  void CarryOut(const core::ElasticEffects& effects);
  void BeginRound(const core::elastic::Begin& begin);
  void Notify(const core::elastic::Notify& notify);

  EventLoop& loop_;
  const Clock& clock_;
  const std::string folder_;
  const std::string host_;
  rendezvous::LocalStore& store_;
  const Callbacks callbacks_;
  core::ElasticRounds rounds_;
  std::string members_;  ///< content of the file when it was last read
  Lifetime lifetime_;
  WorkerNotifier notifier_;
  std::unique_ptr<EventLoop::Handle> notify_again_;
  std::unique_ptr<os::FolderWatcher> watcher_;
  std::unique_ptr<EventLoop::Handle> watch_;  ///< last: it uses the rest
};

}  // namespace tony::driver
