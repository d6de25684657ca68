// Ranks that meet in a store to which others write, who do not know the job's key.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collective/meeting/meeting.h"
#include "collective/meeting/meeting_plan.h"
#include "collective/meeting/signed_store.h"
#include "tests/collective/meeting/memory_store.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
/// For the other rank of one that is attacked, whom nobody tells that it has given up.
constexpr auto kMoment = std::chrono::seconds(2);
constexpr char kSecret[] = "the job's key";
constexpr char kScope[] = "start_1";

using Met = Result<std::unique_ptr<Members>>;

/// A store in which this rank reads values that others have overwritten.
class OverwrittenStore : public MemoryStore {
 public:
  OverwrittenStore(SharedKeys& keys, std::map<std::string, std::string> values)
      : MemoryStore(keys), values_(std::move(values)) {}
  Result<std::string> Get(const std::string& key, Deadline deadline) override {
    const auto found = values_.find(key);
    if (found == values_.end()) return MemoryStore::Get(key, deadline);
    // As late as the right one.
    auto right = MemoryStore::Get(key, deadline);
    return right.ok() ? Result<std::string>(found->second) : right;
  }

 private:
  const std::map<std::string, std::string> values_;
};

Meeting MeetingOf(int rank, int ranks, bool shares = true) {
  Meeting meeting = {.rank = rank, .ranks = ranks, .secret = kSecret, .scope = kScope};
  meeting.shared_memory = shares;
  return meeting;
}

std::future<Met> Come(SharedKeys& keys, const Meeting& meeting,
                      const std::map<std::string, std::string>& values = {},
                      Deadline deadline = After(kPatience)) {
  return std::async(std::launch::async, [&keys, meeting, values, deadline] {
    OverwrittenStore store(keys, values);
    return Meet(store, meeting, deadline);
  });
}

/// The text that rank `author` would put for `value` if it knew `secret`.
std::string Signed(int author, const std::string& key, const std::string& value,
                   const std::string& secret = kSecret, const std::string& scope = kScope,
                   const std::string& run = "") {
  SharedKeys keys;
  MemoryStore store(keys);
  SignedStore writer(store, secret, scope, author);
  writer.BindTo(run);
  EXPECT_TRUE(writer.Put(key, value).ok());
  auto put = keys.Get(key, After(kPatience));
  EXPECT_TRUE(put.ok());
  return *put;
}

/// All of a start's values in the store, when its ranks have met.
std::map<std::string, std::string> ValuesOfAStart(bool shares) {
  SharedKeys keys;
  auto first = Come(keys, MeetingOf(0, 2, shares));
  auto second = Come(keys, MeetingOf(1, 2, shares));
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  std::map<std::string, std::string> values;
  for (const std::string key : {"host/0", "host/1", "plan", "net/0", "net/1", "net"}) {
    auto value = keys.Get(key, After(std::chrono::seconds(0)));
    if (value.ok()) values[key] = *value;
  }
  EXPECT_EQ(values.size(), shares ? 3U : 6U);
  return values;
}

/// Two ranks, of which one reads `value` under a key of the other one.
class Attack {
 public:
  Attack(std::string key, std::string value, bool shares = false, const std::string& scope = kScope)
      : key_(std::move(key)), author_(key_.back() == '1' ? 1 : 0) {
    for (const int rank : {0, 1}) {
      Meeting meeting = MeetingOf(rank, 2, shares);
      meeting.scope = scope;
      const bool is_victim = rank != author_;
      coming_.push_back(
          Come(*keys_, meeting,
               is_victim ? std::map{std::pair{key_, value}} : std::map<std::string, std::string>{},
               After(is_victim ? kPatience : kMoment)));
    }
  }

  const std::string& key() const { return key_; }
  int author() const { return author_; }
  /// The victim's error. Neither of the two ranks meets anybody.
  Status Victim() {
    std::array<Status, 2> told;
    for (size_t rank = 0; rank < told.size(); ++rank) {
      const Met met = coming_[rank].get();
      EXPECT_FALSE(met.ok()) << key_ << ", rank " << rank;
      told[rank] = met.status();
    }
    return told[static_cast<size_t>(1 - author_)];
  }

 private:
  const std::string key_;
  const int author_;
  const std::unique_ptr<SharedKeys> keys_ = std::make_unique<SharedKeys>();
  std::vector<std::future<Met>> coming_;
};

bool IsDisbelief(const Status& status, const std::string& key, int author) {
  return status.code() == Code::kFailedPrecondition &&
         status.message().rfind("'" + key + "' in the job's store is not believed to be of rank " +
                                    std::to_string(author) + ": ",
                                0) == 0;
}

TEST(SignedStoreTest, WhatARankPutIsRead) {
  for (const std::string secret : {"", kSecret}) {
    SharedKeys keys;
    MemoryStore store(keys);
    SignedStore writer(store, secret, kScope, 3);
    SignedStore reader(store, secret, kScope, 0);
    for (const std::string value : {"", "\n", "one line", "two\nlines\n", "signed 00\nlines"}) {
      EXPECT_TRUE(writer.Put("net/3", value).ok());
      auto read = reader.Get("net/3", 3, After(kPatience));
      ASSERT_TRUE(read.ok()) << read.status().message();
      EXPECT_EQ(*read, value);
    }
  }
}

TEST(SignedStoreTest, WhatIsOfAnotherPlaceIsNotBelieved) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"another key", Signed(3, "net/3", "value", "the key of another job")},
      {"another start", Signed(3, "net/3", "value", kSecret, "start_2")},
      {"another run", Signed(3, "net/3", "value", kSecret, kScope, "run")},
      {"another rank's", Signed(2, "net/3", "value")},
      {"another key of the store", Signed(3, "net/2", "value")},
      {"moved bounds of two fields",
       Signed(3, "3", "value", kSecret, std::string(kScope) + "net/")},
      {"another value", Signed(3, "net/3", "value") + "s"},
      {"no signature", "value"},
      {"no value", ""},
      {"said to be unsigned", "unsigned\nvalue"},
      {"said to be signed", "signed \nvalue"},
      {"half a signature", Signed(3, "net/3", "value").substr(0, 20)}};
  SharedKeys keys;
  MemoryStore store(keys);
  SignedStore reader(store, kSecret, kScope, 0);
  for (const auto& [what, value] : values) {
    keys.Put("net/3", value);
    auto read = reader.Get("net/3", 3, After(kPatience));
    EXPECT_TRUE(IsDisbelief(read.status(), "net/3", 3)) << what << ": " << read.status().message();
  }
}

TEST(SignedStoreTest, EachBitCounts) {
  const std::string right = Signed(1, "host/1", "a\nb");
  SharedKeys keys;
  MemoryStore store(keys);
  SignedStore reader(store, kSecret, kScope, 0);
  for (size_t bit = 0; bit < 8 * right.size(); ++bit) {
    std::string value = right;
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ 1 << bit % 8);
    keys.Put("host/1", value);
    EXPECT_FALSE(reader.Get("host/1", 1, After(kPatience)).ok()) << bit;
  }
}

TEST(SignedStoreTest, WhoHasNoKeyIsTold) {
  SharedKeys keys;
  MemoryStore store(keys);
  keys.Put("plan", Signed(0, "plan", "value"));
  SignedStore reader(store, "", kScope, 1);
  EXPECT_EQ(
      reader.Get("plan", 0, After(kPatience)).status().message(),
      "'plan' in the job's store is not believed to be of rank 0: it is signed, and this rank "
      "has no key: give all ranks the same TONY_COLLECTIVE_KEY");
  keys.Put("plan", "value");
  EXPECT_TRUE(IsDisbelief(reader.Get("plan", 0, After(kPatience)).status(), "plan", 0));
}

/// This once made ranks of one machine use TCP: a forged host for rank 1, written before it comes.
TEST(ForgedStoreTest, AnotherHostForARankOfThisMachineIsNotBelieved) {
  const std::string elsewhere = "mallory's host\nnetwork\n0123456789abcdef\n";
  for (const std::string& forged :
       {elsewhere, "unsigned\n" + elsewhere, Signed(1, "host/1", elsewhere, "a guess"),
        Signed(1, "host/1", elsewhere, kSecret, "start_0"), Signed(2, "host/2", elsewhere)}) {
    SharedKeys keys;
    keys.Put("host/1", forged);
    const Met first = Come(keys, MeetingOf(0, 2)).get();
    EXPECT_TRUE(IsDisbelief(first.status(), "host/1", 1)) << first.status().message();
    // A rank that comes later gets the same reason.
    EXPECT_EQ(Come(keys, MeetingOf(1, 2)).get().status().message(), first.status().message());
  }
}

TEST(ForgedStoreTest, NoKeyOfAnotherRankIsBelieved) {
  const std::string mallory = "127.0.0.1 6666\n\n\n";
  const std::string plan = MeetingPlan{.hosts = MeetingPlan::Apart(2), .loopback = true}.Encode();
  const std::string table = "\n" + mallory + mallory;
  const std::map<std::string, std::string> forged = {
      {"plan", plan}, {"net", table}, {"net/1", mallory}};
  std::deque<Attack> attacks;  // at once, since of each the other rank waits
  for (const auto& [key, value] : forged) {
    attacks.emplace_back(key, value);
    attacks.emplace_back(key, Signed(key == "net/1" ? 1 : 0, key, value, "a guess"));
  }
  for (Attack& attack : attacks) {
    const Status told = attack.Victim();
    EXPECT_TRUE(IsDisbelief(told, attack.key(), attack.author())) << told.message();
  }
}

/// Rank 0 does not believe forged versions of its own values.
TEST(ForgedStoreTest, Rank0DoesNotAskForWhatItKnows) {
  for (const bool shares : {true, false}) {
    SharedKeys keys;
    const std::map<std::string, std::string> lies = {
        {"host/0", "x"}, {"plan", "x"}, {"net/0", "x"}, {"net", "x"}};
    auto first = Come(keys, MeetingOf(0, 2, shares), lies);
    auto second = Come(keys, MeetingOf(1, 2, shares));
    const Met met = first.get();
    EXPECT_TRUE(met.ok()) << met.status().message();
    EXPECT_TRUE(second.get().ok());
  }
}

TEST(ForgedStoreTest, ValuesOfAnotherStartAreNotBelieved) {
  const auto earlier = ValuesOfAStart(/*shares=*/false);
  std::deque<Attack> attacks;
  for (const std::string key : {"host/1", "plan", "net/1", "net"}) {
    attacks.emplace_back(key, earlier.at(key), /*shares=*/false, "start_2");
  }
  for (Attack& attack : attacks) {
    const Status told = attack.Victim();
    EXPECT_TRUE(IsDisbelief(told, attack.key(), attack.author())) << told.message();
  }
}

/// Starts that are called the same, as horovodrun's rounds: random names tell them apart.
TEST(ForgedStoreTest, ValuesOfAStartThatWasCalledTheSameAreNotBelieved) {
  std::deque<Attack> attacks;
  for (const bool shares : {true, false}) {
    const auto earlier = ValuesOfAStart(shares);
    attacks.emplace_back("plan", earlier.at("plan"), shares);
    if (shares) continue;
    attacks.emplace_back("net/1", earlier.at("net/1"), shares);
    attacks.emplace_back("net", earlier.at("net"), shares);
  }
  for (Attack& attack : attacks) {
    const Status told = attack.Victim();
    if (attack.key() != "plan") {
      EXPECT_TRUE(IsDisbelief(told, attack.key(), attack.author())) << told.message();
      continue;
    }
    // Its signature is right, but rank 1 has drawn another random name since.
    EXPECT_EQ(told.code(), Code::kAborted);
    EXPECT_EQ(told.message().rfind("rank 0 has not read what this rank has put", 0), 0U)
        << told.message();
  }
}

/// Rank 0 has no means to see that, but the rank whose value it is has.
TEST(ForgedStoreTest, APlanThatRank0HasMadeOfAnEarlierValueIsNotTaken) {
  const auto earlier = ValuesOfAStart(/*shares=*/true);
  SharedKeys keys;
  auto first = Come(keys, MeetingOf(0, 2), {{"host/1", earlier.at("host/1")}}, After(kMoment));
  const Met second = Come(keys, MeetingOf(1, 2)).get();
  EXPECT_EQ(second.status().code(), Code::kAborted);
  EXPECT_EQ(first.get().status().code(), Code::kDeadlineExceeded);
}

/// Without a key everything in the store may be somebody else's, and so may be the other end of any
/// TCP connection.
TEST(ForgedStoreTest, WithoutAKeyNobodySpeaksTcp) {
  Meeting first = MeetingOf(0, 2);
  Meeting second = MeetingOf(1, 2);
  first.secret = second.secret = "";
  {
    SharedKeys keys;
    keys.Put("host/1", "unsigned\nmallory's host\nnetwork\n0\n");
    EXPECT_EQ(Come(keys, first).get().status().message(),
              "rank 1 is on another host than rank 0, and there is no key: give all ranks the same "
              "TONY_COLLECTIVE_KEY");
  }
  {
    SharedKeys keys;
    auto coming = Come(keys, second);
    auto put = keys.Get("host/1", After(kPatience));
    ASSERT_TRUE(put.ok());
    const std::string number = Whereabouts::Decode(put->substr(put->find('\n') + 1)).number;
    const MeetingPlan plan = {.numbers = {"0", number}, .hosts = MeetingPlan::Apart(2)};
    keys.Put("plan", "unsigned\n" + plan.Encode());
    EXPECT_EQ(coming.get().status().message(),
              "what is said to be rank 0's plan is that ranks of one host speak TCP, and there is "
              "no key: give all ranks the same TONY_COLLECTIVE_KEY");
  }
  SharedKeys keys;
  auto both = Come(keys, first);
  const Met met = Come(keys, second).get();
  ASSERT_TRUE(met.ok()) << met.status().message();
  EXPECT_TRUE(both.get().ok());
}

/// One that wants a MAC is enough.
TEST(ForgedStoreTest, WhoWantsAMacOfAllDataGetsIt) {
  for (const int who : {0, 1}) {
    SharedKeys keys;
    std::vector<std::future<Met>> coming;
    for (const int rank : {0, 1}) {
      Meeting meeting = MeetingOf(rank, 2, /*shares=*/false);
      meeting.wire_mac = rank == who;
      coming.push_back(Come(keys, meeting));
    }
    std::vector<Met> met;
    for (auto& one : coming) met.push_back(one.get());
    for (Met& one : met) {
      ASSERT_TRUE(one.ok()) << one.status().message();
      EXPECT_EQ((*one)->transport(), "TCP, 2 streams with a MAC");
    }
  }
}

}  // namespace
}  // namespace tony::collective
