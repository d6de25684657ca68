// Which containers of a job have written the logs that are wanted, as its events tell.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "client/remote_logs/log_mirror.h"
#include "core/record/job_event.h"
#include "history/job_logs.h"
#include "tony/v1/application_master.pb.h"

namespace tony::client {

/// Not thread safe.
class LogOrigins {
 public:
  explicit LogOrigins(history::LogSelection selection) : selection_(std::move(selection)) {}

  /// The container that the event tells of for the first time, when its logs are wanted.
  std::optional<LogOrigin> Take(const core::JobEvent& event);

 private:
  std::optional<LogOrigin> OfMaster(int incarnation, const std::string& url);

  const history::LogSelection selection_;
  std::set<std::string> seen_;  ///< containers
};

/// Where a YARN node shows a container's logs. A plain value.
struct ContainerUrl {
  std::string server;     ///< "http://HOST:PORT"
  std::string container;  ///< its id
};

/// Of "http://HOST:PORT/node/containerlogs/CONTAINER/USER"; nothing for another URL.
std::optional<ContainerUrl> ParseContainerUrl(const std::string& url);

/// YARN's number of the ApplicationMaster in a container: 1 more than there were before, also of
/// those that have failed before they got a number from the job. Nothing: it is none of YARN's.
std::optional<int> AttemptOf(const std::string& container);

/// What is to be asked of an origin.
v1::LogWish WishFor(const LogOrigin& origin, const history::LogSelection& selection, bool follow);

}  // namespace tony::client
