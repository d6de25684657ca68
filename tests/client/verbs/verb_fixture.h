// A user of `tony` with a folder of jobs, and an ApplicationMaster that such a job may have.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/verbs/tony_command.h"
#include "client/verbs/verbs.h"
#include "common/safe_text.h"
#include "os/files/files.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/event_log.h"
#include "rpc/services/master_server.h"
#include "tests/client/job_folders.h"

namespace tony::client {

using Json = nlohmann::json;

/// A user with a folder of jobs.
class VerbTest : public ::testing::Test {
 protected:
  VerbTest() {
    context_.environment.home = local_.path();
    context_.environment.user = "ann";
    context_.working_folder = local_.path();
    context_.out = [this](const std::string& text) { out_ += SafeLines(text); };
    context_.bytes = [this](const std::string& bytes) { out_ += bytes; };
    context_.err = [this](const std::string& text) { err_ += SafeLines(text); };
    context_.screen.width = 120;
    context_.clock = &clock_;
  }

  int Run(const std::vector<std::string>& arguments) {
    out_.clear();
    err_.clear();
    std::vector<std::string> all = arguments;
    if (all.size() > 0 && all[0] != "help" && all[0][0] != '-')
      all.insert(all.begin() + 1, "--conf=tony.local.dir=" + local_.path());
    return RunTony(all, context_);
  }
  int RunBare(const std::vector<std::string>& arguments) {
    out_.clear();
    err_.clear();
    return RunTony(arguments, context_);
  }
  Json RunJson(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    EXPECT_EQ(Run(arguments), kVerbDone) << err_;
    return Json::parse(out_);
  }

  TemporaryFolder local_;
  SystemClock clock_;
  VerbContext context_;
  std::string out_, err_;
};

/// The ApplicationMaster of a job as `kill` sees it: address, credentials and the service.
class ServedJob {
 public:
  ServedJob(const std::string& local_dir, const std::string& id,
            std::function<void(const std::string&)> on_stop)
      : folder_(WriteJob(local_dir, id, RunningJob().events())),
        lock_(std::make_unique<HeldLock>(folder_)),
        jobs_(id, log_, tunnels_, {std::move(on_stop), [] {}, [] {}, nullptr}),
        executors_(id, tunnels_, {[](const core::JobInput&) {}}) {
    const auto authority = rpc::CertificateAuthority::Create(id);
    EXPECT_TRUE(os::MakeFolders(folder_.secrets()).ok());
    const rpc::Credentials client = authority->Issue(rpc::ClientRole(id)).value();
    EXPECT_TRUE(
        os::WriteFileAtomically(folder_.client_credentials(), rpc::FormatCredentials(client)).ok());
    server_ = *rpc::MasterServer::Start("127.0.0.1", rpc::Peers::kOwnUser,
                                        *authority->Issue(rpc::ApplicationMasterRole(id)), jobs_,
                                        executors_);
    EXPECT_TRUE(os::WriteFileAtomically(folder_.am_address(), server_->address()).ok());
  }
  ~ServedJob() { server_->Shutdown(std::chrono::seconds(5)); }

  void End() {
    SampleEvents job = RunningJob();
    job.End(core::Outcome::kKilled, core::Reason::kKilledByUser, "Ended by tony kill.");
    AppendEvents(folder_, {job.events().back()});
  }
  void Die() { lock_.reset(); }

 private:
  storage::JobFolder folder_;
  std::unique_ptr<HeldLock> lock_;
  rpc::EventLog log_;
  rpc::TunnelRelay tunnels_{nullptr};
  rpc::JobService jobs_;
  rpc::ExecutorService executors_;
  std::unique_ptr<rpc::MasterServer> server_;
};

}  // namespace tony::client
