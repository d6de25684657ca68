// Replicas answer as the truth does, later.
#include "rendezvous/replica_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/rendezvous/rendezvous_progress.h"
#include "rendezvous/rendezvous_server.h"
#include "tests/common/any_peer.h"
#include "tests/common/loop_driver.h"
#include "tests/rendezvous/rendezvous_run.h"

namespace tony::rendezvous {
namespace {

core::Blob Bytes(const std::string& bytes) { return std::make_shared<const std::string>(bytes); }

/// A replica and its feed, between which each message takes a turn of the loop. While it is cut
/// what is on its way is lost.
class Link {
 public:
  Link(LoopDriver& driver, LocalStore& truth)
      : driver_(driver), truth_(truth), replica_(driver.loop()) {}

  void Connect() {
    const auto epoch = std::make_shared<bool>(true);
    connected_ = epoch;
    feed_ =
        std::make_unique<ReplicaFeed>(truth_, [this, epoch](const core::ReplicaMessage& message) {
          driver_.loop().Post([this, epoch, message] {
            if (*epoch) replica_.OnMessage(message);
            driver_.Changed();
          });
        });
    replica_.Attach([this, epoch](const core::ReplicaRequest& request) {
      driver_.loop().Post([this, epoch, request] {
        if (*epoch) feed_->OnRequest(request);
      });
    });
  }
  void Cut() {
    *connected_ = false;
    replica_.Detach();
    feed_.reset();
  }

  ReplicaStore& replica() { return replica_; }

 private:
  LoopDriver& driver_;
  LocalStore& truth_;
  ReplicaStore replica_;
  std::shared_ptr<bool> connected_;
  std::unique_ptr<ReplicaFeed> feed_;
};

class ReplicaStoreTest : public ::testing::Test {
 protected:
  std::vector<core::Slot> Plan(int hosts, int slots) {
    std::vector<core::HostSlots> each;
    for (int host = 0; host < hosts; ++host) {
      each.push_back({"host-" + std::to_string(host), slots});
    }
    const auto plan = core::PlanSlots(each, hosts * slots);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *plan;
  }
  KeyValueStore::OnDone Into(std::vector<absl::Status>& results) {
    return [this, &results](const absl::Status& status) {
      results.push_back(status);
      driver_.Changed();
    };
  }
  /// Until the replica has as many keys.
  bool AwaitKeys(const ReplicaStore& replica, size_t keys) {
    return driver_.Await([&] { return replica.content().keys() == keys; });
  }

  LoopDriver driver_;
  LocalStore truth_{driver_.loop(), core::StoreLimits::For(256)};
};

TEST_F(ReplicaStoreTest, WhoeverHasPutReads) {
  Link one(driver_, truth_), other(driver_, truth_);
  one.Connect();
  other.Connect();
  std::vector<absl::Status> results;
  one.replica().Put("scope", "key", Bytes("value"), Into(results));
  EXPECT_EQ(truth_.Get("scope", "key"), nullptr);
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 1; }));
  EXPECT_TRUE(results[0].ok()) << results[0];
  ASSERT_NE(one.replica().Get("scope", "key"), nullptr);
  EXPECT_EQ(one.replica().Get("scope", "key"), truth_.Get("scope", "key"));  // not copied
  ASSERT_TRUE(AwaitKeys(other.replica(), 1));
  EXPECT_EQ(*other.replica().Get("scope", "key"), "value");

  other.replica().Remove("scope", "key", Into(results));
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 2; }));
  EXPECT_EQ(other.replica().Get("scope", "key"), nullptr);
  EXPECT_TRUE(AwaitKeys(one.replica(), 0));
}

TEST_F(ReplicaStoreTest, SecretsStayWhereTheTruthIs) {
  const auto ignore = [](const absl::Status&) {};
  truth_.Put("worker_addresses", "a:0", Bytes("secret"), ignore);
  truth_.Put("scope", "before", Bytes("x"), ignore);
  Link one(driver_, truth_), other(driver_, truth_);
  one.Connect();
  other.Connect();
  ASSERT_TRUE(AwaitKeys(other.replica(), 1));
  std::vector<absl::Status> results;
  one.replica().Put("worker_addresses", "b:0", Bytes("secret"), Into(results));
  one.replica().Put("scope", "after", Bytes("x"), Into(results));
  ASSERT_TRUE(AwaitKeys(other.replica(), 2));
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 2; }));
  EXPECT_TRUE(results[0].ok()) << results[0];
  EXPECT_EQ(*truth_.Get("worker_addresses", "b:0"), "secret");
  for (Link* link : {&one, &other}) {
    EXPECT_FALSE(link->replica().content().scopes().contains("worker_addresses"));
  }
}

TEST_F(ReplicaStoreTest, WhoWaitsAtAReplicaGetsWhatAnotherHasPut) {
  Link one(driver_, truth_), other(driver_, truth_);
  one.Connect();
  other.Connect();
  std::vector<std::string> values;
  const auto wait = one.replica().Await("scope", "0", [&](const core::Blob& value) {
    values.push_back(*value);
    driver_.Changed();
  });
  auto unwanted = one.replica().Await("scope", "0", [&](const core::Blob&) { ADD_FAILURE(); });
  unwanted.reset();
  other.replica().Put("scope", "0", Bytes("value"), [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] { return !values.empty(); }));
  EXPECT_EQ(values, std::vector<std::string>{"value"});
}

TEST_F(ReplicaStoreTest, ALateReplicaHearsAll) {
  truth_.Begin(Plan(1, 2));
  std::vector<absl::Status> results;
  truth_.Put("global", "0", Bytes("zero"), Into(results));
  truth_.Remove("global", "0", Into(results));
  Link late(driver_, truth_);
  late.Connect();
  ASSERT_TRUE(AwaitKeys(late.replica(), 1));
  EXPECT_EQ(*late.replica().Get("global", "0"), "zero");
  truth_.Remove("global", "1", Into(results));
  EXPECT_TRUE(AwaitKeys(late.replica(), 0));
}

TEST_F(ReplicaStoreTest, ANewRoundIsOneForAll) {
  truth_.Begin(Plan(1, 2));
  Link link(driver_, truth_);
  link.Connect();
  truth_.Put("global", "0", Bytes("zero"), [](const absl::Status&) {});
  ASSERT_TRUE(AwaitKeys(link.replica(), 1));
  truth_.Begin(Plan(1, 1));
  ASSERT_TRUE(AwaitKeys(link.replica(), 0));
  EXPECT_EQ(link.replica().content().plan(), Plan(1, 1));
}

TEST_F(ReplicaStoreTest, ATruthThatIsFull) {
  LocalStore small(driver_.loop(), {.bytes = 10, .keys = 10});
  Link link(driver_, small);
  link.Connect();
  std::vector<absl::Status> results;
  link.replica().Put("scope", "key", Bytes(std::string(100, 'x')), Into(results));
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 1; }));
  EXPECT_EQ(results[0].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(link.replica().Get("scope", "key"), nullptr);
}

TEST_F(ReplicaStoreTest, WhatWasAskedForWhileItWasCutIsDoneLater) {
  Link link(driver_, truth_);
  std::vector<absl::Status> results;
  link.replica().Put("scope", "before", Bytes("1"), Into(results));
  link.Connect();
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 1; }));
  // On its way, and lost.
  link.replica().Put("scope", "lost", Bytes("2"), Into(results));
  link.Cut();
  link.replica().Remove("scope", "before", Into(results));
  truth_.Put("scope", "meanwhile", Bytes("3"), [](const absl::Status&) {});
  EXPECT_EQ(*link.replica().Get("scope", "before"), "1");
  link.Connect();
  ASSERT_TRUE(driver_.Await([&] { return results.size() == 3; }));
  for (const absl::Status& result : results) EXPECT_TRUE(result.ok()) << result;
  for (KeyValueStore* store :
       {static_cast<KeyValueStore*>(&truth_), static_cast<KeyValueStore*>(&link.replica())}) {
    EXPECT_EQ(store->Get("scope", "before"), nullptr);
    EXPECT_EQ(*store->Get("scope", "lost"), "2");
    EXPECT_EQ(*store->Get("scope", "meanwhile"), "3");
  }
}

// A value that the authoritative store dropped while the replica was unreachable must not be served
// any more.
TEST_F(ReplicaStoreTest, WhatIsGoneMeanwhileIsGone) {
  Link link(driver_, truth_);
  link.Connect();
  truth_.Put("scope", "0", Bytes("0"), [](const absl::Status&) {});
  truth_.Put("runfunc", "func", Bytes("f"), [](const absl::Status&) {});
  ASSERT_TRUE(AwaitKeys(link.replica(), 2));
  link.Cut();
  truth_.Remove("scope", "0", [](const absl::Status&) {});
  truth_.Remove("runfunc", "func", [](const absl::Status&) {});
  truth_.Put("other", "0", Bytes("new"), [](const absl::Status&) {});
  link.Connect();
  ASSERT_TRUE(AwaitKeys(link.replica(), 1));
  EXPECT_EQ(link.replica().Get("scope", "0"), nullptr);
  EXPECT_EQ(link.replica().Get("runfunc", "func"), nullptr);
}

TEST_F(ReplicaStoreTest, WhoWaitsGetsWhatASnapshotBrings) {
  Link link(driver_, truth_);
  bool there = false;
  const auto wait = link.replica().Await("scope", "0", [&](const core::Blob& value) {
    there = *value == "0";
    driver_.Changed();
  });
  truth_.Put("scope", "0", Bytes("0"), [](const absl::Status&) {});
  link.Connect();
  EXPECT_TRUE(driver_.Await([&] { return there; }));
}

// A new place in an elastic job: asked for where the worker is, handed out by the truth.
TEST_F(ReplicaStoreTest, APlaceIsHandedOutToWhoAsksForIt) {
  std::vector<std::string> asked;
  LocalStore truth(driver_.loop(), {.bytes = 1000, .keys = 10},
                   [&](const std::string& scope, const std::string& key) {
                     asked.push_back(scope + "/" + key);
                     driver_.Changed();
                   });
  Link link(driver_, truth);
  link.Connect();
  std::vector<std::string> places;
  const auto on_place = [&](const core::Blob& place) {
    places.push_back(*place);
    driver_.Changed();
  };
  const auto far = link.replica().Await("rank_and_size", "a:0", on_place);
  ASSERT_TRUE(driver_.Await([&] { return asked.size() == 1; }));
  const auto near = truth.Await("rank_and_size", "a:0", on_place);
  EXPECT_EQ(asked, (std::vector<std::string>{"rank_and_size/a:0", "rank_and_size/a:0"}));

  EXPECT_TRUE(truth.HandOut("rank_and_size", "a:0", Bytes("0,1,0,1,0,1")).ok());
  ASSERT_TRUE(driver_.Await([&] { return places.size() == 2; }));
  EXPECT_EQ(places, (std::vector<std::string>{"0,1,0,1,0,1", "0,1,0,1,0,1"}));
  // A request in the next round does not get the place of this one.
  EXPECT_EQ(truth.Get("rank_and_size", "a:0"), nullptr);
  EXPECT_EQ(link.replica().Get("rank_and_size", "a:0"), nullptr);
  EXPECT_EQ(truth.HandOut("rank_and_size", "a:0", Bytes(std::string(2000, 'x'))).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(ReplicaStoreTest, WhoWaitsForAPlaceIsToldOfAgain) {
  int asked = 0;
  LocalStore truth(driver_.loop(), {.bytes = 1000, .keys = 10},
                   [&](const std::string&, const std::string&) {
                     ++asked;
                     driver_.Changed();
                   });
  Link link(driver_, truth);
  bool there = false;
  auto gone = link.replica().Await("rank_and_size", "a:1", [](const core::Blob&) {});
  const auto wait = link.replica().Await("rank_and_size", "a:0", [&](const core::Blob&) {
    there = true;
    driver_.Changed();
  });
  link.Connect();
  ASSERT_TRUE(driver_.Await([&] { return asked == 2; }));
  link.Cut();
  gone.reset();
  EXPECT_TRUE(truth.HandOut("rank_and_size", "a:0", Bytes("lost")).ok());
  link.Connect();
  ASSERT_TRUE(driver_.Await([&] { return asked == 3; }));
  EXPECT_FALSE(there);
  EXPECT_TRUE(truth.HandOut("rank_and_size", "a:0", Bytes("again")).ok());
  EXPECT_TRUE(driver_.Await([&] { return there; }));
  EXPECT_EQ(asked, 3);
}

/// A server for each host, on a replica.
class ReplicaRendezvousTest : public ReplicaStoreTest {
 protected:
  void Start(const std::vector<core::Slot>& plan) {
    truth_.Begin(plan);
    for (const core::Slot& slot : plan) {
      if (servers_.contains(slot.host)) continue;
      links_.push_back(std::make_unique<Link>(driver_, truth_));
      links_.back()->Connect();
      auto server =
          RendezvousServer::Start(driver_.loop(), links_.back()->replica(), 0, AnyPeer(), {});
      ASSERT_TRUE(server.ok()) << server.status();
      servers_[slot.host] = *std::move(server);
    }
  }
  void ExpectAllWell(const RendezvousRun& run) {
    for (size_t rank = 0; rank < run.results.size(); ++rank) {
      EXPECT_TRUE(run.results[rank].ok()) << "rank " << rank << ": " << run.results[rank];
    }
    EXPECT_EQ(run.counts.failed, 0U);
    EXPECT_EQ(core::DescribeMissing(core::ProgressOf(truth_.content()), {}).sentence, "");
    EXPECT_EQ(truth_.content().keys(), 0U);
    for (const auto& link : links_) EXPECT_TRUE(AwaitKeys(link->replica(), 0));
  }

  std::vector<std::unique_ptr<Link>> links_;
  std::map<std::string, std::unique_ptr<RendezvousServer>> servers_;
};

TEST_F(ReplicaRendezvousTest, FourHostsWithFourRanks) {
  const std::vector<core::Slot> plan = Plan(4, 4);
  Start(plan);
  const RendezvousRun run = RunRendezvous(driver_, plan, {}, [this](const core::Slot& slot) {
    return RankRole{servers_.at(slot.host)->port()};
  });
  ExpectAllWell(run);
  EXPECT_EQ(run.counts.gets, ExpectedRequests(plan).gets);
}

// All ranks put and remove; those of the last host, whose server is looked at, also read.
TEST_F(ReplicaRendezvousTest, OneOfThirtyTwoHostsWithEightRanks) {
  const std::vector<core::Slot> plan = Plan(32, 8);
  Start(plan);
  const std::string host = plan.back().host;
  const RendezvousRun run = RunRendezvous(driver_, plan, {}, [&](const core::Slot& slot) {
    return RankRole{.port = servers_.at(slot.host)->port(), .reads = slot.host == host};
  });
  ExpectAllWell(run);
  // Global contexts: each of the eight asks for the names of those before it, and twice for each
  // address; local and cross ones likewise.
  uint64_t expected = 0;
  for (const core::Slot& slot : plan) {
    if (slot.host != host) continue;
    for (const GlooContext& context : ContextsOf(slot)) {
      expected += static_cast<uint64_t>(context.rank + 2 * (context.size - 1));
    }
  }
  EXPECT_EQ(run.counts.gets, expected);
  const RendezvousServer::Counts& counts = servers_.at(host)->counts();
  EXPECT_EQ(counts.found + counts.missing, expected);
  EXPECT_EQ(counts.puts, 8U * 2 * 6);
  RecordProperty("milliseconds", std::to_string(run.time.count() / 1000));
  RecordProperty("server_cpu_microseconds", std::to_string(run.server_cpu.count()));
}

}  // namespace
}  // namespace tony::rendezvous
