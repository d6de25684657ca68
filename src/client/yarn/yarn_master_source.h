// Finds the ApplicationMasters that YARN starts, through the application's report.
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

/// Status of a job without a verdict: Unavailable – its ApplicationMasters failed, or the
/// ResourceManager does not answer; InvalidArgument – YARN refused the application (its queue, for
/// example); NotFound – YARN does not know it. Not thread safe: owned by the event loop.
///
/// YARN's report names an ApplicationMaster for minutes after it is gone or unreachable. The same
/// address is therefore tried again with exponential backoff; a new address is tried at once.
class YarnMasterSource : public MasterSource {
 public:
  struct Options {
    std::string job_id;            ///< the application's id
    rpc::Credentials credentials;  ///< the client's credentials
    Duration exit_deadline{0};     ///< how long YARN may take to note the end after the job's last
                                   ///< event
    /// How long the job goes on without a client. While there is no ApplicationMaster, the
    /// ResourceManager may be away for the same time.
    Duration lease{0};
    Duration waiting_notice{0};  ///< how long a wait for a container lasts before it is told
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
  void LookUp();
  void OnReport(const absl::StatusOr<backend::ApplicationReport>& report);
  void OnWaiting(const backend::ApplicationReport& report);
  void OnAway(const absl::Status& status);
  void ReportLost(const std::string& why);
  void End(const backend::ApplicationReport& report);

  EventLoop& loop_;
  const Clock& clock_;
  const backend::YarnCluster& cluster_;
  const Options options_;
  backend::ApplicationWatch watch_;
  Callbacks callbacks_;
  bool concluded_ = false;
  int looks_ = 0;             ///< reports since the last ApplicationMaster was lost
  std::string address_;       ///< address of the last ApplicationMaster
  bool answered_ = false;     ///< the last ApplicationMaster has answered
  bool lost_ = false;         ///< the user was told that the ApplicationMaster cannot be reached
  Duration redial_pause_{0};  ///< backoff before the last ApplicationMaster is tried again
  TimePoint waiting_since_;   ///< since when an ApplicationMaster is awaited
  std::optional<TimePoint> away_since_;        ///< since when the ResourceManager has not answered
  std::string last_notice_;                    ///< last sentence about the wait
  std::unique_ptr<EventLoop::Handle> redial_;  ///< not null: the last ApplicationMaster is not to
                                               ///< be tried yet
  std::unique_ptr<EventLoop::Handle> exit_notice_;
  std::unique_ptr<EventLoop::Handle> exit_deadline_;
};

}  // namespace tony::client
