// A worker's own rendezvous server, and what is at the other end of its tunnel.
#include "executor/horovod/rendezvous_replica.h"

#include <gtest/gtest.h>

#include "rpc/convert/convert_rendezvous.h"
#include "rpc/tunnel/tunnel_relay.h"
#include "tests/common/loop_driver.h"
#include "tests/os/network/second_user.h"
#include "tests/rendezvous/gloo_worker.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {
namespace {

/// The driver's end: a feed of the store that has the truth, in frames as the tunnel carries them.
/// All on the test's loop.
class FarEnd {
 public:
  FarEnd(LoopDriver& driver, rendezvous::LocalStore& truth) : driver_(driver), truth_(truth) {}

  RendezvousReplica::Dial Dial() {
    return [this](auto callbacks) { return std::make_unique<End>(*this, std::move(callbacks)); };
  }
  /// The tunnel breaks, now.
  void Break() {
    feed_.reset();
    end_->callbacks.on_closed(absl::UnavailableError("the driver's executor is gone"));
  }
  int dialled() const { return dialled_; }
  size_t longest() const { return longest_; }
  bool refuses = false;

 private:
  struct End : rpc::TunnelEnd {
    End(FarEnd& far, Callbacks given) : far(far), callbacks(std::move(given)) { far.OnDial(*this); }
    ~End() override {
      if (far.end_ == this) far.end_ = nullptr;
    }
    void Read() override {
      wants = true;
      far.Deliver();
    }
    void Write(v1::TunnelFrame frame) override { far.Take(frame.data()); }

    FarEnd& far;
    const Callbacks callbacks;
    bool wants = false;
  };

  void OnDial(End& end) {
    ++dialled_;
    end_ = &end;
    bytes_.clear();
    frames_ = std::make_unique<FrameReader>(rpc::kMostRendezvousFrameBytes, "frames");
    if (refuses) return end.callbacks.on_closed(absl::FailedPreconditionError("not there yet"));
    end.callbacks.on_written();
    feed_ = std::make_unique<rendezvous::ReplicaFeed>(
        truth_, [this](const core::ReplicaMessage& message) {
          const rpc::ReplicaFrame frame = rpc::ToFrame(message);
          bytes_ += frame.head;
          if (frame.value != nullptr) bytes_ += *frame.value;
          Deliver();
        });
    driver_.Changed();
  }
  /// Pieces that end anywhere.
  void Deliver() {
    if (end_ == nullptr || !end_->wants || bytes_.empty()) return;
    end_->wants = false;
    v1::TunnelFrame frame;
    frame.set_data(bytes_.substr(0, 1000));
    bytes_.erase(0, 1000);
    end_->callbacks.on_frame(std::move(frame));
  }
  void Take(const std::string& bytes) {
    longest_ = std::max(longest_, bytes.size());
    const absl::Status taken = frames_->Take(bytes, [this](const std::string& frame) {
      const auto request = rpc::ReplicaRequestIn(frame);
      if (request.ok() && request->has_value()) feed_->OnRequest(**request);
      return request.status();
    });
    ASSERT_TRUE(taken.ok()) << taken;
    end_->callbacks.on_written();
    driver_.Changed();
  }

  LoopDriver& driver_;
  rendezvous::LocalStore& truth_;
  End* end_ = nullptr;
  std::string bytes_;  ///< to the replica
  std::unique_ptr<FrameReader> frames_;
  std::unique_ptr<rendezvous::ReplicaFeed> feed_;
  int dialled_ = 0;
  size_t longest_ = 0;  ///< frame of the tunnel's
};

class RendezvousReplicaTest : public ::testing::Test {
 protected:
  void Start() {
    auto replica = RendezvousReplica::Start(driver_.loop(), far_.Dial());
    ASSERT_TRUE(replica.ok()) << replica.status();
    replica_ = *std::move(replica);
  }
  /// Runs a worker's request on a thread of its own while the loop runs.
  template <typename Ask>
  auto AsWorker(Ask ask) {
    rendezvous::HttpStoreClient client({.port = replica_->port()});
    return driver_.AwaitThread([&] { return ask(client); }).value();
  }
  absl::Status Put(const std::string& key, const std::string& value) {
    return AsWorker(
        [&](rendezvous::HttpStoreClient& client) { return client.Put("global", key, value); });
  }
  absl::StatusOr<std::string> Get(const std::string& key) {
    return AsWorker([&](rendezvous::HttpStoreClient& client) { return client.Get("global", key); });
  }

  LoopDriver driver_;
  rendezvous::LocalStore truth_{driver_.loop(), core::StoreLimits::For(64)};
  FarEnd far_{driver_, truth_};
  std::unique_ptr<RendezvousReplica> replica_;
};

TEST_F(RendezvousReplicaTest, WhatAWorkerPutsIsTheTruth) {
  Start();
  EXPECT_EQ(Put("0", "addresses"), absl::OkStatus());
  EXPECT_EQ(*truth_.Get("global", "0"), "addresses");
  EXPECT_EQ(*Get("0"), "addresses");
}

TEST_F(RendezvousReplicaTest, LongValuesGoInShortFrames) {
  Start();
  const std::string value(rpc::TunnelRelay::kMostFrameBytes * 3 / 2, 'v');
  EXPECT_EQ(Put("0", value), absl::OkStatus());
  EXPECT_TRUE(*truth_.Get("global", "0") == value);
  EXPECT_TRUE(*Get("0") == value);
  EXPECT_LE(far_.longest(), rpc::TunnelRelay::kMostFrameBytes);
}

TEST_F(RendezvousReplicaTest, WhatWasThereBeforeIsRead) {
  truth_.Put("global", "1", std::make_shared<const std::string>("early"),
             [](const absl::Status&) {});
  Start();
  EXPECT_EQ(*Get("1"), "early");
}

TEST_F(RendezvousReplicaTest, WhereAWorkerIsToldSomethingOnlyTheDriverReads) {
  Start();
  const auto put = [](rendezvous::HttpStoreClient& client) {
    return client.Put("worker_addresses", "a:0", "secret");
  };
  const auto get = [](rendezvous::HttpStoreClient& client) {
    return client.Get("worker_addresses", "a:0");
  };
  EXPECT_EQ(AsWorker(put), absl::OkStatus());
  EXPECT_EQ(*truth_.Get("worker_addresses", "a:0"), "secret");
  EXPECT_EQ(*AsWorker(get), "");
}

TEST_F(RendezvousReplicaTest, AnotherUserGetsNothing) {
  if (!os::CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  Start();
  EXPECT_EQ(Put("0", "addresses"), absl::OkStatus());
  for (const char* request : {"GET /global/0 HTTP/1.1\r\n\r\n",
                              "PUT /runfunc/func HTTP/1.1\r\nContent-Length: 4\r\n\r\nevil"}) {
    const auto received =
        driver_.AwaitThread([&] { return os::AskAsSecondUser(replica_->port(), request); });
    EXPECT_EQ(received, "") << request;
  }
  EXPECT_EQ(*Get("0"), "addresses");
  EXPECT_EQ(truth_.Get("runfunc", "func"), nullptr);
}

TEST_F(RendezvousReplicaTest, ATunnelThatBreaksIsDialledAgain) {
  Start();
  EXPECT_EQ(Put("0", "before"), absl::OkStatus());
  far_.Break();
  truth_.Put("global", "1", std::make_shared<const std::string>("meanwhile"),
             [](const absl::Status&) {});
  EXPECT_EQ(Put("2", "after"), absl::OkStatus());
  EXPECT_EQ(far_.dialled(), 2);
  EXPECT_EQ(*truth_.Get("global", "2"), "after");
  EXPECT_EQ(*Get("1"), "meanwhile");
}

TEST_F(RendezvousReplicaTest, ADriverThatIsNotThereYetIsWaitedFor) {
  far_.refuses = true;
  Start();
  ASSERT_TRUE(driver_.Await([this] {
    driver_.Changed();
    return far_.dialled() >= 3;
  }));
  far_.refuses = false;
  EXPECT_EQ(Put("0", "at last"), absl::OkStatus());
}

}  // namespace
}  // namespace tony::executor
