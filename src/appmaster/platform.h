// The interface to the place where an ApplicationMaster runs: a folder on this machine, or a
// cluster.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
#include "tony/v1/staging.pb.h"

namespace tony::appmaster {

/// Supplies what differs between this machine and a cluster. From Claim() on, the functions that
/// are called once are called in the order of their declaration. Not thread safe: owned by the
/// event loop.
class Platform {
 public:
  /// The facts about this ApplicationMaster that a backend needs, and the functions by which it
  /// reports other things than containers. They are called on the event loop.
  struct BackendSetup {
    std::string address;  ///< of this ApplicationMaster
    int incarnation = 1;
    /// Another ApplicationMaster runs the job; nothing may be touched from then on.
    std::function<void(const std::string& why)> deposed;
    /// The job can get no container any more, and ends.
    std::function<void(const std::string& why)> lost;
    /// A sentence for the job's user.
    std::function<void(const std::string& sentence)> note;
  };

  virtual ~Platform() = default;

  virtual std::string job_id() const = 0;
  virtual std::string user() const = 0;          ///< the user who runs the job
  virtual std::string backend_name() const = 0;  ///< "local", "yarn", "launcher"
  /// The folder with job.xml and staged.json, where the events are written.
  virtual const storage::JobFolder& folder() const = 0;
  /// The folders for what outlives a task.
  virtual TaskFolders folders() const = 0;
  /// Whether the containers' logs are to be copied into folder(), since they are gone with the
  /// containers.
  virtual bool collects_logs() const { return false; }
  /// The folder of this process's own logs, and the URL under which people find them; both empty if
  /// the logs are in folder().
  virtual std::string own_log_folder() const { return ""; }
  virtual std::string own_log_url() const { return ""; }
  /// Whether the job may run without a follower.
  virtual bool detached() const = 0;
  /// Whether an ApplicationMaster that is told to end by a signal is replaced by another one, which
  /// goes on with the job. Otherwise the job ends with it.
  virtual bool signal_means_another() const = 0;
  /// How long the job goes on while its owner, who has to follow it, is away.
  virtual Duration ClientLease(const core::Timeouts& timeouts) const = 0;
  /// How long a peer may be silent before it is pinged, and a ping be unanswered; nothing: for
  /// ever. An owner that is suspended, or behind a network that is down, ends no stream, so that
  /// without pings its lease would never begin. Without a lease it may be as silent as it likes.
  std::optional<Duration> SilenceLimit(const core::Timeouts& timeouts) const {
    if (ClientLease(timeouts) == Duration::zero()) return std::nullopt;
    return std::chrono::seconds(10);
  }
  /// The address on which the ApplicationMaster listens and at which the whole job reaches it.
  virtual std::string host() const = 0;
  /// The peers that may connect to the ApplicationMaster.
  virtual rpc::Peers peers() const = 0;
  /// Extra arguments for each executor: how to find the next ApplicationMaster.
  virtual std::vector<std::string> executor_arguments() const = 0;

  /// Whether the job may begin, if it is a step of a workflow. Aborted – another attempt of the
  /// step has given it up; the codes of storage::JobFiles.
  virtual absl::Status ClaimStep() { return absl::OkStatus(); }

  /// Makes this process the only one that runs the job. AlreadyExists – another process runs it.
  /// Cancelled – the job is over, and this call has removed what an earlier ApplicationMaster left.
  /// Otherwise errno codes.
  virtual absl::Status Claim() = 0;
  /// Opens the files that the next ApplicationMaster of the job reads. files_take_time() tells
  /// whether writing them is slow. On a cluster, the codes of backend::OpenJobFolder().
  virtual absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenFiles() = 0;
  virtual bool files_take_time() const = 0;
  /// Announces that about `executors` executors will be started soon.
  virtual void Expect(int executors) = 0;
  /// The PEM text of the job's certificate authority, with its key. NotFound – the job has none;
  /// the codes of rpc::ReadSecretFile().
  virtual absl::StatusOr<std::string> ReadAuthority() = 0;
  /// The URL under which people on other machines find the job's page; empty: there is none.
  virtual std::string public_page_url() const { return ""; }
  /// Makes the entry to the job's page. `parts` outlive the entry. The codes of JobPage::Start().
  virtual absl::StatusOr<std::unique_ptr<PageEntry>> MakePageEntry(
      const PageParts& parts, const jobfile::BuildResult& built) = 0;
  /// Replaces the paths of staged files by those under which executors find them.
  virtual void Localize(v1::StagedFiles& /*staged*/) {}
  /// The codes of os::ReadMachine(); on a
  /// cluster NotFound – the container was started without the token of an ApplicationMaster.
  virtual absl::StatusOr<std::unique_ptr<core::ClusterBackend>> MakeBackend(
      core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
      BackendSetup setup) = 0;
  /// After MakeBackend(): a container's executor has said that it ends, as its program has. A
  /// backend that sees ends by itself need not hear of it; another one reports the container's end.
  virtual void OnExecutorLeft(const std::string& /*container_id*/,
                              const core::ContainerEnd& /*end*/) {}
  /// After MakeBackend(): sentences for the job's user about how this platform runs the job.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Publishes the address, so that clients and executors find the ApplicationMaster. The codes of
  /// OpenFiles() and of storage::JobFiles::Replace().
  virtual absl::Status Publish(const std::string& address) = 0;
  /// Called when the job is over and no container is left. `done` follows, possibly from within the
  /// call.
  virtual void Conclude(const core::Verdict& verdict, std::function<void()> done) = 0;
  /// Removes what is useless once no process of the job lives. Must follow Conclude().
  virtual void CleanUp() = 0;
};

}  // namespace tony::appmaster
