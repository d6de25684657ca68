// Names the files in a job's folder, for the client, the ApplicationMaster and the verbs.
#pragma once

#include <string>
#include <vector>

#include "core/model/task_id.h"

namespace tony::storage {

/// Paths below `<tony.local.dir>/jobs/<job id>/`. Nothing is touched. Thread safe (immutable).
class JobFolder {
 public:
  explicit JobFolder(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  /// The merged configuration, each key with its origin.
  std::string job_xml() const { return root_ + "/job.xml"; }
  /// The list of files staged for the tasks (JSON of proto tony.v1.StagedFiles).
  std::string staged() const { return root_ + "/staged.json"; }
  /// The event stream, one JSON object a line (proto tony.v1.JobEvent).
  std::string events() const { return root_ + "/events.jsonl"; }
  /// The newest measurement of each running task, one line each in the form of an event's line;
  /// replaced as a whole. Removed when the job has ended: events() has what each run has used.
  std::string usage() const { return root_ + "/usage.jsonl"; }
  /// The job's metrics over its whole life (history/metric_file.h); replaced as a whole.
  std::string metrics() const { return root_ + "/metrics.bin"; }
  /// The job in a few lines, for lists of many jobs (history/job_entry.h); written at its end.
  std::string summary() const { return root_ + "/summary.json"; }
  /// The ApplicationMaster's address, "127.0.0.1:PORT"; renamed into place when it is ready.
  std::string am_address() const { return root_ + "/am.address"; }
  /// The ApplicationMaster holds this file locked (os::LockFile) as long as it lives.
  std::string am_lock() const { return root_ + "/am.lock"; }
  /// The guard. It is held locked by the process that stages the job and would start another
  /// ApplicationMaster if this one were lost, from before the folder has its name. A detached job's
  /// ApplicationMaster and its keeper inherit the lock and hold it instead. A free guard means that
  /// no other ApplicationMaster will come.
  std::string am_guard() const { return root_ + "/am.guard"; }
  /// The path of the ledger in which the job's share is recorded, if it is not the private one.
  std::string ledger() const { return root_ + "/ledger"; }
  /// Certificates and keys (mode 0700).
  std::string secrets() const { return root_ + "/secrets"; }
  /// The job's certificate authority and the client's certificate, in secrets().
  std::string authority() const { return secrets() + "/authority.pem"; }
  std::string client_credentials() const { return secrets() + "/client.pem"; }
  /// Who may see the job's page, for the next ApplicationMaster, in secrets().
  std::string page_visits() const { return secrets() + "/page-visits.json"; }
  /// Archives that executors unpack.
  std::string archives() const { return root_ + "/archives"; }
  /// Archives unpacked once for all containers of the job on this host (virtual environments).
  std::string cache() const { return root_ + "/cache"; }
  /// One working folder for each container.
  std::string containers() const { return root_ + "/containers"; }
  std::string container(const std::string& id) const { return containers() + "/" + id; }
  std::string logs() const { return root_ + "/logs"; }
  /// The ApplicationMaster's log; made before the ApplicationMaster is started.
  std::string am_log() const { return logs() + "/am.log"; }
  /// Logs of one task: executor.log, and stdout.log and stderr.log in a folder for each attempt.
  std::string task_logs(const core::TaskId& task) const { return logs() + "/" + task.ToPath(); }
  std::string checkpoints() const { return root_ + "/checkpoints"; }
  /// Files that are of no use, and must not stay, when no process of the job lives. The secrets go
  /// first: the rest may be large, and an ApplicationMaster that takes too long for it is killed.
  /// The secrets are removed only after the job's last event, so a job without secrets is over: an
  /// ApplicationMaster that finds none only removes the rest.
  std::vector<std::string> transient() const {
    return {secrets(), am_address(), usage(), containers(), archives(), cache()};
  }

 private:
  std::string root_;
};

/// `<local dir>/jobs`
inline std::string JobsFolder(const std::string& local_dir) { return local_dir + "/jobs"; }
/// The folder in which jobs for other machines are put together, each in a JobFolder, until they
/// are submitted.
inline std::string StagingFolder(const std::string& local_dir) { return local_dir + "/staging"; }
/// The local dir of a folder in JobsFolder().
inline std::string LocalDir(const JobFolder& folder) {
  const std::string jobs = folder.root().substr(0, folder.root().rfind('/'));
  return jobs.substr(0, jobs.rfind('/'));
}
/// `<local dir>/ledger`: which of this user's jobs holds what share of this machine, unless all
/// users' jobs share a ledger.
inline std::string LedgerFolder(const std::string& local_dir) { return local_dir + "/ledger"; }

}  // namespace tony::storage
