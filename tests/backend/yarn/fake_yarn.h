// Hadoop servers of the test's own, and a backend that speaks with them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/yarn/container_id.h"
#include "backend/yarn/yarn_backend.h"
#include "gtest/gtest.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/yarn/container_protocol.pb.h"
#include "hadoop/yarn/master_protocol.pb.h"
#include "tests/common/loop_driver.h"
#include "tests/hadoop/auth/digest_server.h"
#include "tests/hadoop/fakes/fake_server.h"

namespace tony::backend {

namespace yarn = ::hadoop::yarn;

/// Answers calls of those who hold its token. Not thread safe.
class FakeHadoop {
 public:
  /// A call's message to its answer's. An error is thrown as the Java class that it has as its
  /// message, but Unavailable: nothing is answered.
  using Method = std::function<absl::StatusOr<std::string>(const std::string& request)>;

  explicit FakeHadoop(EventLoop& loop)
      : server_(loop, [this](const std::string& frame) { return OnFrame(frame); }) {}

  static hadoop::Token TokenOfIt() { return {.identifier = "who", .password = "secret"}; }
  /// Connections from now on have to be of the holder of this one.
  void SetToken(const hadoop::Token& token) {
    digest_ = std::make_unique<hadoop::DigestServer>(token, "auth", "");
  }
  hadoop::FakeServer& server() { return server_; }
  std::map<std::string, Method> methods;
  std::vector<std::string> calls;  ///< the methods' names

 private:
  using Sasl = ::hadoop::common::RpcSaslProto;

  static std::string SaslFrame(const Sasl& message) {
    ::hadoop::common::RpcResponseHeaderProto header;
    header.set_callid(static_cast<uint32_t>(-33));
    header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
    return hadoop::EncodeFrame({&header, &message});
  }

  std::string OnFrame(const std::string& frame) {
    const hadoop::ClientFrame read(frame);
    if (read.header.callid() == -33) return OnSasl(read.sasl);
    if (read.header.callid() < 0) return "";
    const std::string& name = read.request.methodname();
    calls.push_back(name);
    const absl::StatusOr<std::string> answer = methods.at(name)(read.body);
    if (answer.ok()) return hadoop::AnswerFrame(read.header.callid(), *answer);
    if (absl::IsUnavailable(answer.status())) return "";
    return hadoop::ErrorFrame(read.header.callid(), std::string(answer.status().message()));
  }

  std::string OnSasl(const Sasl& message) {
    Sasl answer;
    if (message.state() == Sasl::INITIATE) {
      answer.set_state(Sasl::SUCCESS);
      answer.set_token(digest_->Accept(message.token()));
      return SaslFrame(answer);
    }
    answer.set_state(Sasl::NEGOTIATE);
    auto* const token = answer.add_auths();
    token->set_method("TOKEN");
    token->set_mechanism("DIGEST-MD5");
    token->set_protocol("");
    token->set_serverid("default");
    token->set_challenge(digest_->challenge());
    return SaslFrame(answer);
  }

  std::unique_ptr<hadoop::DigestServer> digest_ =
      std::make_unique<hadoop::DigestServer>(TokenOfIt(), "auth", "");
  hadoop::FakeServer server_;
};

/// A ResourceManager, one NodeManager and a backend; what the backend reports, as lines.
class YarnBackendTest : public testing::Test, public core::ClusterBackend::Listener {
 protected:
  YarnBackendTest() {
    manager_.methods["registerApplicationMaster"] = [this](const std::string&) {
      return registration_.SerializeAsString();
    };
    manager_.methods["allocate"] = [this](const std::string& request) { return Allocate(request); };
    manager_.methods["finishApplicationMaster"] = [this](const std::string&) {
      yarn::FinishApplicationMasterResponseProto response;
      response.set_isunregistered(finish_calls_-- <= 1);
      return response.SerializeAsString();
    };
    node_.methods["startContainers"] = [this](const std::string& request) {
      starts_.emplace_back().ParseFromString(request);
      return start_answer_;
    };
    node_.methods["stopContainers"] = [this](const std::string&) { return stop_answer_; };
    node_.methods["getContainerStatuses"] = [this](const std::string&) {
      return statuses_.SerializeAsString();
    };
    registration_.set_queue("q");
    registration_.mutable_maximumcapability()->set_memory(4096);
    registration_.mutable_maximumcapability()->set_virtual_cores(8);
  }

  void MakeBackend() {
    options_.scheduler = {manager_.server().endpoint()};
    options_.token = FakeHadoop::TokenOfIt();
    options_.launch.command = {"executor"};
    options_.fast_heartbeat = std::chrono::milliseconds(2);
    options_.slow_heartbeat = std::chrono::milliseconds(5);
    backend_ = std::make_unique<YarnBackend>(
        driver_.loop(), options_, *this,
        YarnBackend::Events{
            .registered = [this](const auto& answer) { Said("registered " + answer.queue); },
            .deposed = [this](const std::string& why) { Said("deposed " + why); },
            .failed = [this](const absl::Status& why) { Said("failed " + why.ToString()); },
            .warning = [this](const std::string& what) { Said("warning " + what); }});
    backend_->Start();
  }

  void OnContainerGranted(const core::Container& container) override {
    Said(absl::StrCat("granted ", container.id, " ", container.type));
  }
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override {
    Said(absl::StrCat("waiting ", what, " | ", unblock));
  }
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override {
    Said(absl::StrCat("refused ", never_fits ? "never " : "now ", sentence));
  }
  void OnContainerEnded(const std::string& id, const core::ContainerEnd& end) override {
    Said(absl::StrCat("ended ", id, end.lost ? " lost" : " exited",
                      end.seen ? " seen " : " unseen ", end.sentence));
  }

  void Said(const std::string& line) {
    lines_.push_back(line);
    driver_.Changed();
  }
  /// Whether a line that begins so comes; it is taken out.
  bool Says(const std::string& beginning) {
    return driver_.Await([&] {
      for (auto line = lines_.begin(); line != lines_.end(); ++line) {
        if (!line->starts_with(beginning)) continue;
        last_ = *line;
        lines_.erase(line);
        return true;
      }
      return false;
    });
  }
  /// Whether the ResourceManager gets an allocate call that fits, from the next one on.
  template <typename Condition>
  bool IsTold(Condition condition) {
    return driver_.Await([&] {
      while (!told_.empty()) {
        const yarn::AllocateRequestProto request = told_.front();
        told_.pop_front();
        if (condition(request)) return true;
      }
      return false;
    });
  }
  bool IsAsked(int containers) {
    return IsTold([&](const yarn::AllocateRequestProto& request) {
      if (request.ask().empty() || request.ask(0).num_containers() != containers) return false;
      ask_id_ = request.ask(0).allocation_request_id();
      return true;
    });
  }
  bool IsGivenBack(const std::string& id) {
    return IsTold([&](const yarn::AllocateRequestProto& request) {
      for (const auto& release : request.release()) {
        if (ContainerIdText(release) == id) return true;
      }
      return false;
    });
  }

  absl::StatusOr<std::string> Allocate(const std::string& bytes) {
    yarn::AllocateRequestProto request;
    EXPECT_TRUE(request.ParseFromString(bytes));
    told_.push_back(request);
    driver_.Changed();
    const bool asks = !request.ask().empty() || !request.scheduling_requests().empty();
    if (asks && !throws_at_ask_.empty()) throws_.swap(throws_at_ask_);
    if (!throws_.empty()) return absl::UnknownError(std::exchange(throws_, ""));
    yarn::AllocateResponseProto response = std::exchange(next_, {});
    response.set_response_id(request.response_id() + 1);
    response.set_num_cluster_nodes(2);
    return response.SerializeAsString();
  }

  static std::string Id(int number) { return absl::StrCat("container_1_0001_01_00000", number); }
  yarn::ContainerProto Container(int number, int64_t ask_id) {
    yarn::ContainerProto container;
    *container.mutable_id() = ParseContainerId(Id(number)).value();
    container.mutable_nodeid()->set_host("127.0.0.1");
    container.mutable_nodeid()->set_port(node_.server().endpoint().port);
    container.mutable_resource()->set_memory(512);
    container.set_allocation_request_id(ask_id);
    auto* const token = container.mutable_container_token();
    for (std::string* const part : {token->mutable_identifier(), token->mutable_password(),
                                    token->mutable_kind(), token->mutable_service()}) {
      *part = "x";
    }
    return container;
  }
  yarn::NMTokenProto NodeToken() {
    yarn::NMTokenProto token;
    *token.mutable_nodeid() = Container(1, 0).nodeid();
    *token.mutable_token() = hadoop::MessageOf(FakeHadoop::TokenOfIt());
    return token;
  }
  static yarn::ContainerStatusProto Complete(int number, int status, const std::string& why) {
    yarn::ContainerStatusProto message;
    *message.mutable_container_id() = ParseContainerId(Id(number)).value();
    message.set_state(yarn::C_COMPLETE);
    message.set_exit_status(status);
    message.set_diagnostics(why);
    return message;
  }
  /// Containers 1 to `count`, asked for and granted.
  void Grant(int count) {
    backend_->Request(
        {{.type = "worker", .count = count, .resources = {.memory_mb = 512, .vcores = 1}}});
    ASSERT_TRUE(IsAsked(count));
    *next_.add_nm_tokens() = NodeToken();
    for (int i = 1; i <= count; ++i) *next_.add_allocated_containers() = Container(i, ask_id_);
    for (int i = 1; i <= count; ++i) ASSERT_TRUE(Says("granted " + Id(i)));
  }
  /// Launches container 1, and waits until its node has answered.
  void Run() {
    backend_->Launch(Id(1), {});
    ASSERT_TRUE(driver_.Await([&] {
      driver_.Changed();
      return !starts_.empty();
    }));
  }

  LoopDriver driver_;
  FakeHadoop manager_{driver_.loop()};
  FakeHadoop node_{driver_.loop()};
  yarn::RegisterApplicationMasterResponseProto registration_;
  std::deque<yarn::AllocateRequestProto> told_;
  yarn::AllocateResponseProto next_;  ///< what the next allocate call is answered
  std::string throws_;                ///< or the class of what it throws
  std::string throws_at_ask_;         ///< the same, when it is the first to ask for something
  int finish_calls_ = 1;              ///< how often has to be asked
  std::vector<yarn::StartContainersRequestProto> starts_;
  absl::StatusOr<std::string> start_answer_ = "";
  absl::StatusOr<std::string> stop_answer_ = "";
  yarn::GetContainerStatusesResponseProto statuses_;
  int64_t ask_id_ = 0;
  YarnBackendOptions options_;
  std::vector<std::string> lines_;
  std::string last_;
  std::unique_ptr<YarnBackend> backend_;
};

}  // namespace tony::backend
