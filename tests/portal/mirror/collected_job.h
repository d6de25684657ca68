// Jobs of a made-up cluster: records as JobMirror copies them, and logs as YARN collects them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "portal/index/job_place.h"
#include "tests/backend/yarn/yarn_configuration.h"
#include "tests/client/job_folders.h"
#include "tests/hadoop/logs/aggregated_samples.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {

/// A job that is over, of an ApplicationMaster and two workers, in the containers of
/// hadoop::Sample(). `number`: of its application, from 1 to 9.
class CollectedJob {
 public:
  CollectedJob(const std::string& location, int number)
      : number_(number), folder_(FolderOf(location, id())) {
    client::SampleEvents job;
    job.Submit({{"worker", 2}}, id());
    for (int index = 0; index < 2; ++index) {
      core::TaskChanged change = job.Task("worker", index, core::TaskState::kRunning);
      change.container = Container(index + 2);
      job.Add(change);
    }
    job.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "all done");
    std::vector<core::JobEvent> events = job.events();
    std::get<core::JobSubmitted>(events[0].body).master_log_url =
        absl::StrCat("http://n:8042/node/containerlogs/", Container(1), "/bob");
    client::WriteJob(location, id(), events);
    std::filesystem::remove(folder_.logs());
    os::Put(folder_.root() + "/copied", "");
  }

  std::string id() const { return absl::StrCat("application_1700000000000_000", number_); }
  std::string Container(int container) const {
    return absl::StrCat("container_1700000000000_000", number_, "_01_00000", container);
  }
  int number() const { return number_; }
  const storage::JobFolder& folder() const { return folder_; }
  void ForgetThatItIsOver() const { std::filesystem::remove(folder_.root() + "/copied"); }

 private:
  const int number_;
  const storage::JobFolder folder_;
};

/// A cluster that has collected logs on a disk.
class CollectingCluster {
 public:
  using Changes = std::vector<std::pair<std::string, std::string>>;

  CollectingCluster() {
    configuration_.properties["yarn.nodemanager.remote-app-log-dir"] = remote_.path();
  }

  backend::YarnCluster Find() const {
    auto cluster = configuration_.Find();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return *std::move(cluster);
  }

  /// The logs of the job's containers in the file of `node`, with `changes` of the same length.
  void Collect(const CollectedJob& job, const std::string& node,
               const Changes& changes = {}) const {
    const std::string logs =
        absl::StrReplaceAll(hadoop::Sample(hadoop::kPlainTFile),
                            {{"_0001_01_", absl::StrCat("_000", job.number(), "_01_")}});
    os::Put(PathOf(job, node), absl::StrReplaceAll(logs, changes));
  }
  /// A file that ends too early.
  void Damage(const CollectedJob& job, const std::string& node) const {
    os::Put(PathOf(job, node), hadoop::Sample(hadoop::kPlainTFile).substr(0, 100));
  }
  void Remove(const CollectedJob& job, const std::string& node) const {
    std::filesystem::remove(PathOf(job, node));
  }

 private:
  std::string PathOf(const CollectedJob& job, const std::string& node) const {
    return remote_ /
           absl::StrCat("bob/bucket-logs-tfile/000", job.number(), "/", job.id(), "/", node);
  }

  const os::TemporaryFolder remote_;
  backend::YarnConfiguration configuration_;
};

}  // namespace tony::portal
