// The web page of the running job: its server, fed from the event log.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "core/record/observed_job.h"
#include "rpc/services/event_log.h"
#include "web/access/access.h"
#include "web/access/code_access.h"
#include "web/http/http_server.h"
#include "web/job_site.h"
#include "web/log_source.h"

namespace tony::appmaster {

/// The parts of the ApplicationMaster that the page uses; all must outlive it.
struct PageParts {
  EventLoop& loop;
  const Clock& clock;
  rpc::EventLog& events;
};

/// Serves the page from construction on. The page reads events only when somebody requests it. Not
/// thread safe: owned by the event loop.
class JobPage {
 public:
  /// Makes the access check once the port is known, because the check includes the page's address.
  using MakeAccess = std::function<std::unique_ptr<web::Access>(int port)>;

  /// Listens on a free port of the numeric address `address` and accepts connections that `peers`
  /// allows. The codes of TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<JobPage>> Start(const PageParts& parts,
                                                        const std::string& address, PeerCheck peers,
                                                        std::unique_ptr<web::LogSource> logs,
                                                        const MakeAccess& make_access);

  int port() const { return server_->port(); }
  web::Access& access() { return *access_; }

 private:
  JobPage(const PageParts& parts, std::unique_ptr<web::LogSource> logs)
      : parts_(parts), logs_(std::move(logs)) {}
  /// The job with all events and measurements so far; without measurements until the past has been
  /// read.
  const core::ObservedJob& Job();

  const PageParts parts_;
  const std::unique_ptr<web::LogSource> logs_;
  core::ObservedJob job_;
  int64_t next_event_ = 1;
  int64_t measured_ = 0;  ///< position of the newest measurement that was applied
  std::unique_ptr<web::Access> access_;
  std::unique_ptr<web::JobSite> site_;
  std::unique_ptr<web::HttpServer> server_;
};

/// Gives a client access to the page. Not thread safe: owned by the event loop.
class PageEntry {
 public:
  virtual ~PageEntry() = default;
  /// The URL to visit; a URL that contains a code is good for one visit. Codes of JobPage::Start.
  virtual absl::StatusOr<std::string> Invite() = 0;
};

/// Access from this machine, for programs of this user: `tony open` hands out a code. The page does
/// not listen before the first Invite(). Not thread safe: owned by the event loop.
class LocalPageEntry : public PageEntry {
 public:
  LocalPageEntry(const PageParts& parts, std::string job_id,
                 std::function<std::unique_ptr<web::LogSource>()> make_logs)
      : parts_(parts), job_id_(std::move(job_id)), make_logs_(std::move(make_logs)) {}

  absl::StatusOr<std::string> Invite() override;

 private:
  const PageParts parts_;
  const std::string job_id_;
  const std::function<std::unique_ptr<web::LogSource>()> make_logs_;
  std::unique_ptr<JobPage> page_;
  web::CodeAccess* access_ = nullptr;  ///< owned by the page
};

}  // namespace tony::appmaster
