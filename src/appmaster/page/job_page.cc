// Starts the page's web server; each request first applies the events that are new since the last
// one.
#include "appmaster/page/job_page.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <variant>

#include "appmaster/page/kept_visits.h"
#include "common/lifetime.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/network/peer_user.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"

namespace tony::appmaster {
namespace {

/// A copy for a listener, which closes it; the original stays, for another page if this one cannot
/// be opened. -1 stays -1. Errno codes.
absl::StatusOr<int> CopyOf(int socket) {
  if (socket < 0) return -1;
  const int copy = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return os::ErrnoError(errno, "cannot copy the page's socket");
  return copy;
}

}  // namespace

/// Hears of news on any thread, and tells the streams on the loop; once, however much comes. Thread
/// safe.
class JobPage::Follower : public rpc::EventLog::Follower {
 public:
  explicit Follower(JobPage& page) : page_(page) {
    std::lock_guard lock(page_.parts_.events.mutex());
    page_.parts_.events.AddLocked(this);
  }
  ~Follower() override {
    std::lock_guard lock(page_.parts_.events.mutex());
    page_.parts_.events.RemoveLocked(this);
  }

  void OnChangeLocked() override {
    if (told_.exchange(true)) return;
    page_.parts_.loop.Post(heard_);
  }

 private:
  void Hear() {
    told_ = false;
    page_.api_->broadcast().OnChange();
  }

  JobPage& page_;
  std::atomic<bool> told_ = false;  ///< the loop will hear
  Lifetime lifetime_;
  const std::function<void()> heard_ = lifetime_.Guard([this] { Hear(); });
};

JobPage::JobPage(PageParts parts, PageLogs logs)
    : parts_(std::move(parts)), logs_(std::move(logs)) {}

JobPage::~JobPage() = default;

absl::StatusOr<std::unique_ptr<JobPage>> JobPage::Start(const PageParts& parts,
                                                        const std::string& address, PeerCheck peers,
                                                        PageLogs logs,
                                                        const MakeAccess& make_access) {
  auto page = std::unique_ptr<JobPage>(new JobPage(parts, std::move(logs)));
  TONY_ASSIGN_OR_RETURN(const int page_socket, CopyOf(parts.sockets.page));
  TONY_ASSIGN_OR_RETURN(
      page->server_,
      web::HttpServer::Start(
          parts.loop, address, 0, peers,
          [page = page.get()](const web::HttpRequest& request,
                              const web::HttpServer::Respond& respond) {
            page->site_->Handle(request, respond);
          },
          web::HttpServer::Limits{},
          [page = page.get()](const std::string& path) { return page->site_->Allowed(path); },
          web::HttpServer::Extras{.socket = page_socket}));
  page->access_ = make_access(page->port());
  if (page->access_->direct()) TONY_RETURN_IF_ERROR(page->StartGate(std::move(peers)));
  web::JobLogs* const all = page->logs_.all != nullptr ? page->logs_.all.get() : parts.node_logs;
  page->api_ = std::make_unique<web::Api>(web::Api::Parts{.loop = parts.loop,
                                                          .job = *page,
                                                          .logs = all,
                                                          .stacks = parts.stacks,
                                                          .direct = page->access_->direct()});
  page->site_ = std::make_unique<web::JobSite>(web::JobSite::Sources{
      *page->access_, *page->logs_.tails,
      [page = page.get()]() -> const core::ObservedJob& { return page->Job(); },
      [page = page.get()] { return page->parts_.clock.UnixMillis(); }, page->api_.get(),
      page->gate_.get(), page->CheckOfMetrics()});
  page->follower_ = std::make_unique<Follower>(*page);
  return page;
}

std::function<std::optional<web::HttpResponse>(const web::HttpRequest&)> JobPage::CheckOfMetrics() {
  if (parts_.metrics_token == nullptr || !access_->direct()) return nullptr;
  return [this](const web::HttpRequest& request) {
    // The name comes first: a page of another name in a browser must not use up the attempts.
    auto refused = web::CheckLoopbackHostAndOrigin(request, port());
    return refused ? std::move(refused) : parts_.metrics_token->Check(request);
  };
}

// The gate listens as long as the page does, because the page's policy names its port. It connects
// to the program for visitors only, and while the program listens.
absl::Status JobPage::StartGate(PeerCheck peers) {
  if (parts_.dialer == nullptr) return absl::OkStatus();
  tunnels_ = std::make_unique<ProgramTunnels>(
      parts_.loop, parts_.dialer, [this]() -> const std::optional<core::VisualizationReady>& {
        return Job().view.visualization;
      });
  TONY_ASSIGN_OR_RETURN(const int gate_socket, CopyOf(parts_.sockets.gate));
  TONY_ASSIGN_OR_RETURN(gate_,
                        web::ProgramGate::Start(
                            parts_.loop, parts_.clock, std::move(peers), *tunnels_,
                            {.job_id = parts_.job_id, .page_port = port(), .socket = gate_socket}));
  LogInfo("the job's program can be seen through a port of its own",
          {{"page", port()}, {"port", gate_->port()}});
  return absl::OkStatus();
}

const core::ObservedJob& JobPage::Job() {
  std::lock_guard lock(parts_.events.mutex());
  while (const std::shared_ptr<const v1::JobEvent> event = parts_.events.NextLocked(next_event_)) {
    next_event_ = event->sequence() + 1;
    const absl::StatusOr<core::JobEvent> known = rpc::FromProto(*event);
    if (known.ok()) {
      job_.Apply(*known);
      timeline_.Apply(*known);
      changes_.OnEvent(*known);
    }
    if (!known.ok()) LogDebug("the page leaves out an event", {{"sequence", event->sequence()}});
  }
  // Measurements are skipped until the past is there: without it the job has no runs to which they
  // could belong.
  if (parts_.events.AwaitsLocked(next_event_)) return job_;
  while (const auto measured = parts_.events.NextMeasurementLocked(measured_)) {
    measured_ = measured->position;
    const absl::StatusOr<core::JobEvent> known = rpc::FromProto(*measured->event);
    if (!known.ok()) continue;
    if (const auto* usage = std::get_if<core::TaskMeasured>(&known->body)) {
      job_.view.Measure(*usage);
      timeline_.Measure(*usage, known->unix_millis);
      changes_.OnMeasurement(usage->task);
    }
  }
  return job_;
}

void JobPage::ReadEvents(int64_t after, size_t limit, TakeEvents take) {
  web::EventPage page;
  std::unique_lock lock(parts_.events.mutex());
  int64_t next = after + 1;
  while (const std::shared_ptr<const v1::JobEvent> event = parts_.events.NextLocked(next)) {
    if (page.events.size() == limit) {
      page.next = next - 1;
      break;
    }
    next = event->sequence() + 1;
    page.events.push_back(rpc::EventToNumericJson(*event));
  }
  lock.unlock();
  take(std::move(page));
}

void LocalPageEntry::Finish(std::function<void()> done) {
  if (page_ == nullptr) return done();
  page_->Finish(std::move(done));
}

absl::Status LocalPageEntry::Open(web::CodeAccess::Kept kept) {
  const bool stays = parts_.sockets.page >= 0;
  TONY_ASSIGN_OR_RETURN(
      page_, JobPage::Start(
                 parts_, "127.0.0.1", os::LoopbackPeerCheck(), make_logs_(), [&, this](int port) {
                   web::CodeAccess::Options options{.job_id = parts_.job_id, .port = port};
                   options.kept = std::move(kept);
                   if (stays) {
                     options.on_visit = [path = kept_path_](const web::CodeAccess::Kept& visits) {
                       KeepVisits(path, visits);
                     };
                   }
                   auto access = std::make_unique<web::CodeAccess>(parts_.clock, options);
                   access_ = access.get();
                   return access;
                 }));
  return absl::OkStatus();
}

void LocalPageEntry::Resume() {
  if (parts_.sockets.page < 0) return;
  std::optional<web::CodeAccess::Kept> kept = ReadKeptVisits(kept_path_);
  if (!kept) return;
  const absl::Status opened = Open(*std::move(kept));
  if (!opened.ok()) {
    LogWarning("the job's page is not shown to its earlier visitors",
               {{"job", parts_.job_id}, {"why", opened.message()}});
  }
}

void LocalPageEntry::ServeMetrics() {
  if (parts_.metrics_token == nullptr || page_ != nullptr) return;
  const absl::Status opened = Open({});
  if (!opened.ok()) {
    LogWarning("the job's metrics cannot be read with a token",
               {{"job", parts_.job_id}, {"why", opened.message()}});
  }
}

absl::StatusOr<std::string> LocalPageEntry::Invite() {
  if (page_ == nullptr) TONY_RETURN_IF_ERROR(Open({}));
  return access_->Invite();
}

}  // namespace tony::appmaster
