// An ApplicationMaster's server with both services, and credentials to reach it with.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/executor_service.h"
#include "rpc/services/job_service.h"
#include "rpc/services/master_server.h"
#include "tests/rpc/inbox.h"

namespace tony::rpc {

inline constexpr char kJobId[] = "job-1";
inline constexpr char kContainer[] = "job-1-c0001";

/// Serves on a free port of 127.0.0.1 for the length of a test.
class MasterFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = MasterServer::Start("127.0.0.1", Peers::kOwnUser,
                                      authority_.Issue(ApplicationMasterRole(kJobId)).value(),
                                      job_service_, executor_service_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Credentials ClientCredentials() const { return authority_.Issue(ClientRole(kJobId)).value(); }
  Credentials ExecutorCredentials(const std::string& container_id = kContainer) const {
    return authority_.Issue(ExecutorRole(kJobId, container_id)).value();
  }
  const std::string& address() const { return server_->address(); }

  CertificateAuthority authority_ = CertificateAuthority::Create(kJobId).value();
  EventLog log_;
  Inbox<std::string> calls_;      ///< of the JobService: "stop: REASON", "note: SENTENCE", "owner
                                  ///< attached", "owner gone"
  Inbox<core::JobInput> inputs_;  ///< of the ExecutorService
  /// Called, if set, before each of the inputs, by gRPC's thread. To be set before the first call.
  std::function<void(const core::JobInput&)> before_input_;
  Inbox<TunnelRelay::Wish> wishes_;  ///< of clients for tunnels
  Inbox<JobService::AnswerPage> pages_;
  TunnelRelay tunnels_{[this](const TunnelRelay::Wish& wish) { wishes_.Push(wish); }};
  JobService job_service_{
      kJobId,
      log_,
      tunnels_,
      {[this](const std::string& reason) { calls_.Push(absl::StrCat("stop: ", reason)); },
       [this] { calls_.Push("owner attached"); }, [this] { calls_.Push("owner gone"); },
       [this](JobService::AnswerPage answer) { pages_.Push(std::move(answer)); },
       [this](const std::string& sentence) { calls_.Push(absl::StrCat("note: ", sentence)); }}};
  ExecutorService executor_service_{kJobId, tunnels_, {[this](core::JobInput input) {
                                      if (before_input_) before_input_(input);
                                      inputs_.Push(std::move(input));
                                    }}};
  std::unique_ptr<MasterServer> server_;
};

}  // namespace tony::rpc
