// Reports and histories, put together.
#include "client/yarn_jobs.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/yarn_job.h"
#include "client/collected_logs.h"
#include "client/yarn_access.h"
#include "common/status_macros.h"
#include "core/job/job_wait.h"
#include "rpc/credentials.h"
#include "rpc/event_json.h"

namespace tony::client {
namespace {

/// Between two looks at an application that is to end.
constexpr std::chrono::milliseconds kLookPause{200};

/// What the events do not say of a job that YARN knows to be over, or to have no ApplicationMaster.
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

/// Those of `sentences` that say something.
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
    const bool known = std::any_of(reports.begin(), reports.end(),
                                   [&](const auto& report) { return report.id == id; });
    if (known || !backend::IsApplicationId(id)) continue;
    backend::ApplicationReport report;
    report.id = id;
    report.state = backend::ApplicationState::kFailed;
    report.diagnostics = "the ResourceManager does not know it any more";
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
  const absl::Status read =
      ForEachArchivedEvent(*files_, backend::JobFolderName(report.id),
                           [&job](int, const absl::StatusOr<core::JobEvent>& event) {
                             if (event.ok()) {
                               if (job.submitted_millis == 0)
                                 job.submitted_millis = event->unix_millis;
                               job.job.Apply(*event);
                             } else {
                               job.sentence = std::string(event.status().message());
                             }
                             return true;
                           });
  if (!read.ok()) job.sentence = std::string(read.message());
  AddReport(report, job);
  core::JobView& view = job.job.view;
  if (job.alive && view.last_sequence > 0 && !view.waiting) {
    view.waiting = core::WaitIn(view.state, core::AwaitedTasks(view));
    view.waiting_since_millis =
        view.state_since_millis != 0 ? view.state_since_millis : job.submitted_millis;
  }
  return job;
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

absl::StatusOr<std::unique_ptr<rpc::JobClient>> YarnJobs::ConnectTo(
    const backend::ApplicationReport& report) {
  TONY_ASSIGN_OR_RETURN(
      const std::string pem,
      files_->Read(absl::StrCat(backend::JobFolderName(report.id), "/", backend::kClientFile)));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                        rpc::ParseCredentials(pem, backend::kClientFile));
  return std::make_unique<rpc::JobClient>(absl::StrCat(report.host, ":", report.port), credentials);
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::FindLogs(const StoredJob& job) {
  std::vector<NodeLogs::Source> sources;
  std::map<std::string, std::string> tasks;  // by container
  std::set<std::string> seen;
  TONY_ASSIGN_OR_RETURN(logs_, NodeLogs::Make(cluster_.kerberos(), cluster_.timeout()));
  // Who looks for the first error wants to know whose fault it was.
  std::ofstream events(logs_->folder().events());
  TONY_RETURN_IF_ERROR(ForEachArchivedEvent(
      *files_, backend::JobFolderName(job.id),
      [&](int, const absl::StatusOr<core::JobEvent>& event) {
        if (event.ok()) events << rpc::EventToJsonLine(*event) << "\n";
        const auto* change = event.ok() ? std::get_if<core::TaskChanged>(&event->body) : nullptr;
        if (change == nullptr) return true;
        const std::string task = change->task.ToPath();
        if (!change->container.empty()) tasks.emplace(change->container, task);
        if (!change->log_url.empty() && seen.insert(change->log_url).second) {
          sources.push_back({task, change->log_url, change->container});
        }
        return true;
      }));
  events.close();
  if (!job.alive) return FindLogsOfEnded(job, tasks, std::move(sources));
  TONY_RETURN_IF_ERROR(logs_->Copy(sources));
  return Logs{logs_->folder(), /*live=*/false, logs_->missing()};
}

absl::StatusOr<JobCatalog::Logs> YarnJobs::FindLogsOfEnded(
    const StoredJob& job, const std::map<std::string, std::string>& tasks,
    std::vector<NodeLogs::Source> sources) {
  const CollectedLogs collected = CopyCollectedLogs(cluster_, job.id, tasks, logs_->folder());
  std::erase_if(sources, [&](const NodeLogs::Source& source) {
    return collected.containers.contains(source.container);
  });
  // Nodes have what has not been collected.
  const absl::Status copied = logs_->Copy(sources);
  if (!copied.ok() && collected.containers.empty()) {
    return absl::Status(
        copied.code(),
        absl::StrJoin(
            Sentences({std::string(copied.message()), collected.missing, collected.absent}), "; "));
  }
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
    if (!asked.ok()) TONY_RETURN_IF_ERROR(client_.Kill(job.id, wish.reason));
  }
  TONY_ASSIGN_OR_RETURN(const backend::ApplicationReport end, AwaitEnd(report, wish.wait));
  const StoredJob ended = Read(end);
  if (ended.ended()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("job ", job.id, " went away without a verdict: ", ended.sentence));
}

absl::StatusOr<backend::ApplicationReport> YarnJobs::AwaitEnd(
    const backend::ApplicationReport& report, std::chrono::seconds wait) {
  EventLoop loop;
  absl::StatusOr<backend::ApplicationReport> last = report;
  const auto settled = [&last] {
    return absl::IsNotFound(last.status()) || (last.ok() && last->over());
  };
  // A question that fails is followed by the next one.
  backend::ApplicationWatch watch(loop, cluster_.application_client(), report.id,
                                  cluster_.timeout(), [&](const auto& answer) {
                                    last = answer;
                                    if (settled()) loop.Stop();
                                  });
  watch.Start(kLookPause);
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
