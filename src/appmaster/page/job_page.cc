// Starts the page's web server; each request first applies the events that are new since the last
// one.
#include "appmaster/page/job_page.h"

#include <utility>
#include <variant>

#include "common/logging.h"
#include "common/status_macros.h"
#include "os/network/peer_user.h"
#include "rpc/convert/convert.h"

namespace tony::appmaster {

absl::StatusOr<std::unique_ptr<JobPage>> JobPage::Start(const PageParts& parts,
                                                        const std::string& address, PeerCheck peers,
                                                        std::unique_ptr<web::LogSource> logs,
                                                        const MakeAccess& make_access) {
  auto page = std::unique_ptr<JobPage>(new JobPage(parts, std::move(logs)));
  TONY_ASSIGN_OR_RETURN(page->server_,
                        web::HttpServer::Start(
                            parts.loop, address, 0, std::move(peers),
                            [page = page.get()](const web::HttpRequest& request,
                                                const web::HttpServer::Respond& respond) {
                              page->site_->Handle(request, respond);
                            },
                            web::HttpServer::Limits{}));
  page->access_ = make_access(page->port());
  page->site_ = std::make_unique<web::JobSite>(web::JobSite::Sources{
      *page->access_, *page->logs_,
      [page = page.get()]() -> const core::ObservedJob& { return page->Job(); },
      [page = page.get()] { return page->parts_.clock.UnixMillis(); }});
  return page;
}

const core::ObservedJob& JobPage::Job() {
  std::lock_guard lock(parts_.events.mutex());
  while (const std::shared_ptr<const v1::JobEvent> event = parts_.events.NextLocked(next_event_)) {
    next_event_ = event->sequence() + 1;
    const absl::StatusOr<core::JobEvent> known = rpc::FromProto(*event);
    if (known.ok()) job_.Apply(*known);
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
    }
  }
  return job_;
}

absl::StatusOr<std::string> LocalPageEntry::Invite() {
  if (page_ == nullptr) {
    TONY_ASSIGN_OR_RETURN(
        page_, JobPage::Start(
                   parts_, "127.0.0.1", os::LoopbackPeerCheck(), make_logs_(), [this](int port) {
                     auto access = std::make_unique<web::CodeAccess>(
                         parts_.clock, web::CodeAccess::Options{.job_id = job_id_, .port = port});
                     access_ = access.get();
                     return access;
                   }));
  }
  return access_->Invite();
}

}  // namespace tony::appmaster
