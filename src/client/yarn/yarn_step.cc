#include "client/yarn/yarn_step.h"

#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "client/workflow/step_key.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

constexpr char kSteps[] = "steps";
constexpr char kCheckpoints[] = "checkpoints";
constexpr char kJobEnding[] = ".job";
constexpr char kReported[] = "step.reported";

std::string InJob(const std::string& job, const std::string& name) {
  return absl::StrCat(backend::JobFolderName(job), "/", name);
}

}  // namespace

absl::StatusOr<YarnStep> YarnStep::Open(const backend::YarnCluster& cluster,
                                        const std::string& key) {
  TONY_ASSIGN_OR_RETURN(const std::string digest, StepDigest(key));
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  const std::string folder = absl::StrCat(kSteps, "/", digest);
  const std::string path = absl::StrCat(cluster.staging(), "/", folder, "/", kCheckpoints);
  return YarnStep(std::move(files), folder,
                  cluster.hdfs() ? absl::StrCat("hdfs://", cluster.hdfs()->authority, path) : path);
}

absl::Status YarnStep::RemoveOld(const backend::YarnCluster& cluster, const Clock& clock,
                                 std::chrono::days days, const std::stop_token& stop) {
  if (days.count() <= 0 || stop.stop_requested()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(kSteps));
  const int64_t oldest = clock.UnixMillis() - std::chrono::milliseconds(days).count();
  std::vector<std::string> old;
  for (const std::string& name : names) {
    if (stop.stop_requested()) return absl::OkStatus();
    const std::string folder = absl::StrCat(kSteps, "/", name);
    const absl::StatusOr<storage::StoredFile> stored = files->Describe(folder);
    if (stored.ok() && stored->modified_millis < oldest) old.push_back(folder);
  }
  if (old.empty()) return absl::OkStatus();
  backend::ApplicationClient client(cluster.application_client(), cluster.timeout());
  TONY_ASSIGN_OR_RETURN(const std::vector<backend::ApplicationReport> reports,
                        client.List(cluster.user()));
  std::set<std::string> active;
  for (const backend::ApplicationReport& report : reports) {
    if (!report.over()) active.insert(report.id);
  }
  for (const std::string& folder : old) {
    if (stop.stop_requested()) break;
    YarnStep step(std::move(files), folder, "");
    const absl::StatusOr<Taken> last = step.Last();
    files = std::move(step.files_);
    TONY_RETURN_IF_ERROR(last.status());
    if (active.contains(last->job)) continue;
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> checkpoints,
                          files->List(absl::StrCat(folder, "/", kCheckpoints)));
    if (checkpoints.empty()) TONY_RETURN_IF_ERROR(files->Remove(folder));
  }
  return absl::OkStatus();
}

absl::StatusOr<YarnStep::Taken> YarnStep::Last() {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files_->List(folder_));
  Taken last;
  for (const std::string& name : names) {
    int number = 0;
    if (!absl::EndsWith(name, kJobEnding)) continue;
    if (!absl::SimpleAtoi(name.substr(0, name.size() - std::string(kJobEnding).size()), &number)) {
      continue;
    }
    if (number > last.number) last = {number, name};
  }
  if (last.number == 0) return last;
  TONY_ASSIGN_OR_RETURN(last.job, files_->Read(absl::StrCat(folder_, "/", last.job)));
  return last;
}

absl::Status YarnStep::Take(int number, const std::string& job) {
  const auto name = [this](int of) {
    return absl::StrCat(folder_, "/", absl::StrFormat("%08d", of), kJobEnding);
  };
  TONY_RETURN_IF_ERROR(files_->Create(name(number), job));
  // The one before is kept, because another attempt may just be reading it.
  return number > 2 ? files_->Remove(name(number - 2)) : absl::OkStatus();
}

absl::StatusOr<std::string> YarnStep::ReadClaim(const std::string& job) {
  absl::StatusOr<std::string> claim = files_->Read(InJob(job, backend::kStepClaim));
  if (absl::IsNotFound(claim.status())) return "";
  return claim;
}

absl::StatusOr<bool> YarnStep::HasBegun(const std::string& job) {
  TONY_ASSIGN_OR_RETURN(const std::string claim, ReadClaim(job));
  return claim == backend::kStepRuns;
}

absl::StatusOr<bool> YarnStep::GiveUp(const std::string& job) {
  const absl::Status created =
      files_->Create(InJob(job, backend::kStepClaim), backend::kStepGivenUp);
  if (!absl::IsAlreadyExists(created)) {
    TONY_RETURN_IF_ERROR(created);
    return true;
  }
  return IsGivenUp(job);
}

absl::StatusOr<bool> YarnStep::IsGivenUp(const std::string& job) {
  TONY_ASSIGN_OR_RETURN(const std::string claim, ReadClaim(job));
  return claim == backend::kStepGivenUp;
}

absl::StatusOr<bool> YarnStep::IsReported(const std::string& job) {
  const absl::Status found = files_->Describe(InJob(job, kReported)).status();
  if (absl::IsNotFound(found)) return false;
  TONY_RETURN_IF_ERROR(found);
  return true;
}

absl::Status YarnStep::MarkReported(const std::string& job) {
  return files_->Replace(InJob(job, kReported), "");
}

absl::Status YarnStep::RemoveCheckpoints() {
  return files_->Remove(absl::StrCat(folder_, "/", kCheckpoints));
}

}  // namespace tony::client
