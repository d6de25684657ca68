// The web page of the running job: its server, fed from the event log.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "appmaster/page/program_tunnels.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "core/metrics/job_metrics.h"
#include "core/record/job_timeline.h"
#include "core/record/observed_job.h"
#include "rpc/services/event_log.h"
#include "web/access/access.h"
#include "web/access/code_access.h"
#include "web/access/metrics_token.h"
#include "web/api/api.h"
#include "web/gate/program_gate.h"
#include "web/http/http_server.h"
#include "web/job_site.h"
#include "web/log_source.h"

namespace tony::appmaster {

/// Sockets of 127.0.0.1 that are bound already, and stay so when this process is lost; see
/// os::BindLoopbackSocket(). Plain data.
struct PageSockets {
  int page = -1;  ///< -1: any free port
  int gate = -1;
};

/// The parts of the ApplicationMaster that the page uses; all must outlive it.
struct PageParts {
  EventLoop& loop;
  const Clock& clock;
  rpc::EventLog& events;
  const core::JobMetrics& metrics;
  std::vector<web::ConfigKey> config = {};
  std::function<void(const std::string& why)> stop =
      nullptr;  ///< ends the job, as `tony kill` does
  web::JobStacks* stacks = nullptr;
  web::JobLogs* node_logs = nullptr;  ///< for logs that lie on other machines
  /// Opens tunnels to the job's tasks as a client does; null: the page leads to no program.
  ProgramTunnels::Dialer dialer = nullptr;
  std::string job_id = "";
  /// Finds the last successful run of the job; null: none can be found.
  std::function<void(web::JobSource::TakePrevious take)> previous = nullptr;
  PageSockets sockets = {};  ///< used by a page that listens on 127.0.0.1
  /// The file with the token for the metrics of a page that listens on 127.0.0.1; empty: none.
  std::string metrics_token_file = "";
  std::shared_ptr<web::MetricsToken> metrics_token = nullptr;  ///< read from it; null: none
};

/// The logs that a page shows. Plain data.
struct PageLogs {
  std::unique_ptr<web::LogSource> tails;
  std::unique_ptr<web::JobLogs> all;  ///< null: those of PageParts::node_logs
};

/// Serves the page and the API from construction on. Events are read only when somebody asks for
/// them. Not thread safe: owned by the event loop.
class JobPage : public web::JobSource {
 public:
  /// Makes the access check once the port is known, because the check includes the page's address.
  using MakeAccess = std::function<std::unique_ptr<web::Access>(int port)>;

  /// Listens on a free port of the numeric address `address`, or with the page's socket, and
  /// accepts connections that `peers` allows. A page that browsers reach directly has a ProgramGate
  /// on another port, for the same peers. The codes of TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<JobPage>> Start(const PageParts& parts,
                                                        const std::string& address, PeerCheck peers,
                                                        PageLogs logs,
                                                        const MakeAccess& make_access);
  ~JobPage() override;

  int port() const { return server_->port(); }
  web::Access& access() { return *access_; }
  /// Tells all streams that the job is over; `done` is called when they have heard it, possibly
  /// from within the call.
  void Finish(std::function<void()> done) { api_->broadcast().Finish(std::move(done)); }

  /// The job with all events and measurements so far; without measurements until the past has been
  /// read.
  const core::ObservedJob& Job() override;
  const core::JobTimeline& timeline() const override { return timeline_; }
  const web::JobChanges& changes() const override { return changes_; }
  int64_t UnixMillis() const override { return parts_.clock.UnixMillis(); }
  const core::JobMetrics& metrics() const override { return parts_.metrics; }
  const std::vector<web::ConfigKey>& config() const override { return parts_.config; }
  void ReadEvents(int64_t after, size_t limit, TakeEvents take) override;
  void Stop(const std::string& why, Stopped done) override {
    parts_.stop(why);
    done(absl::OkStatus());
  }
  void FindPrevious(TakePrevious take) override {
    if (parts_.previous == nullptr) return take(std::nullopt);
    parts_.previous(std::move(take));
  }

 private:
  class Follower;

  JobPage(PageParts parts, PageLogs logs);
  absl::Status StartGate(PeerCheck peers);
  /// For web::JobSite::Sources; null: the page has no token.
  std::function<std::optional<web::HttpResponse>(const web::HttpRequest&)> CheckOfMetrics();

  const PageParts parts_;
  const PageLogs logs_;
  core::ObservedJob job_;
  core::JobTimeline timeline_;
  web::JobChanges changes_;
  int64_t next_event_ = 1;
  int64_t measured_ = 0;  ///< position of the newest measurement that was applied
  std::unique_ptr<web::Access> access_;
  std::unique_ptr<ProgramTunnels> tunnels_;
  std::unique_ptr<web::ProgramGate> gate_;  ///< null: there is none
  std::unique_ptr<web::Api> api_;
  std::unique_ptr<web::JobSite> site_;
  std::unique_ptr<web::HttpServer> server_;
  std::unique_ptr<Follower> follower_;
};

/// Gives a client access to the page. Not thread safe: owned by the event loop.
class PageEntry {
 public:
  virtual ~PageEntry() = default;
  /// The URL to visit; a URL that contains a code is good for one visit. Codes of JobPage::Start.
  virtual absl::StatusOr<std::string> Invite() = 0;
  /// JobPage::Finish(), if there is a page.
  virtual void Finish(std::function<void()> done) = 0;
};

/// Access from this machine, for programs of this user: `tony open` hands out a code. The page does
/// not listen before the first Invite(), Resume() or ServeMetrics(). Not thread safe: owned by the
/// event loop.
class LocalPageEntry : public PageEntry {
 public:
  /// `kept_path`: the file in which visits are kept for the next ApplicationMaster of the job.
  LocalPageEntry(const PageParts& parts, std::string kept_path, std::function<PageLogs()> make_logs)
      : parts_(parts), kept_path_(std::move(kept_path)), make_logs_(std::move(make_logs)) {}

  /// Shows the page to the visitors of an ApplicationMaster that was lost, if it had any. Their
  /// cookies are accepted only at the port at which they were given out, which nobody else had
  /// meanwhile.
  void Resume();
  /// Listens from now on if there is a metrics token: a program that reads them does not call
  /// Invite().
  void ServeMetrics();
  absl::StatusOr<std::string> Invite() override;
  void Finish(std::function<void()> done) override;

 private:
  absl::Status Open(web::CodeAccess::Kept kept);

  const PageParts parts_;
  const std::string kept_path_;
  const std::function<PageLogs()> make_logs_;
  std::unique_ptr<JobPage> page_;
  web::CodeAccess* access_ = nullptr;  ///< owned by the page
};

}  // namespace tony::appmaster
