// A job on the local backend, and a fixture with room for several.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/local/local_backend.h"
#include "gtest/gtest.h"
#include "os/files/files.h"
#include "tests/backend/local/backend_support.h"
#include "tests/backend/local/job_ids.h"
#include "tests/common/eventually.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {

inline LocalBackendOptions OptionsFor(const std::string& root, const std::string& job_id,
                                      const core::Capacity& capacity) {
  LocalBackendOptions options;
  options.job_id = job_id;
  options.job_folder = storage::JobFolder(storage::JobsFolder(root) + "/" + job_id);
  options.ledger.folder = storage::LedgerFolder(root);
  options.executor_path = "/bin/sh";
  options.environment = {"BASE=base", "BOTH=base"};
  options.host_id = "this-boot";
  options.capacity = capacity;
  return options;
}

// One job: a backend that lives on the loop's thread, and what it reported.
class Job {
 public:
  Job(LoopThread& thread, LocalBackendOptions options)
      : thread_(thread), folder_(options.job_folder) {
    EXPECT_EQ(os::MakeFolders(folder_.root()), absl::OkStatus());
    backend_ = thread_.Run(
        [&] { return std::make_unique<LocalBackend>(thread_.loop(), std::move(options), events); });
  }
  ~Job() { End(); }

  void Request(const std::vector<core::ContainerRequest>& requests) {
    thread_.Run([&] { backend_->Request(requests); });
  }
  void Run(const std::string& container_id, const std::string& script,
           const std::vector<std::string>& environment = {}, const std::string& secret = "") {
    thread_.Run([&] {
      backend_->Launch(container_id, Context(container_id, script, environment, secret));
    });
  }
  /// Launches them all and kills them in the same turn of the loop.
  void RunAndKill(const std::vector<std::string>& container_ids) {
    thread_.Run([&] {
      for (const std::string& id : container_ids) backend_->Launch(id, Context(id, "exit 0"));
      for (const std::string& id : container_ids) backend_->Kill(id);
    });
  }
  /// Runs them all at once, and looks as soon as the loop hears anything else: those of which it
  /// has begun the start by then.
  std::vector<std::string> RunAllAndLook(const std::vector<std::string>& container_ids) {
    std::promise<std::vector<std::string>> begun;
    thread_.Run([&] {
      for (const std::string& id : container_ids) backend_->Launch(id, Context(id, "exit 0"));
      thread_.loop().Post([&] {
        std::vector<std::string> found;
        for (const std::string& id : container_ids) {
          if (os::Exists(FolderOf(id))) found.push_back(id);
        }
        begun.set_value(std::move(found));
      });
    });
    return begun.get_future().get();
  }
  /// Run(), and returns when the script has begun, as the only process of the container: its
  /// number. It finds a pipe "wait", and leaves its number in the file "pid".
  pid_t RunAndAwait(const std::string& container_id, const std::string& script) {
    Run(container_id, "mkfifo wait; echo $$ > pid; " + script);
    const std::string path = FolderOf(container_id) + "/pid";
    std::string number;
    Eventually([&] {
      if (os::Exists(path)) number = os::Contents(path);
      return number.find('\n') != std::string::npos;
    });
    return std::stoi(number);
  }
  void Reclaim(const std::vector<core::Container>& containers) {
    thread_.Run([&] { backend_->Reclaim(containers); });
  }
  void Kill(const std::string& container_id) {
    thread_.Run([&] { backend_->Kill(container_id); });
  }
  void GiveBackSpare() {
    thread_.Run([&] { backend_->GiveBackSpare(); });
  }
  void Cancel() {
    thread_.Run([&] { backend_->CancelRequests(); });
  }
  void End() {
    thread_.Run([&] { backend_.reset(); });
  }
  std::string LogOf(const std::string& container_id) const {
    return folder_.logs() + "/task-of-" + container_id + "/executor.log";
  }
  std::string FolderOf(const std::string& container_id) const {
    return folder_.container(container_id);
  }

  RecordingListener events;

 private:
  static core::LaunchContext Context(const std::string& container_id, const std::string& script,
                                     const std::vector<std::string>& environment = {},
                                     const std::string& secret = "") {
    return {.arguments = {"-c", script, "--container-id=" + container_id},
            .environment = environment,
            .name = "task-of-" + container_id,
            .secret = secret};
  }

  LoopThread& thread_;
  storage::JobFolder folder_;
  std::unique_ptr<LocalBackend> backend_;
};

class LocalBackendTest : public ::testing::Test {
 protected:
  LocalBackendOptions Options(const std::string& job_id, const core::Capacity& capacity) const {
    return OptionsFor(folder_.path(), job_id, capacity);
  }
  std::vector<core::Claim> Claims() const {
    return Ledger::Open({.folder = storage::LedgerFolder(folder_.path())}).value().Claims().value();
  }

  os::TemporaryFolder folder_;
};

}  // namespace tony::backend
