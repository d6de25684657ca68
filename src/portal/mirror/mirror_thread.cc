// The cluster is opened by the thread: each of its servers may take its time to answer.
#include "portal/mirror/mirror_thread.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/archive_digest.h"

namespace tony::portal {
namespace {

/// Who leaves the portal with Ctrl-C does not wait longer than this.
constexpr std::chrono::seconds kLongestCall{10};
/// Enough of a digest to tell a user's clusters apart.
constexpr size_t kFolderLetters = 16;

/// Asks the ResourceManager of the cluster about jobs, some of which may be another cluster's, with
/// the same file system. Not thread safe.
class LifeQuestions {
 public:
  LifeQuestions(const backend::YarnCluster& cluster, storage::JobFiles& files)
      : name_(cluster.Name()),
        client_(cluster.application_client(), cluster.timeout()),
        files_(files) {}

  absl::StatusOr<bool> IsOver(const std::string& id) {
    const absl::StatusOr<backend::ApplicationReport> report = client_.Report(id);
    if (report.ok()) return report->over();
    if (!absl::IsNotFound(report.status())) return report.status();
    const std::string folder = backend::JobFolderName(id);
    TONY_ASSIGN_OR_RETURN(const std::string home,
                          files_.Read(absl::StrCat(folder, "/", backend::kClusterFile)));
    if (home == name_) return true;
    // Its ApplicationMaster removes the client's certificate at the end.
    const absl::Status lives =
        files_.Describe(absl::StrCat(folder, "/", backend::kClientFile)).status();
    if (absl::IsNotFound(lives)) return true;
    TONY_RETURN_IF_ERROR(lives);
    return false;
  }

 private:
  const std::string name_;
  backend::ApplicationClient client_;
  storage::JobFiles& files_;
};

}  // namespace

std::string MirrorFolder(const std::string& index_folder,
                         const backend::YarnClusterOptions& cluster) {
  os::Sha256 digest;
  for (const std::string& part : {cluster.conf_dir, cluster.staging_dir, cluster.user}) {
    digest.Update(part.c_str(), part.size() + 1);
  }
  const absl::StatusOr<std::string> text = digest.Finish();
  return absl::StrCat(index_folder, "/clusters/",
                      text.ok() ? text->substr(0, kFolderLetters) : "cluster");
}

absl::StatusOr<JobMirror::Cluster> OpenCluster(const backend::YarnClusterOptions& options,
                                               const hadoop::Environment& environment) {
  TONY_ASSIGN_OR_RETURN(const backend::YarnCluster cluster,
                        backend::YarnCluster::Find(options, environment));
  JobMirror::Cluster opened;
  TONY_ASSIGN_OR_RETURN(opened.files, cluster.OpenStaging());
  const auto questions = std::make_shared<LifeQuestions>(cluster, *opened.files);
  opened.is_over = [questions](const std::string& id) { return questions->IsOver(id); };
  return opened;
}

MirrorThread::MirrorThread(std::string folder, backend::YarnClusterOptions cluster,
                           hadoop::Environment environment, const Clock& clock,
                           std::function<void(const std::string& trouble)> say)
    : folder_(std::move(folder)),
      cluster_([&cluster] {
        cluster.timeout = std::min<Duration>(cluster.timeout, kLongestCall);
        return std::move(cluster);
      }()),
      environment_(std::move(environment)),
      clock_(clock),
      say_(std::move(say)) {
  thread_ = std::thread([this] { Run(); });
}

MirrorThread::~MirrorThread() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

std::string MirrorThread::Round() {
  const auto trouble = [](const absl::Status& why) {
    return absl::StrCat("The cluster's jobs are shown as they were when it last answered: ",
                        std::string(why.message()), ".");
  };
  if (mirror_ == nullptr) {
    absl::StatusOr<JobMirror::Cluster> cluster = OpenCluster(cluster_, environment_);
    if (!cluster.ok()) return trouble(cluster.status());
    auto mirror = JobMirror::Open(folder_, *std::move(cluster), clock_);
    if (!mirror.ok()) return trouble(mirror.status());
    mirror_ = *std::move(mirror);
  }
  const absl::StatusOr<size_t> left_out = mirror_->Round(stop_);
  if (!left_out.ok()) return trouble(left_out.status());
  if (*left_out == 0) return "";
  return absl::StrCat("The ", *left_out,
                      " oldest jobs of the cluster are not copied and not shown: there are too "
                      "many, or they are too large; they are in  tony list --backend yarn.");
}

void MirrorThread::Run() {
  std::string said;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const std::string trouble = Round();
    if (trouble != said && !stop_) {
      if (!trouble.empty()) LogWarning(trouble);
      say_(trouble);
      said = trouble;
    }
    lock.lock();
    stopped_.wait_for(lock, kPause, [this] { return stop_.load(); });
  }
}

}  // namespace tony::portal
