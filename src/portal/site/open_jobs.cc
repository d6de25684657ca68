// A job's page is the one of the ApplicationMaster, over the job's folder: the same site, the same
// API. The one change is the end of a job that runs on this machine, for visitors who may.
#include "portal/site/open_jobs.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/folder_trust.h"
#include "pagedata/folder_job_logs.h"
#include "pagedata/folder_logs.h"
#include "pagedata/kept_stacks.h"
#include "pagedata/previous_run.h"
#include "pagedata/recorded_job_source.h"
#include "portal/index/job_place.h"
#include "portal/site/job_log_copy.h"
#include "web/api/api.h"
#include "web/job_site.h"

namespace tony::portal {
namespace {

using pagedata::RecordedJobSource;

/// The place that Prometheus asks for, in a job's API.
constexpr char kPrometheus[] = "metrics";

/// The portal has checked who asks; this remembers it while a request is answered. Not thread safe:
/// owned by the event loop.
class RecordAccess : public web::Access {
 public:
  RecordAccess(std::string base, std::string job_id)
      : base_(std::move(base)), job_id_(std::move(job_id)) {}

  /// The sender of the request that follows.
  void Admit(const Visitor& visitor) { visitor_ = visitor; }

  std::string base_path() const override { return base_; }
  std::optional<web::HttpResponse> Check(const web::HttpRequest& /*request*/) override {
    return std::nullopt;
  }
  bool direct() const override { return true; }
  bool may_change() const override { return visitor_.role == Role::kControl; }
  std::string visitor() const override { return visitor_.name; }
  std::optional<web::HttpResponse> CheckChange(const web::HttpRequest& request) override;

 private:
  /// Says `why`, here and in the log.
  web::HttpResponse Refuse(const web::HttpRequest& request, const std::string& why);

  const std::string base_;
  const std::string job_id_;
  Visitor visitor_;
  LogLimit refused_log_;
};

// PortalAccess::Check() has compared the origin with the portal's own, if there is one.
std::optional<web::HttpResponse> RecordAccess::CheckChange(const web::HttpRequest& request) {
  if (!may_change()) return Refuse(request, "Your role in this portal is view: it changes nothing");
  if (web::IsFromOwnPage(request)) return std::nullopt;
  return Refuse(request,
                "Only the portal's own page may change something: a request needs its Origin and "
                "Sec-Fetch-Site: same-origin");
}

web::HttpResponse RecordAccess::Refuse(const web::HttpRequest& request, const std::string& why) {
  refused_log_.Log(
      LogLevel::kWarning, "a change is refused in the portal",
      {{"job", job_id_}, {"user", visitor_.name}, {"peer", request.peer_address}, {"why", why}});
  const std::string command = absl::StrCat("tony kill ", job_id_);
  return web::ProblemResponse(403, absl::StrCat(why, ". In a terminal: ", command), command);
}

web::HttpResponse CannotShow(const JobKey& key, const absl::Status& why) {
  const std::string message(why.message());
  switch (why.code()) {
    case absl::StatusCode::kNotFound:
      return web::ErrorResponse(404, absl::StrCat("There is no job ", key.second,
                                                  " (any more); it may have been removed."));
    case absl::StatusCode::kFailedPrecondition:
      return web::ErrorResponse(
          404, absl::StrCat("The history of job ", key.second, " cannot be shown: ", message, "."));
    default:
      return web::ErrorResponse(
          503, absl::StrCat("Job ", key.second, " cannot be shown now: ", message, "."));
  }
}

}  // namespace

/// One job and its site. Not thread safe: owned by the event loop.
class OpenJobs::OpenJob {
 public:
  /// `event_worker` reads pages of events; `stopper` ends the job; `copies` copies its logs.
  OpenJob(EventLoop& loop, const Clock& clock, JobKey key, std::string base,
          std::unique_ptr<RecordedJobSource> source, Worker& event_worker, JobStopper& stopper,
          LogCopies& copies)
      : key_(std::move(key)),
        clock_(clock),
        access_(std::move(base), key_.second),
        source_(std::move(source)),
        tails_(source_->stored().folder),
        logs_(loop, clock, source_->stored().folder),
        log_copy_(CopyOf(copies)),
        kept_stacks_(loop, source_->stored().folder),
        api_({.loop = loop,
              .job = *source_,
              .logs = &logs_,
              .logs_state = [this] { return StateOfLogs(); },
              .kept_stacks = &kept_stacks_}),
        site_({access_, tails_, [this]() -> const core::ObservedJob& { return source_->Job(); },
               [&clock] { return clock.UnixMillis(); }, &api_}),
        previous_(loop, WishOf(*source_)),
        metrics_read_(clock.Now()),
        settled_(!source_->alive()) {
    source_->set_event_worker(&event_worker);
    source_->set_find_previous(
        [this](web::JobSource::TakePrevious take) { previous_.Find(std::move(take)); });
    if (JobStopper::CanReach(source_->stored().folder)) {
      source_->set_stop([this, &stopper](const std::string& why, web::JobSource::Stopped done) {
        StopJob(stopper, why, std::move(done));
      });
    }
    Use();
  }

  const JobKey& key() const { return key_; }
  void Use() { used_ = clock_.Now(); }
  bool has_readers() { return api_.broadcast().has_readers(); }
  bool idle() { return !has_readers() && clock_.Now() - used_ >= kIdle; }

  void Handle(const Visitor& visitor, const web::HttpRequest& request, const std::string& place,
              bool api, const web::HttpServer::Respond& respond) {
    access_.Admit(visitor);
    if (place != kPrometheus) looked_at_ = clock_.Now();
    if (log_copy_ && (!api || AsksForLogs(place))) log_copy_->Want();
    if (!api) return site_.Handle(request, respond);
    api_.Handle(
        request, place,
        {[&] { return access_.CheckChange(request); }, access_.may_change(), access_.visitor()},
        respond);
  }

  /// Reads on in a living job. The metrics are read once more after its end, since its
  /// ApplicationMaster writes them last.
  void Refresh(Worker& worker) {
    if (log_copy_) log_copy_->Tick();
    if (settled_) return;
    if (source_->Refresh()) api_.broadcast().OnChange();
    const bool watched = has_readers() || clock_.Now() - looked_at_ < kIdle;
    if (clock_.Now() - metrics_read_ < (watched ? kMetricsPause : kUnwatchedPause)) return;
    metrics_read_ = clock_.Now();
    settled_ = !source_->alive();
    using Metrics = std::optional<core::JobMetrics>;
    worker.Run<Metrics>(
        nullptr,
        [folder = source_->stored().folder](const Worker::Stop&) -> absl::StatusOr<Metrics> {
          return pagedata::ReadMetrics(folder);
        },
        lifetime_.Guard([this](absl::StatusOr<Metrics> metrics) {
          if (metrics.ok() && *metrics) source_->SetMetrics(**std::move(metrics));
          if (!metrics.ok()) settled_ = false;  // the thread had too much to do
        }));
  }

 private:
  /// Within a request, whose sender is known. The answer may come after this object is gone.
  void StopJob(JobStopper& stopper, const std::string& why, web::JobSource::Stopped done) {
    const std::string id = key_.second, user = access_.visitor();
    LogInfo("a job is told to end from the portal", {{"job", id}, {"user", user}, {"why", why}});
    stopper.Stop(source_->stored().folder, why,
                 [id, user, done = std::move(done)](const absl::Status& noted) {
                   LogInfo(noted.ok() ? "a job has noted that it is to end"
                                      : "a job could not be told to end",
                           {{"job", id}, {"user", user}, {"status", noted.ToString()}});
                   done(noted);
                 });
  }

  /// Nothing for a job of this machine.
  std::unique_ptr<JobLogCopy> CopyOf(LogCopies& copies) const {
    if (!copies.CanCopy(key_.first)) return nullptr;
    return std::make_unique<JobLogCopy>(copies, clock_, key_, source_->stored().folder);
  }

  /// A copy of a cluster's job of which no cluster is known has no logs.
  web::LogsState StateOfLogs() const {
    if (log_copy_) return log_copy_->state();
    std::error_code ignored;
    return {.here = std::filesystem::is_directory(source_->stored().folder.logs(), ignored),
            .note = ""};
  }

  /// Whether a path of the API leads to what the job's tasks have printed. A program that asks for
  /// other things of many jobs has nothing copied; everything below a job's page is asked for by
  /// somebody who looks at it.
  bool AsksForLogs(const std::string& place) const {
    const std::string job = absl::StrCat("api/v1/jobs/", key_.second, "/");
    absl::string_view resource = place;
    return absl::ConsumePrefix(&resource, job) &&
           (resource == "errors" || resource == "logs" || absl::StartsWith(resource, "logs/"));
  }

  static pagedata::RunWish WishOf(const RecordedJobSource& source) {
    const history::StoredJob& stored = source.stored();
    return {std::filesystem::path(stored.folder.root()).parent_path(), stored.id,
            stored.job.view.job.name, stored.submitted_millis};
  }

  const JobKey key_;
  const Clock& clock_;
  RecordAccess access_;
  const std::unique_ptr<RecordedJobSource> source_;
  pagedata::FolderLogs tails_;
  pagedata::FolderJobLogs logs_;
  const std::unique_ptr<JobLogCopy> log_copy_;  ///< null: its logs are not copied
  pagedata::FolderKeptStacks kept_stacks_;
  web::Api api_;
  web::JobSite site_;
  pagedata::PreviousRuns previous_;
  TimePoint used_{};
  TimePoint looked_at_{};  ///< by somebody else than Prometheus
  TimePoint metrics_read_;
  bool settled_;  ///< nothing changes any more
  Lifetime lifetime_;
};

OpenJobs::OpenJobs(EventLoop& loop, const Clock& clock, size_t most, LogClusters log_clusters)
    : loop_(loop),
      clock_(clock),
      most_(most),
      event_worker_(loop),
      stopper_(loop),
      log_copies_(loop, clock, std::move(log_clusters)),
      worker_(loop) {}

OpenJobs::~OpenJobs() = default;

OpenJobs::OpenJob* OpenJobs::Find(const JobKey& key) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&key](const auto& job) { return job->key() == key; });
  if (found == jobs_.end()) return nullptr;
  std::error_code ignored;
  if (!std::filesystem::is_directory(FolderOf(key.first, key.second).root(), ignored)) {
    jobs_.erase(found);  // the job was removed
    return nullptr;
  }
  jobs_.splice(jobs_.begin(), jobs_, found);
  return jobs_.front().get();
}

void OpenJobs::Handle(const JobKey& key, const std::string& base, const Visitor& visitor,
                      const web::HttpRequest& request, const std::string& place, bool api,
                      const web::HttpServer::Respond& respond) {
  if (OpenJob* const job = Find(key)) {
    job->Use();
    return job->Handle(visitor, request, place, api, respond);
  }
  Load(key, base, [=](const absl::StatusOr<OpenJob*>& job) {
    job.ok() ? (*job)->Handle(visitor, request, place, api, respond)
             : respond(CannotShow(key, job.status()));
  });
}

// Requests for one job wait together: a page asks for several things at once.
void OpenJobs::Load(const JobKey& key, const std::string& base, Waiting waiting) {
  const auto found = std::find_if(loading_.begin(), loading_.end(),
                                  [&key](const Loading& each) { return each.key == key; });
  if (found != loading_.end()) return found->waiting.push_back(std::move(waiting));
  loading_.push_back({key, {}});
  loading_.back().waiting.push_back(std::move(waiting));
  using Source = std::shared_ptr<std::unique_ptr<RecordedJobSource>>;
  worker_.Run<Source>(
      nullptr,
      [key, &clock = clock_](const Worker::Stop&) -> absl::StatusOr<Source> {
        const storage::JobFolder folder = FolderOf(key.first, key.second);
        TONY_RETURN_IF_ERROR(os::OpenOwnFolder(folder.root()).status());
        auto source = RecordedJobSource::Load(folder, key.second, clock);
        if (!source.ok()) return source.status();
        const history::StoredJob& stored = (*source)->stored();
        if (!stored.alive && stored.job.view.last_sequence == 0) {
          return absl::FailedPreconditionError(
              absl::StrCat("it has recorded nothing: ", stored.sentence));
        }
        return std::make_shared<std::unique_ptr<RecordedJobSource>>(*std::move(source));
      },
      [this, key, base](const absl::StatusOr<Source>& source) {
        const auto loaded = std::find_if(loading_.begin(), loading_.end(),
                                         [&key](const Loading& each) { return each.key == key; });
        const std::vector<Waiting> all = std::move(loaded->waiting);
        loading_.erase(loaded);
        absl::StatusOr<OpenJob*> job = nullptr;
        if (!source.ok()) {
          job = source.status();
        } else if (!MakeRoom()) {
          job = absl::ResourceExhaustedError(
              absl::StrCat("pages of ", most_,
                           " other jobs are open, which are as many as the portal follows; "
                           "close one of them and load this page again"));
        } else {
          jobs_.push_front(std::make_unique<OpenJob>(loop_, clock_, key, base, std::move(**source),
                                                     event_worker_, stopper_, log_copies_));
          job = jobs_.front().get();
          if (timer_ == nullptr) timer_ = loop_.After(kRefresh, [this] { Tick(); });
        }
        for (const Waiting& each : all) each(job);
      });
}

// A job that somebody looks at is not closed: its page would open it again at once, in the place of
// another one, and so on in turn.
bool OpenJobs::MakeRoom() {
  if (jobs_.size() < most_) return true;
  const auto unread = std::find_if(jobs_.rbegin(), jobs_.rend(),
                                   [](const auto& job) { return !job->has_readers(); });
  if (unread == jobs_.rend()) return false;
  jobs_.erase(std::prev(unread.base()));
  return true;
}

void OpenJobs::Tick() {
  timer_.reset();
  for (const auto& job : jobs_) job->Refresh(worker_);
  jobs_.remove_if([](const auto& job) { return job->idle(); });
  if (!jobs_.empty()) timer_ = loop_.After(kRefresh, [this] { Tick(); });
}

}  // namespace tony::portal
