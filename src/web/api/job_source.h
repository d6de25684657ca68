// The port through which the API sees the job itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/metrics/job_metrics.h"
#include "core/record/job_timeline.h"
#include "core/record/observed_job.h"
#include "web/api/job_changes.h"

namespace tony::web {

/// One key of the job's configuration, fit to be shown.
struct ConfigKey {
  std::string key;
  std::string value;                         ///< without secrets
  std::string origin;                        ///< "job.xml:12"
  std::optional<std::string> default_value;  ///< nothing: the key has none
  bool differs = false;                      ///< the value is not the default
  bool known = false;                        ///< it is a key of tony's
};

/// What a page has of its job besides its state. Plain data.
struct PageMeans {
  bool post = false;           ///< a POST to the job's own page would be taken
  bool stop = false;           ///< a POST that ends the job would be taken
  bool logs = true;            ///< the job's logs can be read from here
  std::string logs_note = {};  ///< why not, or what is missing; empty: nothing is to be said

  bool operator==(const PageMeans&) const = default;
};

/// An earlier run of the same job. Plain data.
struct PreviousRun {
  std::string job_id;
  int64_t ended_millis = 0;
  std::vector<ConfigKey> config;
};

/// Events in the form of events.jsonl, with 64-bit numbers as numbers.
struct EventPage {
  std::vector<std::string> events;
  std::optional<int64_t> next;  ///< the sequence of the last one, if there are more
};

/// Not thread safe: owned by the event loop.
class JobSource {
 public:
  virtual ~JobSource() = default;
  /// The job as it is now; its last_sequence is 0 while the past is being read.
  virtual const core::ObservedJob& Job() = 0;
  /// These are as new as the last Job().
  virtual const core::JobTimeline& timeline() const = 0;
  virtual const JobChanges& changes() const = 0;
  virtual const core::JobMetrics& metrics() const = 0;
  virtual int64_t UnixMillis() const = 0;
  virtual const std::vector<ConfigKey>& config() const = 0;
  using TakeEvents = std::function<void(absl::StatusOr<EventPage>)>;
  /// Reads the events behind `after`, at most `limit`. `take` is called on the loop, perhaps from
  /// within the call, and also after this object is gone: ResourceExhausted – too many are being
  /// read.
  virtual void ReadEvents(int64_t after, size_t limit, TakeEvents take) = 0;
  using Stopped = std::function<void(const absl::Status&)>;
  /// Ends the job, as `tony kill` does. `why`: a sentence for the verdict. `done` is called on the
  /// loop, perhaps from within the call, when the ApplicationMaster has noted it, and also after
  /// this object is gone. ResourceExhausted – too many are being ended; otherwise the codes of
  /// rpc::JobClient::Stop().
  virtual void Stop(const std::string& why, Stopped done) = 0;
  using TakePrevious = std::function<void(absl::StatusOr<std::optional<PreviousRun>>)>;
  /// Finds the last successful run of a job of this name; nothing if none is known here. `take` is
  /// called on the loop, perhaps from within the call: ResourceExhausted – too many are being
  /// looked for.
  virtual void FindPrevious(TakePrevious take) { take(std::nullopt); }
  /// The job is shown as its folder records it, perhaps after its end.
  virtual bool recorded() const { return false; }
  /// Whether Stop() can reach the job.
  virtual bool can_stop() const { return !recorded(); }
};

}  // namespace tony::web
