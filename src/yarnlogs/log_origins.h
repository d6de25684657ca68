// Finds in a job's events the containers whose logs are wanted.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/record/job_event.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"

namespace tony::yarnlogs {

/// Remembers which containers of a job were found. Not thread safe.
class LogOrigins {
 public:
  explicit LogOrigins(history::LogSelection selection) : selection_(std::move(selection)) {}

  /// The container of the event, if its logs are wanted and no earlier event has named it.
  std::optional<history::LogOrigin> Take(const core::JobEvent& event);

 private:
  std::optional<history::LogOrigin> OfMaster(int incarnation, const std::string& url);

  const history::LogSelection selection_;
  std::set<std::string> seen_;  ///< ids of containers that were returned already
};

/// The address at which a YARN node shows a container's logs. A plain value.
struct ContainerUrl {
  std::string server;     ///< "http://HOST:PORT"
  std::string container;  ///< the container's id
};

/// Parses "http://HOST:PORT/node/containerlogs/CONTAINER/USER"; nothing for another URL.
std::optional<ContainerUrl> ParseContainerUrl(const std::string& url);

/// YARN's attempt number of the ApplicationMaster in `container`: one more than the number of
/// ApplicationMasters before it, including those that failed before they got a number from the job.
/// Nothing: the id is not YARN's.
std::optional<int> AttemptOf(const std::string& container);

}  // namespace tony::yarnlogs
