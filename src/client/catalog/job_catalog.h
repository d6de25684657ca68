// Interface to the jobs of one backend, for the verbs of `tony`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/jobs/job_store.h"
#include "common/clock.h"
#include "history/job_logs.h"
#include "history/recorded_events.h"
#include "rpc/services/job_client.h"
#include "storage/job_folder.h"

namespace tony::client {

/// How a job is to be ended.
struct StopWish {
  std::string reason;
  Duration ask_limit{0};         ///< for the ApplicationMaster to note the stop
  std::chrono::seconds wait{0};  ///< for the job to have ended after that
};

/// The jobs of one backend. Not thread safe.
class JobCatalog {
 public:
  virtual ~JobCatalog() = default;

  /// All jobs, newest first. PermissionDenied, Unavailable – they cannot be read; on a cluster the
  /// codes of backend::ApplicationClient::List() and storage::JobFiles::List().
  virtual absl::StatusOr<std::vector<StoredJob>> List() = 0;
  /// One job: by its id, by a unique prefix or suffix of it, or the newest for "latest" or "".
  /// NotFound – no such job; the message names the newest ones. InvalidArgument – several such
  /// jobs; the message names them.
  virtual absl::StatusOr<StoredJob> Find(const std::string& wish) = 0;
  /// Calls `use` for each event that the job has recorded so far, in order. On a cluster the codes
  /// of storage::JobFiles.
  virtual absl::Status ReadEvents(const StoredJob& job, const history::UseEvent& use) = 0;
  /// The bytes of the job's metrics over its whole life (history/metric_file.h). NotFound – nothing
  /// was measured, or the job was run by a version without metrics. On a cluster the codes of
  /// storage::JobFiles.
  virtual absl::StatusOr<std::string> ReadMetrics(const StoredJob& job) = 0;
  /// Stacks that were kept as a text.
  struct KeptStacks {
    std::string path;
    std::string text;
  };
  /// The stacks of all tasks that were kept when the job seemed to hang. NotFound – it never did.
  /// On a cluster the codes of storage::JobFiles.
  virtual absl::StatusOr<KeptStacks> ReadStacks(const StoredJob& job) = 0;
  struct LogRequest {
    history::LogSelection selection;  ///< logs that are not selected may be missing
    bool follow = false;              ///< the logs are wanted while they still grow
    /// While the logs are followed, SIGINT, SIGTERM and SIGHUP remove their copies and end the
    /// process; false: the caller handles signals, and destroys the catalog.
    bool handles_signals = true;
    /// Takes sentences for people while the logs are followed, from any thread.
    std::function<void(const std::string& sentence)> notice;
  };
  /// A folder with what the job's tasks have written so far. `live`: new output comes into the
  /// folder, if it was asked for; otherwise nothing more is written. The folder lives as long as
  /// the catalog. Unavailable – the logs cannot be had.
  struct Logs {
    storage::JobFolder folder;
    bool live = false;
    std::string missing;  ///< which logs cannot be had, and why; empty: none is missing
    /// For a live folder that has been followed to its end. OK – it has all logs. Unavailable – it
    /// does not. Null: it has all.
    std::function<absl::Status()> result;
  };
  virtual absl::StatusOr<Logs> FindLogs(const StoredJob& job, const LogRequest& request) = 0;
  /// Asks the job to end, and waits until it has. DeadlineExceeded – it goes on; Unavailable – it
  /// cannot be asked, or went away without a verdict.
  virtual absl::Status Stop(const StoredJob& job, const StopWish& wish) = 0;
  /// Waits until one of `jobs` is over: it has ended and its ApplicationMaster is gone, or it was
  /// lost. Returns all jobs that are over, read again; none: all went on for `limit`. The codes of
  /// Find().
  virtual absl::StatusOr<std::vector<StoredJob>> AwaitEnds(const std::vector<StoredJob>& jobs,
                                                           Duration limit) = 0;
  /// Removes what is kept of a job that is over. `checkpoints`: also its checkpoints.
  /// FailedPrecondition – the job runs, has checkpoints that are to stay, or is not to be removed
  /// from here; the message says what to do. NotFound – it is gone already. Other codes: it cannot
  /// be removed, or not completely.
  virtual absl::Status Remove(const StoredJob& job, bool checkpoints) = 0;
  /// Makes a client of the job's ApplicationMaster; nothing is sent yet. Unavailable – there is
  /// none; PermissionDenied, NotFound – the credentials cannot be read.
  virtual absl::StatusOr<std::unique_ptr<rpc::JobClient>> Connect(const StoredJob& job) = 0;
};

}  // namespace tony::client
