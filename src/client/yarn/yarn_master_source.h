// ApplicationMasters that YARN starts, found through the application's report.
#pragma once

#include <memory>
#include <string>

#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_cluster.h"
#include "client/follow/master_source.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "rpc/security/credentials.h"

namespace tony::client {

/// What it says of a job that has no verdict: Unavailable – its ApplicationMasters failed, or the
/// ResourceManager does not answer; InvalidArgument – YARN refused the application: its queue, say;
/// NotFound – YARN does not know it. Not thread safe: owned by the event loop.
///
/// YARN goes on for minutes to name an ApplicationMaster that is gone or cannot be reached. That
/// one is tried again and again, more and more seldom; another one at once.
class YarnMasterSource : public MasterSource {
 public:
  struct Options {
    std::string job_id;            ///< the application's
    rpc::Credentials credentials;  ///< of the client
    Duration exit_deadline{0};     ///< for YARN to note the end after the last word
    /// Of a job that its client does not follow; and so long the ResourceManager may be away, while
    /// there is no ApplicationMaster.
    Duration lease{0};
    Duration waiting_notice{0};  ///< before a wait for a container is told of
  };

  /// `loop`, `clock` and `cluster` outlive this.
  YarnMasterSource(EventLoop& loop, const Clock& clock, const backend::YarnCluster& cluster,
                   Options options);

  void Start(Callbacks callbacks) override;
  void OnAnswer() override;
  void OnNoAnswer() override;
  void OnConcluded() override;
  void OnStreamClosed(const absl::Status& why) override;
  void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) override;
  absl::Status ReadEvents(const history::UseEvent& use) override;
  std::string AfterLeaving() const override;

 private:
  void Look();
  void OnReport(const absl::StatusOr<backend::ApplicationReport>& report);
  void OnWaiting(const backend::ApplicationReport& report);
  void OnAway(const absl::Status& status);
  void SayLost(const std::string& why);
  void End(const backend::ApplicationReport& report);

  EventLoop& loop_;
  const Clock& clock_;
  const backend::YarnCluster& cluster_;
  const Options options_;
  backend::ApplicationWatch watch_;
  Callbacks callbacks_;
  bool concluded_ = false;
  int looks_ = 0;                              ///< since the last ApplicationMaster was lost
  std::string address_;                        ///< of the last one
  bool answered_ = false;                      ///< the last one has
  bool lost_ = false;                          ///< it was said that none can be reached
  Duration redial_pause_{0};                   ///< before the last one is tried again
  TimePoint waiting_since_;                    ///< for an ApplicationMaster
  std::optional<TimePoint> away_since_;        ///< of the ResourceManager
  std::string said_;                           ///< of the wait
  std::unique_ptr<EventLoop::Handle> redial_;  ///< not null: the last one is not tried yet
  std::unique_ptr<EventLoop::Handle> exit_notice_;
  std::unique_ptr<EventLoop::Handle> exit_deadline_;
};

}  // namespace tony::client
