// What an ApplicationMaster finds where it runs: a folder of this machine's, or a cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "appmaster/assignments.h"
#include "appmaster/page/job_page.h"
#include "common/clock.h"
#include "core/model/job_description.h"
#include "core/ports/cluster_backend.h"
#include "core/record/verdict.h"
#include "jobfile/job/build_result.h"
#include "rpc/services/connection_acceptor.h"
#include "storage/job_files.h"
#include "storage/job_folder.h"

namespace tony::appmaster {

/// Not thread safe: owned by the event loop. What is called once comes in the order of the
/// declarations from Claim() on.
class Platform {
 public:
  virtual ~Platform() = default;

  virtual std::string job_id() const = 0;
  virtual std::string user() const = 0;          ///< who runs the job
  virtual std::string backend_name() const = 0;  ///< "local", "yarn"
  /// Where job.xml and staged.json are found and the events are written.
  virtual const storage::JobFolder& folder() const = 0;
  /// Where tasks keep what outlives them.
  virtual TaskPlaces places() const = 0;
  /// This process's own logs, where they are not in folder(): the folder with them, and where
  /// people find them; empty otherwise.
  virtual std::string own_log_folder() const { return ""; }
  virtual std::string own_log_url() const { return ""; }
  /// Nobody has to follow the job.
  virtual bool detached() const = 0;
  /// Whether one that is told to end by a signal is replaced by another one, which goes on with the
  /// job; otherwise the job ends with it.
  virtual bool signal_means_another() const = 0;
  /// How long it goes on while nobody follows it who has to.
  virtual Duration ClientLease(const core::Timeouts& timeouts) const = 0;
  /// The address that the ApplicationMaster listens on, and is reached at by all of the job.
  virtual std::string host() const = 0;
  /// Who may connect to it.
  virtual rpc::Peers peers() const = 0;
  /// Of each executor, besides what all have: how to find the next ApplicationMaster.
  virtual std::vector<std::string> executor_arguments() const = 0;

  /// From here on this process alone runs the job. AlreadyExists – another one does; Cancelled –
  /// the job is over, and what an earlier ApplicationMaster did not come to remove has been; errno
  /// codes.
  virtual absl::Status Claim() = 0;
  /// What the next ApplicationMaster of the job finds, and whether it takes time to write there.
  virtual absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenFiles() = 0;
  virtual bool files_take_time() const = 0;
  /// So many executors will be started soon.
  virtual void Expect(int executors) = 0;
  /// The job's certificate authority, with its key.
  virtual absl::StatusOr<std::string> ReadAuthority() = 0;
  /// How the job's page is got to. `parts` outlive the door.
  virtual absl::StatusOr<std::unique_ptr<PageDoor>> MakePageDoor(
      const PageParts& parts, const jobfile::BuildResult& built) = 0;
  /// `address`: of this ApplicationMaster. `on_deposed`: another one runs the job now, and nothing
  /// may be touched any more.
  virtual absl::StatusOr<std::unique_ptr<core::ClusterBackend>> MakeBackend(
      core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
      const std::string& address, std::function<void(const std::string& why)> on_deposed) = 0;
  /// Clients and executors find the ApplicationMaster from here on.
  virtual absl::Status Publish(const std::string& address) = 0;
  /// The job is over, and no container is left. `done` follows, maybe from within the call.
  virtual void Conclude(const core::Verdict& verdict, std::function<void()> done) = 0;
  /// Removes what is of no use when no process of the job lives. Only after Conclude().
  virtual void CleanUp() = 0;
};

}  // namespace tony::appmaster
