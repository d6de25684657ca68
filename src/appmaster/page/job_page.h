// The page of the running job: its server, fed from the event stream.
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
#include "web/access.h"
#include "web/code_access.h"
#include "web/http_server.h"
#include "web/job_site.h"
#include "web/log_source.h"

namespace tony::appmaster {

/// What the page needs of the ApplicationMaster; all outlive it.
struct PageParts {
  EventLoop& loop;
  const Clock& clock;
  rpc::EventLog& events;
};

/// Serves the page from construction on. Events are looked at only when somebody looks at the page.
/// Not thread safe: owned by the event loop.
class JobPage {
 public:
  /// Knows the port that is listened on, since addresses are part of what is checked.
  using MakeAccess = std::function<std::unique_ptr<web::Access>(int port)>;

  /// Listens on `address`, a number, at a free port, for whom `peers` allows. The codes of
  /// TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<JobPage>> Start(const PageParts& parts,
                                                        const std::string& address, PeerCheck peers,
                                                        std::unique_ptr<web::LogSource> logs,
                                                        const MakeAccess& make_access);

  int port() const { return server_->port(); }
  web::Access& access() { return *access_; }

 private:
  JobPage(const PageParts& parts, std::unique_ptr<web::LogSource> logs)
      : parts_(parts), logs_(std::move(logs)) {}
  /// The job with all events and measurements so far; without any while the past is read.
  const core::ObservedJob& Job();

  const PageParts parts_;
  const std::unique_ptr<web::LogSource> logs_;
  core::ObservedJob job_;
  int64_t next_event_ = 1;
  int64_t measured_ = 0;  ///< position of the last measurement that was taken in
  std::unique_ptr<web::Access> access_;
  std::unique_ptr<web::JobSite> site_;
  std::unique_ptr<web::HttpServer> server_;
};

/// How a client gets to see the page. Not thread safe: owned by the event loop.
class PageDoor {
 public:
  virtual ~PageDoor() = default;
  /// The address to visit, for one visit where a code is in it. Codes of JobPage::Start.
  virtual absl::StatusOr<std::string> Invite() = 0;
};

/// On this machine, for programs of its user, whom `tony open` gives a code. Nothing listens before
/// that.
class LocalPageDoor : public PageDoor {
 public:
  LocalPageDoor(const PageParts& parts, std::string job_id,
                std::function<std::unique_ptr<web::LogSource>()> make_logs)
      : parts_(parts), job_id_(std::move(job_id)), make_logs_(std::move(make_logs)) {}

  absl::StatusOr<std::string> Invite() override;

 private:
  const PageParts parts_;
  const std::string job_id_;
  const std::function<std::unique_ptr<web::LogSource>()> make_logs_;
  std::unique_ptr<JobPage> page_;
  web::CodeAccess* access_ = nullptr;  ///< the page's
};

}  // namespace tony::appmaster
