// Ranks that find each other through a store.
#include "collective/meeting/meeting.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "collective/host/host_layout.h"
#include "collective/meeting/meeting_plan.h"
#include "collective/meeting/signed_store.h"
#include "tests/collective/meeting/memory_store.h"
#include "tests/collective/meeting/process_store.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kMoment = std::chrono::milliseconds(50);
constexpr char kSecret[] = "the job's token";

using Met = Result<std::unique_ptr<Members>>;

std::future<Met> Come(SharedKeys& keys, Meeting meeting, Deadline deadline = After(kPatience)) {
  return std::async(std::launch::async, [&keys, meeting, deadline] {
    MemoryStore store(keys);
    return Meet(store, meeting, deadline);
  });
}

std::future<Met> Come(SharedKeys& keys, int rank, int ranks, const std::string& secret = kSecret,
                      Deadline deadline = After(kPatience)) {
  return Come(keys, {.rank = rank, .ranks = ranks, .secret = secret}, deadline);
}

/// One of each rank, in the order of ranks.
std::vector<Met> AllOf(const std::vector<Meeting>& meetings) {
  SharedKeys keys;
  std::vector<std::future<Met>> coming;
  for (const Meeting& meeting : meetings) coming.push_back(Come(keys, meeting));
  std::vector<Met> met;
  for (auto& one : coming) met.push_back(one.get());
  return met;
}

std::vector<Meeting> Meetings(const std::vector<std::string>& hosts) {
  std::vector<Meeting> meetings;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    meetings.push_back({.rank = static_cast<int>(rank),
                        .ranks = static_cast<int>(hosts.size()),
                        .secret = kSecret,
                        .host = hosts[rank]});
  }
  return meetings;
}

Status CountRanks(Group& group) {
  std::vector<double> ones(100000, 1);
  Status done = group.AllReduce(ones.data(), ones.data(), ones.size(), DataType::kFloat64,
                                ReduceOp::kSum, After(kPatience));
  EXPECT_TRUE(!done.ok() || ones == std::vector<double>(ones.size(), group.ranks()));
  return done;
}

/// All that have met reduce, and say that their data goes that way, and why not another one.
void ExpectAllReduce(std::vector<Met>& met, const std::string& transport,
                     const std::string& limitation = "") {
  std::vector<std::thread> ranks;
  for (Met& one : met) {
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ((*one)->transport(), transport);
    EXPECT_EQ((*one)->limitation(), limitation);
    ranks.emplace_back([&group = (*one)->group()] {
      for (int step = 0; step < 3; ++step) {
        const Status done = CountRanks(group);
        EXPECT_TRUE(done.ok()) << done.message();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(MeetingTest, AllRanksOfAHostMeet) {
  for (const int ranks : {1, 2, 5}) {
    SharedKeys keys;
    std::vector<std::future<Met>> coming;
    // The last one comes first.
    for (int rank = ranks - 1; rank >= 0; --rank) coming.push_back(Come(keys, rank, ranks));
    std::vector<std::future<Status>> together;
    for (auto& one : coming) {
      together.push_back(std::async(std::launch::async, [&one, ranks] {
        Met met = one.get();
        if (!met.ok()) return met.status();
        EXPECT_EQ((*met)->group().ranks(), ranks);
        return (*met)->group().Barrier(After(kPatience));
      }));
    }
    for (auto& one : together) {
      const Status status = one.get();
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
}

TEST(MeetingTest, WhoIsMissingIsNamed) {
  SharedKeys keys;
  const Met first = Come(keys, 0, 2, kSecret, After(kMoment)).get();
  EXPECT_EQ(first.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(first.status().message(), "rank 1 has not come");

  SharedKeys others;
  const Met second = Come(others, 1, 2, kSecret, After(kMoment)).get();
  EXPECT_EQ(second.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(second.status().message(), "rank 0 has not come");
}

/// Rank 0 is no longer patient than others, and may tell them too late whom it waits for.
TEST(MeetingTest, WhoHasNotComeIsNamedByWhoWaitsForRank0) {
  SharedKeys keys;
  MemoryStore store(keys);
  SignedStore first(store, kSecret, "", 0);
  ASSERT_TRUE(first.Put("host/0", "a\nnetwork").ok());
  const Met second = Come(keys, 1, 3, kSecret, After(kMoment)).get();
  EXPECT_EQ(second.status().message(), "rank 2 has not come");

  for (const std::string missing : {"rank 2 has not come", "rank 0 has not come"}) {
    SharedKeys others;
    MemoryStore other_store(others);
    SignedStore planner(other_store, kSecret, "", 0);
    auto third = Come(others, 1, 3, kSecret, After(kMoment));
    SignedStore reader(other_store, kSecret, "", 0);
    auto here = reader.Get("host/1", 1, After(kPatience));
    ASSERT_TRUE(here.ok()) << here.status().message();
    const MeetingPlan plan = {.run = "run",
                              .numbers = {"0", Whereabouts::Decode(*here).number, "2"},
                              .hosts = MeetingPlan::Apart(3),
                              .loopback = true};
    ASSERT_TRUE(planner.Put("plan", plan.Encode()).ok());
    planner.BindTo("run");
    ASSERT_TRUE(planner.Put("net/0", "its address").ok());
    SignedStore latecomer(other_store, kSecret, "", 2);
    latecomer.BindTo("run");
    if (missing[5] == '0') {
      ASSERT_TRUE(latecomer.Put("net/2", "its address").ok());
    }
    const Met met = third.get();
    EXPECT_EQ(met.status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(met.status().message(), missing);
  }
}

TEST(MeetingTest, OneHostSharesMemory) {
  auto met = AllOf(Meetings({"", "", ""}));
  ExpectAllReduce(met, "shared memory");
}

TEST(MeetingTest, SeveralHosts) {
  auto alone = AllOf(Meetings({"a", "b", "c"}));
  ExpectAllReduce(alone, "TCP, 2 streams");
  auto equal = AllOf(Meetings({"a", "b", "a", "b"}));
  ExpectAllReduce(equal, "shared memory of 2 hosts and TCP, 2 streams");
  auto unequal = AllOf(Meetings({"a", "b", "b", "b", "a"}));
  ExpectAllReduce(unequal, "shared memory of 2 hosts and TCP, 2 streams");
}

TEST(MeetingTest, WhoWantsNoSharedMemorySpeaksTcp) {
  auto meetings = Meetings({"", "", ""});
  for (Meeting& meeting : meetings) {
    meeting.shared_memory = false;
    meeting.points.streams = 1;
  }
  auto all = AllOf(meetings);
  ExpectAllReduce(all, "TCP, 1 stream");
  meetings[0].shared_memory = meetings[2].shared_memory = true;
  auto others = AllOf(meetings);
  ExpectAllReduce(others, "shared memory of 2 hosts and TCP, 1 stream");
}

/// In a process of its own, which gets no memory to share.
TEST(MeetingTest, WhereMemoryIsFullTcpIsTaken) {
  for (const auto& hosts : {std::vector<std::string>{"", ""}, {"a", "b", "b"}}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_DFL);
      const rlimit little = {.rlim_cur = 4096, .rlim_max = 4096};
      if (setrlimit(RLIMIT_FSIZE, &little) != 0) _exit(1);
      auto met = AllOf(Meetings(hosts));
      const std::string why = "cannot get " + std::to_string(HostMemory::BytesFor(2)) +
                              " bytes of shared memory: File too large";
      ExpectAllReduce(met, "TCP, 2 streams; memory is not shared: " + why, why);
      // A rank that has nobody to share memory with has no limitation.
      auto alone = AllOf(Meetings({"a", "b"}));
      ExpectAllReduce(alone, "TCP, 2 streams");
      auto only = AllOf(Meetings({""}));
      ExpectAllReduce(only, "TCP, 0 streams");
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

/// Without a key, no rank can be reached from other machines.
TEST(MeetingTest, AnotherMachineNeedsAKey) {
  SharedKeys keys;
  keys.Put("host/2", "unsigned\nelsewhere\nanother network");
  auto first = Come(keys, 0, 3, "");
  auto second = Come(keys, 1, 3, "");
  for (auto* one : {&first, &second}) {
    const Met met = one->get();
    EXPECT_EQ(met.status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(met.status().message(),
              "rank 2 is on another host than rank 0, and there is no key: give all ranks the "
              "same TONY_COLLECTIVE_KEY");
  }
}

TEST(MeetingTest, WhoCannotListenTellsAll) {
  auto meetings = Meetings({"a", "b", "c"});
  meetings[1].address = "192.0.2.1";  // no machine's
  const auto met = AllOf(meetings);
  const std::string reason = "cannot listen on 192.0.2.1: Cannot assign requested address";
  EXPECT_EQ(met[1].status().message(), reason);
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(met[rank].status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(met[rank].status().message(), "rank 1: " + reason);
  }
}

TEST(MeetingTest, WhoIsMissingOnAnotherHostIsNamed) {
  SharedKeys keys;
  auto meetings = Meetings({"a", "b"});
  auto first = Come(keys, meetings[0], After(std::chrono::seconds(1)));
  MemoryStore store(keys);
  ASSERT_TRUE(SignedStore(store, kSecret, "", 1).Put("host/1", "b\nelsewhere\nnumber\n").ok());
  EXPECT_EQ(first.get().status().message(), "rank 1 has not come");
}

/// One of four processes on two hosts: whoever waits in memory and whoever waits for TCP is told.
/// Nobody but their connections tells them.
TEST(MeetingTest, AKilledProcessIsNoticedByAll) {
  constexpr int kRanks = 4;
  for (const auto& hosts : {std::vector<std::string>{"a", "b", "b", "a"}, {"a", "b", "c", "d"}}) {
    const auto meetings = Meetings(hosts);
    for (int victim = 0; victim < kRanks; ++victim) {
      ProcessStores stores(kRanks);
      std::vector<pid_t> processes;
      for (int rank = 0; rank < kRanks; ++rank) {
        processes.push_back(fork());
        ASSERT_GE(processes.back(), 0);
        if (processes.back() != 0) continue;
        ProcessStore store(stores.EndOf(rank));
        auto met = Meet(store, meetings[static_cast<size_t>(rank)], After(kPatience));
        if (!met.ok()) _exit(1);
        const auto begin = std::chrono::steady_clock::now();
        // A slow rank may learn of the end in its first operation.
        Status ended = CountRanks((*met)->group());
        if (ended.ok() && rank == victim) kill(getpid(), SIGKILL);
        if (ended.ok()) ended = CountRanks((*met)->group());
        (*met)->Leave();  // an end without it would be taken for one more failure
        if (std::chrono::steady_clock::now() - begin > kPatience / 2) _exit(2);
        _exit(ended.message() == "rank " + std::to_string(victim) + " has ended" ? 0 : 3);
      }
      stores.Serve();
      for (int rank = 0; rank < kRanks; ++rank) {
        int status = 0;
        const pid_t process = processes[static_cast<size_t>(rank)];
        ASSERT_EQ(waitpid(process, &status, 0), process);
        if (rank == victim) continue;
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "rank " << rank << ", victim " << victim << ": " << status;
      }
    }
  }
}

TEST(MeetingTest, AnotherSecretIsRefused) {
  SharedKeys keys;
  auto first = Come(keys, 0, 2);
  const Met second = Come(keys, 1, 2, "a guess").get();
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(second.status().message(),
            "'plan' in the job's store is not believed to be of rank 0: its signature is not of "
            "this key and this start of the job, so that rank has another TONY_COLLECTIVE_KEY, or "
            "somebody else writes to the store");
  EXPECT_EQ(first.get().status().code(), Code::kFailedPrecondition);
}

/// Only one rank knows the secret.
TEST(MeetingTest, ARankWithoutASecretIsRefused) {
  for (const std::string without : {"01", "10"}) {
    SharedKeys keys;
    auto first = Come(keys, 0, 2, without[0] == '0' ? "" : kSecret);
    const Met second = Come(keys, 1, 2, without[1] == '0' ? "" : kSecret).get();
    for (const Status& refused : {first.get().status(), second.status()}) {
      EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
      EXPECT_NE(refused.message().find("TONY_COLLECTIVE_KEY"), std::string::npos);
    }
  }
}

TEST(MeetingTest, ARankHasToBeOneOfThem) {
  SharedKeys keys;
  for (const int rank : {-1, 2, 3}) {
    EXPECT_EQ(Come(keys, rank, 2).get().status().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(Come(keys, 0, 2, std::string(65, 'x')).get().status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tony::collective
