// Notifications over real connections: good workers, slow ones, and who else may listen there.
#include "driver/worker_notifier.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/tcp_socket.h"
#include "os/files/message_digest.h"
#include "tests/common/loop_driver.h"
#include "tests/driver/worker_pickle.h"

namespace tony::driver {
namespace {

using namespace std::chrono_literals;

/// The content of Horovod's AckResponse, in a frame of whoever knows `secret`.
std::string Ack(const std::string& secret) {
  const std::string pickle = FramedPickle(
      "\x8c\"horovod.runner.common.util.network\x94\x8c\x0b"
      "AckResponse\x94\x93\x94)\x81\x94.");
  return os::HmacSha256(secret, pickle).value() +
         std::string{static_cast<char>(pickle.size()), 0, 0, 0} + pickle;
}

/// Listens as a worker does, and does with a request what the test says.
class Peer {
 public:
  using Answer = std::function<void(TcpSocket&)>;

  Peer(LoopDriver& loop, Answer answer, size_t request_bytes) : loop_(loop) {
    listener_ = *TcpListener::Listen(loop.loop(), "127.0.0.1", 0,
                                     [this, answer, request_bytes](auto socket) {
                                       socket_ = std::move(socket);
                                       received_.clear();
                                       ++connections_;
                                       loop_.Changed();
                                       Read(answer, request_bytes);
                                     });
    endpoint_ = {"lo", "127.0.0.1", listener_->port()};
  }

  const WorkerAddress::Endpoint& endpoint() const { return endpoint_; }
  const std::string& received() const { return received_; }
  int connections() const { return connections_; }
  bool ended() const { return ended_; }
  TcpSocket& socket() { return *socket_; }
  void Close() { socket_.reset(); }
  /// From now on connections to its port are refused.
  void Refuse() { listener_.reset(); }

 private:
  void Read(const Answer& answer, size_t request_bytes) {
    socket_->Read([this, answer, request_bytes](absl::StatusOr<std::string> bytes) {
      loop_.Changed();
      ended_ = !bytes.ok() || bytes->empty();
      if (ended_) return;
      received_ += *bytes;
      if (received_.size() == request_bytes) answer(*socket_);
      if (socket_) Read(answer, request_bytes);
    });
  }

  LoopDriver& loop_;
  std::unique_ptr<TcpListener> listener_;
  WorkerAddress::Endpoint endpoint_;
  std::unique_ptr<TcpSocket> socket_;
  std::string received_;
  int connections_ = 0;
  bool ended_ = false;
};

void IgnoreWritten(const absl::Status&) {}

class WorkerNotifierTest : public ::testing::Test {
 protected:
  static constexpr int64_t kTimestamp = 1'700'000'000;

  WorkerNotifierTest()
      : request_(HostsUpdatedRequest(TestSecret(), kTimestamp, HostChange::kMixed).value()) {}

  std::unique_ptr<Peer> MakePeer(Peer::Answer answer) {
    return std::make_unique<Peer>(loop_, std::move(answer), request_.size());
  }
  std::unique_ptr<Peer> Good() { return Saying(Ack(TestSecret())); }
  std::unique_ptr<Peer> Saying(const std::string& reply) {
    return MakePeer([reply](TcpSocket& socket) { socket.Write(reply, IgnoreWritten); });
  }
  std::unique_ptr<Peer> Silent() {
    return MakePeer([](TcpSocket&) {});
  }
  std::unique_ptr<Peer> Refusing() {
    auto peer = Silent();
    peer->Refuse();
    return peer;
  }

  void Notify(const std::vector<const Peer*>& peers) {
    WorkerAddress worker{{}, TestSecret()};
    for (const Peer* peer : peers) worker.endpoints.push_back(peer->endpoint());
    notifier_->Notify(worker, WorkerMachine::kThis, kTimestamp, HostChange::kMixed,
                      [this](const absl::Status& status) {
                        EXPECT_FALSE(done_.has_value()) << status;
                        done_ = status;
                        loop_.Changed();
                      });
    EXPECT_FALSE(done_.has_value());
  }
  /// The outcome.
  absl::Status Done() {
    if (!loop_.Await([this] { return done_.has_value(); })) return absl::UnknownError("never");
    return *std::exchange(done_, std::nullopt);
  }
  absl::Status Notified(const std::vector<const Peer*>& peers) {
    Notify(peers);
    return Done();
  }
  void SetLimits(std::chrono::milliseconds next_address, std::chrono::milliseconds in_all) {
    notifier_ = std::make_unique<WorkerNotifier>(loop_.loop(),
                                                 WorkerNotifier::Limits{next_address, in_all});
  }

  LoopDriver loop_;
  const std::string request_;
  std::optional<absl::Status> done_;
  // Longer than any test takes, unless it is about them.
  std::unique_ptr<WorkerNotifier> notifier_ =
      std::make_unique<WorkerNotifier>(loop_.loop(), WorkerNotifier::Limits{kPatience, kPatience});
};

TEST_F(WorkerNotifierTest, AWorkerHears) {
  const auto worker = Good(), other = Good();
  EXPECT_EQ(Notified({worker.get(), other.get()}), absl::OkStatus());
  EXPECT_EQ(worker->received(), request_);
  EXPECT_EQ(worker->connections(), 1);
  EXPECT_EQ(other->connections(), 0);
  EXPECT_TRUE(loop_.Await([&] { return worker->ended(); }));
}

TEST_F(WorkerNotifierTest, AnAnswerMayComeInPieces) {
  const std::string ack = Ack(TestSecret());
  std::function<void(TcpSocket&, size_t)> send = [&](TcpSocket& socket, size_t at) {
    socket.Write(ack.substr(at, 1), [&, at](const absl::Status& status) {
      ASSERT_TRUE(status.ok()) << status;
      if (at + 1 < ack.size()) send(socket, at + 1);
    });
  };
  const auto worker = MakePeer([&](TcpSocket& socket) { send(socket, 0); });
  EXPECT_EQ(Notified({worker.get()}), absl::OkStatus());
}

TEST_F(WorkerNotifierTest, OnlyWhoKnowsTheSecretIsTheWorker) {
  const auto stranger = Saying(Ack(std::string(32, 's')));
  const absl::Status status = Notified({stranger.get()});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                absl::StrCat("127.0.0.1:", stranger->endpoint().port, " (lo): ")));
  EXPECT_TRUE(absl::StrContains(status.message(), "does not know the worker's secret")) << status;
  const auto worker = Good();
  EXPECT_EQ(Notified({stranger.get(), worker.get()}), absl::OkStatus());
}

TEST_F(WorkerNotifierTest, WhatIsNoAnswer) {
  const std::string ack = Ack(TestSecret());
  const std::string digest(32, 'd');
  const std::pair<std::string, std::string> cases[] = {
      {ack + "more", "bytes that says it has"},
      {digest + std::string(4, '\xff'), "which no worker sends"},
      {digest + std::string("\0\0\1\0", 4) + std::string(70'000, 'x'), "which no worker sends"},
      {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "which no worker sends"},
  };
  for (const auto& [reply, why] : cases) {
    const auto peer = Saying(reply);
    const absl::Status status = Notified({peer.get()});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << why;
    EXPECT_TRUE(absl::StrContains(status.message(), why)) << status;
  }
}

TEST_F(WorkerNotifierTest, WhoEndsWithoutAnAnswerFails) {
  for (const size_t size : {0, 1, 36, 60}) {
    std::unique_ptr<Peer> peer = MakePeer([&](TcpSocket& socket) {
      if (size == 0) return peer->Close();
      socket.Write(Ack(TestSecret()).substr(0, size), [&](const absl::Status&) { peer->Close(); });
    });
    const absl::Status status = Notified({peer.get()});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(absl::StrContains(status.message(), "without an answer")) << status;
  }
  std::unique_ptr<Peer> breaking = MakePeer([&](TcpSocket& socket) { socket.Break(); });
  const absl::Status status = Notified({breaking.get()});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "the connection is lost")) << status;
}

TEST_F(WorkerNotifierTest, TheNextAddressIsTriedAtOnceWhenOneRefuses) {
  const auto nobody = Refusing();
  const auto worker = Good();
  EXPECT_EQ(Notified({nobody.get(), worker.get()}), absl::OkStatus());
  EXPECT_EQ(worker->connections(), 1);
}

TEST_F(WorkerNotifierTest, ASilentAddressDoesNotHoldUpTheNextOne) {
  SetLimits(20ms, kPatience);
  const auto silent = Silent(), worker = Good();
  EXPECT_EQ(Notified({silent.get(), worker.get()}), absl::OkStatus());
  EXPECT_EQ(silent->received(), request_);
  EXPECT_TRUE(loop_.Await([&] { return silent->ended(); }));
}

TEST_F(WorkerNotifierTest, ASlowWorkerIsHeardWhileOthersAreTried) {
  SetLimits(20ms, kPatience);
  const auto slow = Silent(), nobody = Refusing(), silent = Silent();
  Notify({slow.get(), nobody.get(), silent.get()});
  EXPECT_TRUE(loop_.Await([&] { return silent->received() == request_; }));
  EXPECT_FALSE(done_.has_value());
  slow->socket().Write(Ack(TestSecret()), IgnoreWritten);
  EXPECT_EQ(Done(), absl::OkStatus());
  EXPECT_TRUE(loop_.Await([&] { return silent->ended(); }));
}

TEST_F(WorkerNotifierTest, TheLastFailureEndsIt) {
  const auto nobody = Refusing(), silent = Silent();
  Notify({nobody.get(), silent.get()});
  EXPECT_TRUE(loop_.Await([&] { return silent->received() == request_; }));
  EXPECT_FALSE(done_.has_value());
  silent->socket().Write(Ack(std::string(32, 's')), IgnoreWritten);
  const absl::Status status = Done();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string first =
      absl::StrCat("127.0.0.1:", nobody->endpoint().port, " (lo): Connection refused; 127.0.0.1:");
  EXPECT_TRUE(absl::StrContains(status.message(), first)) << status;
}

TEST_F(WorkerNotifierTest, NoWaitIsWithoutEnd) {
  SetLimits(10ms, 100ms);
  const auto nobody = Refusing(), silent = Silent();
  const absl::Status status = Notified({nobody.get(), silent.get()});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(status.message(), "within 100ms: 127.0.0.1:")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "refused; 127.0.0.1:")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "no answer")) << status;
  EXPECT_TRUE(loop_.Await([&] { return silent->ended(); }));

  SetLimits(kPatience, 50ms);
  const absl::Status untried = Notified({silent.get(), nobody.get(), nobody.get()});
  EXPECT_EQ(untried.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(untried.message(), "; addresses not tried: 2")) << untried;
}

TEST_F(WorkerNotifierTest, ASentenceStaysShort) {
  const auto nobody = Refusing();
  const absl::Status status = Notified(std::vector<const Peer*>(1000, nobody.get()));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "; and 996 more")) << status;
  EXPECT_LT(status.message().size(), 500U);
}

TEST_F(WorkerNotifierTest, AWorkerWithoutAnAddress) {
  const absl::Status status = Notified({});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "it has no address")) << status;
}

TEST_F(WorkerNotifierTest, AfterItsEndNobodyIsCalled) {
  const auto worker = Silent(), nobody = Refusing();
  Notify({worker.get()});
  Notify({nobody.get()});
  notifier_.reset();
  // Functions that were posted before run before this.
  bool reached = false;
  loop_.loop().Post([&] {
    reached = true;
    loop_.Changed();
  });
  EXPECT_TRUE(loop_.Await([&] { return reached; }));
  EXPECT_FALSE(done_.has_value());
  EXPECT_EQ(worker->connections(), 0);

  SetLimits(kPatience, kPatience);
  Notify({worker.get()});
  EXPECT_TRUE(loop_.Await([&] { return worker->received() == request_; }));
  worker->socket().Write(Ack(TestSecret()), IgnoreWritten);
  notifier_.reset();
  EXPECT_TRUE(loop_.Await([&] { return worker->ended(); }));
  EXPECT_FALSE(done_.has_value());
}

TEST_F(WorkerNotifierTest, WhoIsCalledMayEndItOrNotifyAgain) {
  const auto worker = Good(), nobody = Refusing();
  const auto address = [](const Peer& peer) {
    return WorkerAddress{{peer.endpoint()}, TestSecret()};
  };
  int called = 0;
  const auto end = [&](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    ++called;
    notifier_.reset();
    loop_.Changed();
  };
  notifier_->Notify(address(*worker), WorkerMachine::kThis, kTimestamp, HostChange::kMixed,
                    [&](const absl::Status& status) {
                      EXPECT_EQ(status, absl::OkStatus());
                      ++called;
                      notifier_->Notify(address(*nobody), WorkerMachine::kThis, kTimestamp,
                                        HostChange::kMixed, end);
                    });
  EXPECT_TRUE(loop_.Await([&] { return notifier_ == nullptr; }));
  EXPECT_EQ(called, 2);
}

TEST_F(WorkerNotifierTest, SeveralAtATime) {
  const auto slow = Silent(), worker = Good();
  Notify({slow.get()});
  EXPECT_TRUE(loop_.Await([&] { return slow->received() == request_; }));
  EXPECT_EQ(Notified({worker.get()}), absl::OkStatus());
  slow->socket().Write(Ack(TestSecret()), IgnoreWritten);
  EXPECT_EQ(Done(), absl::OkStatus());
}

TEST(EndpointsToTryTest, LoopbackIsForWorkersOfThisMachine) {
  const WorkerAddress::Endpoint one{"eth0", "10.0.0.1", 2000}, two{"eth1", "12.7.0.1", 2000};
  const WorkerAddress::Endpoint lo{"lo", "127.0.0.1", 2000}, lo2{"lo", "127.0.1.1", 2000};
  const WorkerAddress::Endpoint any{"odd", "0.0.0.0", 2000};
  const WorkerAddress worker{{one, lo, two, lo2, any}, TestSecret()};
  using Endpoints = std::vector<WorkerAddress::Endpoint>;
  EXPECT_EQ(EndpointsToTry(worker, WorkerMachine::kThis), (Endpoints{lo, lo2, any, one, two}));
  EXPECT_EQ(EndpointsToTry(worker, WorkerMachine::kAnother), (Endpoints{one, two}));
  const WorkerAddress only{{lo, lo2}, TestSecret()};
  EXPECT_EQ(EndpointsToTry(only, WorkerMachine::kThis), (Endpoints{lo, lo2}));
  EXPECT_EQ(EndpointsToTry(only, WorkerMachine::kAnother), (Endpoints{lo, lo2}));
}

}  // namespace
}  // namespace tony::driver
