// How the job's tasks are fed: carries the feeds' leases between executors and the core.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/feed/feed_table.h"
#include "core/feed/job_feeds.h"
#include "core/job/job_machine.h"
#include "rpc/services/executor_service.h"

namespace tony::appmaster {

/// Exists only in a job with tony.feed.enabled. Not thread safe: owned by the event loop.
class Feeds {
 public:
  /// All references must outlive this. The secrets are what clients get.
  struct Parts {
    EventLoop& loop;
    const Clock& clock;
    const core::JobMachine& machine;
    rpc::ExecutorService& executors;
    std::string token;
    std::string authority;  ///< PEM, see core::JobFeeds
  };

  /// `restarted`: an earlier ApplicationMaster of the job may have granted leases, which the
  /// endpoints of the bound tasks still hold.
  Feeds(Parts parts, bool restarted);

  void Take(const std::string& container, const core::FeedReport& report);
  /// The job's machine may have given up containers: what they hold is given back.
  void OnStep();
  core::JobFeeds Describe() const;
  /// The codes of core::FeedTable::End().
  absl::Status End(const std::string& feed);

 private:
  void CarryOut(const core::FeedTable::Effects& effects);
  void AwaitDeadline();

  const Parts parts_;
  core::FeedTable table_;
  int64_t unbound_ = 0;  ///< see core::TaskTable::unbound()
  std::unique_ptr<EventLoop::Handle> deadline_;
};

}  // namespace tony::appmaster
