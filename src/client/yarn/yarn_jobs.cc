// The ResourceManager forgets applications after a while, and a history may lack its end. So the
// list of jobs is the union of reports and job folders, and each job is its events, completed by
// its report.
#include "client/yarn/yarn_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/yarn_job.h"
#include "client/cli/python_program.h"
#include "client/jobs/choose_job.h"
#include "client/yarn/yarn_access.h"
#include "client/yarn/yarn_master_source.h"
#include "common/status_macros.h"
#include "core/record/job_wait.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "rpc/security/credentials.h"
#include "yarnlogs/collected_logs.h"

namespace tony::client {
namespace {

/// Pause between two reports of an application that is to end.
constexpr std::chrono::milliseconds kPollInterval{200};
/// Pause between two reports of an application whose end is waited for, which may take days.
constexpr std::chrono::seconds kWaitPause{1};
/// While logs are followed: how long the ResourceManager may be away, and how long a wait for a
/// container lasts before it is told.
constexpr std::chrono::seconds kAwayLimit{60};
constexpr std::chrono::seconds kWaitingNotice{10};
/// Diagnostics of an application that has a job folder but no report.
constexpr char kForgotten[] = "the ResourceManager does not know it any more";

/// Completes `job` with what its events do not say: its end, or that it waits for an
/// ApplicationMaster.
void AddReport(const backend::ApplicationReport& report, StoredJob& job) {
  core::JobView& view = job.job.view;
  if (view.last_sequence == 0) {
    view.job.job_id = report.id;
    view.job.name = report.name;
    view.job.user = report.user;
    view.job.backend = "yarn";
  }
  if (job.ended()) return;
  if (!report.over()) {
    job.alive = true;
    if (report.state == backend::ApplicationState::kRunning) return;
    view.waiting = core::JobWaiting{
        absl::StrCat("YARN is to start its ApplicationMaster: ", report.diagnostics),
        {"the ApplicationMaster"},
        absl::StrCat("room in the queue ", report.queue)};
    view.waiting_since_millis = std::max(report.submitted_millis, job.job.last_millis);
    return;
  }
  view.verdict = VerdictOf(report);
  if (view.verdict) {
    view.ended_millis = report.finished_millis;
    return;
  }
  job.job.lost = true;
  job.sentence = absl::StrCat("YARN has ended the application: ", report.diagnostics);
}

/// `sentences` without the empty ones.
std::vector<std::string> Sentences(std::vector<std::string> sentences) {
  std::erase(sentences, "");
  return sentences;
}

}  // namespace

YarnJobs::YarnJobs(backend::YarnCluster cluster)
    : cluster_(std::move(cluster)), client_(cluster_.application_client(), cluster_.timeout()) {}

absl::StatusOr<std::unique_ptr<YarnJobs>> YarnJobs::Open(backend::YarnCluster cluster) {
  std::unique_ptr<YarnJobs> jobs(new YarnJobs(std::move(cluster)));
  TONY_ASSIGN_OR_RETURN(jobs->files_, jobs->cluster_.OpenStaging());
  return jobs;
}

absl::StatusOr<YarnJobs::Reports> YarnJobs::AllReports() {
  TONY_ASSIGN_OR_RETURN(Reports reports, client_.List(cluster_.user()));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> kept, files_->List(backend::kJobsFolder));
  for (const std::string& id : kept) {
    // A job folder without a report belongs to a job that the ResourceManager has forgotten. It
    // counts as failed unless its events say otherwise.
    const bool known = std::any_of(reports.begin(), reports.end(),
                                   [&](const auto& report) { return report.id == id; });
    if (known || !backend::IsApplicationId(id)) continue;
    backend::ApplicationReport report;
    report.id = id;
    report.state = backend::ApplicationState::kFailed;
    report.diagnostics = kForgotten;
    reports.push_back(std::move(report));
  }
  std::sort(reports.begin(), reports.end(), [](const auto& left, const auto& right) {
    return backend::IsOlderApplication(right.id, left.id);
  });
  return reports;
}

StoredJob YarnJobs::Read(const backend::ApplicationReport& report) {
  StoredJob job;
  job.id = report.id;
  job.submitted_millis = report.submitted_millis;
  const absl::Status read = history::ForEachArchivedEvent(
      *files_, backend::JobFolderName(report.id),
      [&job](int, const absl::StatusOr<core::JobEvent>& event) {
        if (event.ok()) {
          if (job.submitted_millis == 0) job.submitted_millis = event->unix_millis;
          job.job.Apply(*event);
          return true;
        }
        job.sentence = std::string(event.status().message());
        job.job.unreadable |= absl::IsFailedPrecondition(event.status());
        return !job.job.unreadable;
      });
  if (!read.ok()) job.sentence = std::string(read.message());
  if (!job.ended() && job.job.view.last_sequence > 0) {
    const absl::StatusOr<std::string> usage =
        files_->Read(absl::StrCat(backend::JobFolderName(report.id), "/", storage::kUsageFile));
    if (usage.ok()) history::AddMeasurements(*usage, job.job.view);
  }
  AddReport(report, job);
  if (job.job.lost && report.diagnostics == kForgotten) AddCluster(job);
  core::JobView& view = job.job.view;
  if (!job.alive) view.visualization.reset();
  if (job.alive && view.last_sequence > 0 && !view.waiting) {
    view.waiting = core::WaitOf(view);
    view.waiting_since_millis =
        view.state_since_millis != 0 ? view.state_since_millis : job.submitted_millis;
  }
  return job;
}

absl::Status YarnJobs::ReadEvents(const StoredJob& job, const history::UseEvent& use) {
  return history::ForEachArchivedEvent(*files_, backend::JobFolderName(job.id), use);
}

absl::StatusOr<std::string> YarnJobs::ReadMetrics(const StoredJob& job) {
  return files_->Read(absl::StrCat(backend::JobFolderName(job.id), "/", storage::kMetricFile));
}

absl::StatusOr<JobCatalog::KeptStacks> YarnJobs::ReadStacks(const StoredJob& job) {
  const std::string name = absl::StrCat(backend::JobFolderName(job.id), "/", storage::kStacksFile);
  TONY_ASSIGN_OR_RETURN(std::string text, files_->Read(name));
  return KeptStacks{absl::StrCat(cluster_.staging(), "/", name), std::move(text)};
}

// Two clusters with one file system see the job folders of both.
void YarnJobs::AddCluster(StoredJob& job) {
  const absl::StatusOr<std::string> name =
      files_->Read(absl::StrCat(backend::JobFolderName(job.id), "/", backend::kClusterFile));
  if (!name.ok() || *name == cluster_.Name()) return;
  job.sentence = absl::StrCat("it was submitted to another cluster, whose ResourceManager is at ",
                              *name, "; ask with that one's configuration");
}

absl::StatusOr<std::vector<StoredJob>> YarnJobs::List() {
  TONY_ASSIGN_OR_RETURN(const Reports reports, AllReports());
  std::vector<StoredJob> jobs;
  for (const backend::ApplicationReport& report : reports) jobs.push_back(Read(report));
  return jobs;
}

absl::StatusOr<StoredJob> YarnJobs::Find(const std::string& wish) {
  TONY_ASSIGN_OR_RETURN(const Reports reports, AllReports());
  std::vector<std::string> ids;
  for (const backend::ApplicationReport& report : reports) ids.push_back(report.id);
  TONY_ASSIGN_OR_RETURN(const std::string id,
                        ChooseJob(ids, wish, absl::StrCat("of ", cluster_.user(), " on YARN")));
  return Read(*std::find_if(reports.begin(), reports.end(),
                            [&](const auto& report) { return report.id == id; }));
}

absl::StatusOr<rpc::Credentials> YarnJobs::ReadCredentials(const std::string& id) {
  const absl::StatusOr<std::string> pem =
      files_->Read(absl::StrCat(backend::JobFolderName(id), "/", backend::kClientFile));
  if (absl::IsNotFound(pem.status())) {
    return absl::UnavailableError(absl::StrCat("job ", id, " has no ApplicationMaster (yet)"));
  }
  TONY_RETURN_IF_ERROR(pem.status());
  return rpc::ParseCredentials(*pem, backend::kClientFile);
}

absl::StatusOr<std::unique_ptr<rpc::JobClient>> YarnJobs::ConnectTo(
    const backend::ApplicationReport& report) {
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials, ReadCredentials(report.id));
  return std::make_unique<rpc::JobClient>(absl::StrCat(report.host, ":", report.port), credentials,
                                          kMasterSilenceLimit);
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::FindLogs(const StoredJob& job,
                                                    const LogRequest& request) {
  live_.reset();  // LiveLogs writes into logs_
  TONY_ASSIGN_OR_RETURN(logs_, NodeLogs::Make(cluster_.kerberos(), cluster_.timeout()));
  // Stacks come through no tunnel.
  if (!job.alive || request.selection.stacks) return CopyPastLogs(job, request);
  if (request.follow) return FollowLogs(job, request);
  // A job that has no ApplicationMaster at the moment is read from its nodes.
  const auto client = Connect(job);
  if (!client.ok()) return CopyPastLogs(job, request);
  return CopyRunningLogs(job, **client, request);
}

absl::StatusOr<std::vector<history::LogOrigin>> YarnJobs::FindOrigins(
    const StoredJob& job, const history::LogSelection& selection) {
  TONY_ASSIGN_OR_RETURN(const os::AppendFile events,
                        os::AppendFile::Open(logs_->folder().events()));
  yarnlogs::LogOrigins known(selection);
  std::vector<history::LogOrigin> origins;
  TONY_RETURN_IF_ERROR(history::ForEachArchivedEvent(
      *files_, backend::JobFolderName(job.id),
      [&](int, const absl::StatusOr<core::JobEvent>& event) {
        if (!event.ok()) return true;
        (void)events.Append(absl::StrCat(rpc::EventToJsonLine(*event), "\n"));
        std::optional<history::LogOrigin> origin = known.Take(*event);
        if (origin) origins.push_back(*std::move(origin));
        return true;
      }));
  return origins;
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::CopyRunningLogs(const StoredJob& job,
                                                           rpc::JobClient& client,
                                                           const LogRequest& request) {
  TONY_ASSIGN_OR_RETURN(const std::vector<history::LogOrigin> origins,
                        FindOrigins(job, request.selection));
  std::vector<history::LogOrigin> at_nodes;
  for (const history::UnreachedOrigin& unreached :
       history::CopyThroughTunnels(client.tunnels(), origins, request.selection, logs_->mirror())) {
    at_nodes.push_back(unreached.origin);
    // NotFound means that the container is known to have ended, which is no news for the user.
    if (absl::IsNotFound(unreached.why)) continue;
    request.notice(absl::StrCat(unreached.origin.task, ": ", std::string(unreached.why.message()),
                                "; what its node has of its logs is shown"));
  }
  const absl::Status copied = logs_->Copy(at_nodes, request.selection);
  // The error counts only if nothing came through a tunnel.
  if (!copied.ok() && at_nodes.size() == origins.size()) return copied;
  return Logs{logs_->folder(), /*live=*/false, logs_->missing()};
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::FollowLogs(const StoredJob& job,
                                                      const LogRequest& request) {
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials, ReadCredentials(job.id));
  LiveLogs::Options options;
  options.selection = request.selection;
  options.handles_signals = request.handles_signals;
  options.make_source = [this, id = job.id, credentials](EventLoop& loop, const Clock& clock) {
    YarnMasterSource::Options source;
    source.job_id = id;
    source.credentials = credentials;
    source.lease = kAwayLimit;
    source.waiting_notice = kWaitingNotice;
    return std::make_unique<YarnMasterSource>(loop, clock, cluster_, std::move(source));
  };
  options.copy_from_node = [this, request](const history::LogOrigin& origin) {
    const absl::StatusOr<std::string> missing = logs_->CopyFrom(origin, request.selection);
    return missing.ok() && !missing->empty() ? absl::UnavailableError(*missing) : missing.status();
  };
  options.copy_collected = [this, id = job.id,
                            request](const std::vector<history::LogOrigin>& origins) {
    return yarnlogs::CopyCollectedLogs(cluster_, id, origins, request.selection, logs_->mirror())
        .containers;
  };
  options.notice = request.notice;
  TONY_ASSIGN_OR_RETURN(live_, LiveLogs::Start(logs_->mirror(), std::move(options)));
  return Logs{.folder = logs_->folder(), .live = true, .missing = "", .result = [this] {
                return live_->result();
              }};
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::CopyPastLogs(const StoredJob& job,
                                                        const LogRequest& request) {
  TONY_ASSIGN_OR_RETURN(std::vector<history::LogOrigin> origins,
                        FindOrigins(job, request.selection));
  yarnlogs::CollectedLogs collected;
  if (!job.alive) {
    collected =
        yarnlogs::CopyCollectedLogs(cluster_, job.id, origins, request.selection, logs_->mirror());
    std::erase_if(origins, [&](const history::LogOrigin& origin) {
      return collected.containers.contains(origin.container);
    });
  }
  // Logs that were not collected (yet) are still at their nodes.
  const absl::Status copied = logs_->Copy(origins, request.selection);
  if (!copied.ok() && collected.containers.empty()) {
    return absl::Status(
        copied.code(),
        absl::StrJoin(
            Sentences({std::string(copied.message()), collected.missing, collected.absent}), "; "));
  }
  // When the nodes had everything, a missing collection is not worth a word.
  const bool nodes_lack_some = !logs_->missing().empty();
  return Logs{logs_->folder(), /*live=*/false,
              absl::StrJoin(Sentences({logs_->missing(), collected.missing,
                                       nodes_lack_some ? collected.absent : ""}),
                            "; ")};
}

absl::StatusOr<std::unique_ptr<rpc::JobClient>> YarnJobs::Connect(const StoredJob& job) {
  TONY_ASSIGN_OR_RETURN(const backend::ApplicationReport report, client_.Report(job.id));
  if (report.host.empty()) {
    return absl::UnavailableError(absl::StrCat("job ", job.id, " has no ApplicationMaster (yet)"));
  }
  return ConnectTo(report);
}

absl::Status YarnJobs::Stop(const StoredJob& job, const StopWish& wish) {
  TONY_ASSIGN_OR_RETURN(const backend::ApplicationReport report, client_.Report(job.id));
  if (!report.over()) {
    absl::Status asked = absl::UnavailableError("it has no ApplicationMaster");
    if (!report.host.empty()) {
      const auto client = ConnectTo(report);
      asked = client.ok() ? (*client)->Stop(wish.reason, wish.ask_limit) : client.status();
    }
    // Killing by YARN is the fallback, because it leaves no verdict of the job's own.
    if (!asked.ok()) TONY_RETURN_IF_ERROR(client_.Kill(job.id, wish.reason));
  }
  TONY_ASSIGN_OR_RETURN(const backend::ApplicationReport end, AwaitEnd(report, wish.wait));
  const StoredJob ended = Read(end);
  if (ended.ended()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("job ", job.id, " went away without a verdict: ", ended.sentence));
}

absl::StatusOr<std::vector<StoredJob>> YarnJobs::AwaitEnds(const std::vector<StoredJob>& jobs,
                                                           Duration limit) {
  EventLoop loop;
  std::vector<std::string> over;
  std::vector<std::unique_ptr<backend::ApplicationWatch>> watches;
  for (const StoredJob& job : jobs) {
    // A failed question ends nothing: the watch asks again after the pause.
    watches.push_back(std::make_unique<backend::ApplicationWatch>(
        loop, cluster_.application_client(), job.id, cluster_.timeout(), [&](const auto& answer) {
          if (!absl::IsNotFound(answer.status()) && !(answer.ok() && answer->over())) return;
          over.push_back(job.id);
          loop.Stop();
        }));
    watches.back()->Start(kWaitPause);
  }
  const auto deadline = loop.After(limit, [&loop] { loop.Stop(); });
  loop.Run();
  watches.clear();
  std::vector<StoredJob> ended;
  for (const std::string& id : over) {
    TONY_ASSIGN_OR_RETURN(StoredJob job, Find(id));
    ended.push_back(std::move(job));
  }
  return ended;
}

absl::Status YarnJobs::Remove(const StoredJob& job, bool /*checkpoints*/) {
  if (job.alive) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job.id, " runs, and a running job is not removed; tony kill ", job.id, " ends it"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", job.id,
      " is a cluster's, and tony rm removes jobs of this machine; this removes it, ",
      "with its checkpoints: ", cluster_.hdfs() ? "hdfs dfs -rm -r " : "rm -r ",
      ShellLine({absl::StrCat(cluster_.staging(), "/", backend::JobFolderName(job.id))})));
}

absl::StatusOr<backend::ApplicationReport> YarnJobs::AwaitEnd(
    const backend::ApplicationReport& report, std::chrono::seconds wait) {
  EventLoop loop;
  absl::StatusOr<backend::ApplicationReport> last = report;
  const auto settled = [&last] {
    return absl::IsNotFound(last.status()) || (last.ok() && last->over());
  };
  // A failed question ends nothing: the watch asks again after the pause.
  backend::ApplicationWatch watch(loop, cluster_.application_client(), report.id,
                                  cluster_.timeout(), [&](const auto& answer) {
                                    last = answer;
                                    if (settled()) loop.Stop();
                                  });
  watch.Start(kPollInterval);
  const auto deadline = loop.After(wait, [&loop] { loop.Stop(); });
  if (!settled()) loop.Run();
  if (settled()) return last;
  return absl::DeadlineExceededError(absl::StrCat(
      "job ", report.id, " was asked to end, but has not within ", wait.count(), " s",
      last.ok() ? ""
                : absl::StrCat(" as far as YARN says (", std::string(last.status().message()), ")"),
      "; tony status ", report.id, " shows what it waits for"));
}

}  // namespace tony::client
