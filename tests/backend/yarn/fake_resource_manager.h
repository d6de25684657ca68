// A ResourceManager of the test's own, for clients that have no loop, or a test's.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/rpc_client.h"
#include "hadoop/yarn/client_protocol.pb.h"
#include "tests/hadoop/fakes/fake_server.h"

namespace tony::backend {

/// Serves on a thread of its own, to whoever says a name. Thread safe.
class FakeResourceManager {
 public:
  /// A call's message to its answer's. An error is thrown as the Java class that it has as its
  /// message, but Unavailable: nothing is answered.
  using Method = std::function<absl::StatusOr<std::string>(const std::string& request)>;

  FakeResourceManager()
      : server_(std::make_unique<hadoop::FakeServer>(
            loop_, [this](const std::string& frame) { return OnFrame(frame); })),
        endpoint_(server_->endpoint()),
        thread_([this] { loop_.Run(); }) {}
  ~FakeResourceManager() {
    OnLoop([this] { server_.reset(); });
    loop_.Stop();
    thread_.join();
  }

  const hadoop::Endpoint& endpoint() const { return endpoint_; }
  hadoop::RpcClientOptions client() const {
    return {.protocol = hadoop::kApplicationClient,
            .servers = {endpoint_},
            .identity = {.user = "ann"},
            .first_backoff = std::chrono::milliseconds(2),
            .longest_backoff = std::chrono::milliseconds(10)};
  }

  /// How a method is answered from now on.
  void Answer(const std::string& name, Method method) {
    OnLoop([&] { methods_[name] = std::move(method); });
  }
  /// getApplicationReport, with this one.
  void AnswerReport(const ::hadoop::yarn::ApplicationReportProto& report) {
    ::hadoop::yarn::GetApplicationReportResponseProto response;
    *response.mutable_application_report() = report;
    Answer("getApplicationReport",
           [answer = response.SerializeAsString()](const std::string&) { return answer; });
  }
  void Throw(const std::string& name, const std::string& java_class) {
    Answer(name, [=](const std::string&) { return absl::UnknownError(java_class); });
  }
  /// How often a method was called.
  int Calls(const std::string& name) {
    int calls = 0;
    OnLoop([&] { calls = calls_[name]; });
    return calls;
  }
  /// The last message that a method was called with.
  template <typename Message>
  Message Last(const std::string& name) {
    Message message;
    OnLoop([&] { EXPECT_TRUE(message.ParseFromString(last_[name])) << name; });
    return message;
  }

 private:
  void OnLoop(const std::function<void()>& function) {
    std::promise<void> done;
    loop_.Post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::string OnFrame(const std::string& frame) {
    const hadoop::ClientFrame read(frame);
    const int id = read.header.callid();
    if (id < 0) return "";
    const std::string& name = read.request.methodname();
    ++calls_[name];
    last_[name] = read.body;
    const absl::StatusOr<std::string> answer = methods_.at(name)(read.body);
    if (answer.ok()) return hadoop::AnswerFrame(id, *answer);
    if (absl::IsUnavailable(answer.status())) return "";
    return hadoop::ErrorFrame(id, std::string(answer.status().message()));
  }

  EventLoop loop_;
  std::map<std::string, Method> methods_;
  std::map<std::string, int> calls_;
  std::map<std::string, std::string> last_;
  std::unique_ptr<hadoop::FakeServer> server_;
  const hadoop::Endpoint endpoint_;
  std::thread thread_;
};

}  // namespace tony::backend
