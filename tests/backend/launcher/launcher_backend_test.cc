// The backend against a fake launcher at the other end of a real socket pair.
#include "backend/launcher/launcher_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "backend/launcher/packet_socket.h"
#include "os/files/wait_readable.h"
#include "tests/backend/local/backend_support.h"

namespace tony::backend {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kJob[] = "job-1";

core::ContainerRequest Workers(int count, int gpus = 0) {
  return {
      .type = "worker", .count = count, .resources = {.memory_mb = 512, .vcores = 1, .gpus = gpus}};
}

/// An executor's answer, for a test that waits for it on another thread.
class AnswerBox {
 public:
  LauncherBackend::Answer Taker() {
    return
        [this](const absl::StatusOr<core::LaunchContext>& answer) { promise_.set_value(answer); };
  }
  absl::StatusOr<core::LaunchContext> Wait() {
    auto future = promise_.get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) {
      return absl::DeadlineExceededError("no answer");
    }
    return future.get();
  }

 private:
  std::promise<absl::StatusOr<core::LaunchContext>> promise_;
};

class LauncherBackendTest : public ::testing::Test {
 protected:
  LauncherBackendTest() { Connect(); }
  ~LauncherBackendTest() override {
    loop_.Run([this] { backend_.reset(); });
  }

  void Connect() {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    launcher_.Reset(ends[0]);
    socket_.Reset(ends[1]);
  }

  void Make(int incarnation = 1) {
    LauncherBackendOptions options;
    options.job_id = kJob;
    options.incarnation = incarnation;
    options.socket = std::move(socket_);
    options.files = {{"a/b", "/here/b"}};
    options.make_voucher = [](const std::string& id) { return absl::StrCat("voucher of ", id); };
    options.void_voucher = [this](const std::string& id) { void_.insert(id); };
    options.on_lost = [this](const std::string& why) { lost_.set_value(why); };
    loop_.Run([&] {
      backend_ = std::make_unique<LauncherBackend>(loop_.loop(), std::move(options), listener_);
      return 0;
    });
  }

  template <typename Function>
  void OnBackend(Function function) {
    loop_.Run([&] {
      function(*backend_);
      return 0;
    });
  }

  void Request(const core::ContainerRequest& request) {
    OnBackend([&](LauncherBackend& backend) { backend.Request({request}); });
  }

  /// The next packet of the backend; an empty object when patience ends, or at the end.
  json Next() {
    if (!os::WaitReadable(launcher_.get(), kPatience)) return json::object();
    std::string bytes(kMostPacketBytes, '\0');
    const ssize_t size = ::recv(launcher_.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) return json::object();
    return json::parse(bytes.substr(0, static_cast<size_t>(size)));
  }
  /// The next packet of the type.
  json Next(const std::string& type) {
    json packet = Next();
    while (!packet.empty() && packet["type"] != type) packet = Next();
    return packet;
  }

  void Send(const std::string& bytes) {
    ASSERT_EQ(::send(launcher_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void SendEnded(const std::string& id, const std::string& sentence) {
    Send(json{{"type", "ended"},
              {"container", id},
              {"lost", true},
              {"seen", false},
              {"sentence", sentence}}
             .dump());
  }

  void Redeem(const std::string& id, AnswerBox& box, std::vector<int> gpus = {}) {
    OnBackend([&](LauncherBackend& backend) {
      backend.OnRedeemed({.id = id,
                          .host = "node-7",
                          .host_id = "boot-7",
                          .gpus = std::move(gpus),
                          .executor = {.pid = 77, .start_ticks = 7}},
                         box.Taker());
    });
  }

  std::string WaitLost() {
    auto future = lost_.get_future();
    return future.wait_for(kPatience) == std::future_status::ready ? future.get() : "not lost";
  }

  LoopThread loop_;
  RecordingListener listener_;
  os::UniqueFd launcher_;
  os::UniqueFd socket_;
  std::set<std::string> void_;  ///< containers whose voucher is void; the loop's
  std::promise<std::string> lost_;
  std::unique_ptr<LauncherBackend> backend_;
};

TEST_F(LauncherBackendTest, BeginsWithHelloAndFiles) {
  Make();
  Request(Workers(1));
  const json hello = Next();
  EXPECT_EQ(hello["type"], "hello");
  EXPECT_EQ(hello["version"], 1);
  EXPECT_EQ(hello["job"], kJob);
  EXPECT_THAT(hello["containers"], IsEmpty());
  EXPECT_EQ(Next(), (json{{"type", "file"}, {"name", "a/b"}, {"path", "/here/b"}}));
  const json start = Next();
  EXPECT_EQ(start["type"], "start");
  EXPECT_EQ(start["container"], "job-1-c0001");
  EXPECT_EQ(start["task_type"], "worker");
  EXPECT_EQ(start["memory_mb"], 512);
  EXPECT_EQ(start["voucher"], "voucher of job-1-c0001");
}

TEST_F(LauncherBackendTest, RedeemedIsGrantedAndLaunchIsTheAnswer) {
  Make();
  Request(Workers(2, 1));
  EXPECT_EQ(Next("start")["container"], "job-1-c0001");
  EXPECT_EQ(Next("start")["container"], "job-1-c0002");
  AnswerBox box;
  Redeem("job-1-c0002", box, {3});
  const std::vector<core::Container> granted = listener_.WaitGranted(1);
  ASSERT_EQ(granted.size(), 1U);
  EXPECT_EQ(granted[0].id, "job-1-c0002");
  EXPECT_EQ(granted[0].type, "worker");
  EXPECT_EQ(granted[0].host, "node-7");
  EXPECT_EQ(granted[0].host_id, "boot-7");
  EXPECT_THAT(granted[0].gpus, ElementsAre(3));
  EXPECT_EQ(granted[0].resources.memory_mb, 512);
  EXPECT_EQ(granted[0].executor.pid, 77);
  OnBackend([](LauncherBackend& backend) {
    backend.Launch("job-1-c0002", {.arguments = {"--x"}, .environment = {"A=b"}, .secret = "pem"});
  });
  const absl::StatusOr<core::LaunchContext> order = box.Wait();
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_THAT(order->arguments, ElementsAre("--x"));
  EXPECT_EQ(order->secret, "pem");
}

TEST_F(LauncherBackendTest, StrangersAndLateComersAreRefused) {
  Make();
  Request(Workers(1));
  AnswerBox stranger;
  Redeem("job-1-c0099", stranger);
  EXPECT_TRUE(absl::IsNotFound(stranger.Wait().status()));
  OnBackend([](LauncherBackend& backend) { backend.CancelRequests(); });
  EXPECT_EQ(Next("kill"), (json{{"type", "kill"}, {"container", "job-1-c0001"}, {"gone", false}}));
  AnswerBox late;
  Redeem("job-1-c0001", late);
  EXPECT_TRUE(absl::IsNotFound(late.Wait().status()));
  EXPECT_EQ(listener_.granted_count(), 0U);
  loop_.Run([&] {
    EXPECT_THAT(void_, ElementsAre("job-1-c0001"));
    return 0;
  });
}

TEST_F(LauncherBackendTest, TooFewGpusAreRefused) {
  Make();
  Request(Workers(1, 2));
  AnswerBox box;
  Redeem("job-1-c0001", box, {0});
  EXPECT_TRUE(absl::IsFailedPrecondition(box.Wait().status()));
  EXPECT_THAT(listener_.WaitRefused(), HasSubstr("1 GPUs, and tony.worker.gpus is 2"));
}

TEST_F(LauncherBackendTest, KillWaitsForTheLaunchersReport) {
  Make();
  Request(Workers(1));
  AnswerBox box;
  Redeem("job-1-c0001", box);
  OnBackend([](LauncherBackend& backend) {
    backend.Launch("job-1-c0001", {});
    backend.Kill("job-1-c0001");
  });
  EXPECT_EQ(Next("kill")["container"], "job-1-c0001");
  EXPECT_EQ(listener_.ended_count(), 0U);
  SendEnded("job-1-c0001", "killed");
  const core::ContainerEnd end = listener_.WaitEnded("job-1-c0001");
  EXPECT_TRUE(end.lost);
  EXPECT_FALSE(end.seen);
  EXPECT_EQ(end.sentence, "killed");
}

TEST_F(LauncherBackendTest, AnExecutorTellsItsOwnEnd) {
  Make();
  Request(Workers(1));
  AnswerBox box;
  Redeem("job-1-c0001", box);
  OnBackend([](LauncherBackend& backend) {
    backend.Launch("job-1-c0001", {});
    backend.OnExecutorLeft("job-1-c0001", {.lost = true, .sentence = "its JVM is gone"});
  });
  EXPECT_EQ(listener_.WaitEnded("job-1-c0001").sentence, "its JVM is gone");
  EXPECT_EQ(Next("kill")["gone"], true);
  // The launcher's own report comes too late, and changes nothing.
  SendEnded("job-1-c0001", "lost");
  Send(json{{"type", "waiting"}, {"sentence", "later"}, {"unblock", ""}}.dump());
  EXPECT_THAT(listener_.WaitWaiting(), HasSubstr("later"));
  EXPECT_EQ(listener_.ended_count(), 1U);
}

TEST_F(LauncherBackendTest, AnOrderThatCameToNothingGoesOutAgainSomeTimes) {
  Make();
  Request(Workers(1));
  for (int number = 1; number < 10; ++number) {
    const std::string id = Next("start")["container"];
    EXPECT_EQ(id, absl::StrCat("job-1-c000", number));
    SendEnded(id, "no such file");
  }
  SendEnded(Next("start")["container"], "no such file");
  EXPECT_THAT(listener_.WaitRefused(), HasSubstr("10 times in a row; the last time: no such file"));
  EXPECT_EQ(listener_.ended_count(), 0U);
  // The next request has as many.
  Request(Workers(1));
  SendEnded(Next("start")["container"], "no such file");
  EXPECT_EQ(Next("start")["container"], "job-1-c0012");
}

TEST_F(LauncherBackendTest, RefusalAndWaitingReachTheListener) {
  Make();
  Request(Workers(2));
  Send(json{{"type", "waiting"}, {"sentence", "1 of 2"}, {"unblock", "one more"}}.dump());
  EXPECT_EQ(listener_.WaitWaiting(), "1 of 2 | one more");
  Send(json{{"type", "refused"}, {"never_fits", true}, {"sentence", "too\x1b[2Jmany"}}.dump());
  const std::string refused = listener_.WaitRefused();
  EXPECT_THAT(refused, HasSubstr("never: "));
  EXPECT_EQ(refused.find('\x1b'), std::string::npos);
}

TEST_F(LauncherBackendTest, TheNextApplicationMasterNamesItsContainersAndNewIds) {
  Make(/*incarnation=*/2);
  OnBackend([](LauncherBackend& backend) {
    backend.Reclaim({{.id = "job-1-c0001", .type = "worker"}, {.id = "job-1-c0002"}});
  });
  const json hello = Next("hello");
  EXPECT_THAT(hello["containers"], ElementsAre("job-1-c0001", "job-1-c0002"));
  EXPECT_EQ(hello["incarnation"], 2);
  SendEnded("job-1-c0002", "unknown");
  EXPECT_EQ(listener_.WaitEnded("job-1-c0002").sentence, "unknown");
  Request(Workers(1));
  EXPECT_EQ(Next("start")["container"], "job-1-a2-c0001");
}

TEST_F(LauncherBackendTest, UnknownReportsAreIgnored) {
  Make();
  Request(Workers(1));
  Send(R"({"type":"news","what":1})");
  Send(json{{"type", "waiting"}, {"sentence", "after"}, {"unblock", ""}}.dump());
  EXPECT_THAT(listener_.WaitWaiting(), HasSubstr("after"));
}

TEST_F(LauncherBackendTest, TheEndOfTheSocketIsTheLaunchersLoss) {
  Make();
  Request(Workers(1));
  launcher_.Reset();
  EXPECT_THAT(WaitLost(), HasSubstr("closed"));
}

TEST_F(LauncherBackendTest, ReportsBeforeTheEndStillCount) {
  Make();
  Request(Workers(1));
  Send(json{{"type", "refused"}, {"never_fits", false}, {"sentence", "full"}}.dump());
  launcher_.Reset();
  EXPECT_THAT(listener_.WaitRefused(), HasSubstr("full"));
  EXPECT_THAT(WaitLost(), HasSubstr("closed"));
}

class BadReportTest : public LauncherBackendTest,
                      public ::testing::WithParamInterface<std::string> {};

TEST_P(BadReportTest, EndsTheConnection) {
  Make();
  Send(GetParam());
  EXPECT_THAT(WaitLost(), HasSubstr("no report"));
}

INSTANTIATE_TEST_SUITE_P(Packets, BadReportTest,
                         ::testing::Values("{", "[]", "7", "{}", R"({"type":7})",
                                           R"({"type":"ended","container":"c"})",
                                           R"({"type":"refused","never_fits":1,"sentence":""})",
                                           R"({"type":"waiting","sentence":"a"})",
                                           std::string(3000, '[')));

TEST_F(LauncherBackendTest, APacketThatIsTooLongEndsTheConnection) {
  Make();
  Send(std::string(kMostPacketBytes + 1, ' '));
  EXPECT_THAT(WaitLost(), HasSubstr("too long"));
}

TEST_F(LauncherBackendTest, ALauncherThatDoesNotReadYetGetsAllOrders) {
  Make();
  constexpr int kMany = 5000;
  Request(Workers(kMany));
  int orders = 0;
  std::string last;
  while (orders < kMany) {
    const json packet = Next();
    ASSERT_FALSE(packet.empty());
    if (packet["type"] != "start") continue;
    ++orders;
    last = packet["container"];
  }
  EXPECT_EQ(last, "job-1-c5000");
}

TEST(PacketSocketTest, TakesNoOtherDescriptor) {
  EXPECT_TRUE(absl::IsInvalidArgument(PacketSocket::Check(-1)));
  EXPECT_TRUE(absl::IsInvalidArgument(PacketSocket::Check(0)));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const os::UniqueFd one(ends[0]);
  const os::UniqueFd other(ends[1]);
  EXPECT_TRUE(absl::IsInvalidArgument(PacketSocket::Check(one.get())));
}

}  // namespace
}  // namespace tony::backend
