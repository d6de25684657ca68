// Ranks that meet at an acceptor, as threads and as processes, and strangers.
#include "collective/host/host_members.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <thread>

namespace tony::collective {
namespace {

using std::chrono::seconds;

constexpr auto kPatience = seconds(60);
constexpr char kSecret[] = "the job's token";

class HostMembersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok()) << acceptor.status().message();
    acceptor_ = std::move(*acceptor);
  }
  Result<std::unique_ptr<LinkMembers>> Enter(int rank, int ranks,
                                             const std::string& secret = kSecret) {
    return HostAcceptor::Enter(acceptor_->address(), rank, ranks, secret, After(kPatience));
  }
  /// A connection that says what no rank says.
  int Connect(const std::string& words) {
    const int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(&name.sun_path[1], acceptor_->address().data(), acceptor_->address().size());
    const auto length = offsetof(sockaddr_un, sun_path) + 1 + acceptor_->address().size();
    EXPECT_EQ(connect(stranger, reinterpret_cast<sockaddr*>(&name), static_cast<socklen_t>(length)),
              0);
    EXPECT_EQ(send(stranger, words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
    return stranger;
  }

  /// The message with which a rank enters, for Connect().
  static std::string EntranceOf(int rank, int ranks) {
    const int acceptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;  // the kernel chooses a name
    socklen_t length = sizeof(name);
    EXPECT_EQ(bind(acceptor, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)), 0);
    EXPECT_EQ(listen(acceptor, 1), 0);
    EXPECT_EQ(getsockname(acceptor, reinterpret_cast<sockaddr*>(&name), &length), 0);
    const std::string address(&name.sun_path[1], length - offsetof(sockaddr_un, sun_path) - 1);
    auto entered = std::async(std::launch::async, [&] {
      return HostAcceptor::Enter(address, rank, ranks, kSecret, After(kPatience)).ok();
    });
    const int guest = accept4(acceptor, nullptr, nullptr, SOCK_CLOEXEC);
    std::string words(1024, 0);
    const ssize_t size = recv(guest, words.data(), words.size(), 0);
    EXPECT_GT(size, 0);
    close(guest);
    close(acceptor);
    EXPECT_FALSE(entered.get());
    return words.substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  /// Until the other side ends.
  static std::string AllFrom(int connection) {
    std::string all;
    char byte = 0;
    while (recv(connection, &byte, 1, 0) == 1) all.push_back(byte);
    return all;
  }

  std::unique_ptr<HostAcceptor> acceptor_;
};

/// The sum of all ranks' ones, or the error.
Status CountRanks(Members& members, int ranks) {
  double value = 1;
  Status done = members.group().AllReduce(&value, &value, 1, DataType::kFloat64, ReduceOp::kSum,
                                          After(kPatience));
  EXPECT_TRUE(!done.ok() || value == ranks) << value;
  return done;
}

TEST_F(HostMembersTest, AllMeet) {
  constexpr int kRanks = 5;
  std::vector<std::thread> others;
  for (int rank = 1; rank < kRanks; ++rank) {
    others.emplace_back([this, rank] {
      auto members = Enter(rank, kRanks);
      ASSERT_TRUE(members.ok()) << members.status().message();
      EXPECT_TRUE(CountRanks(**members, kRanks).ok());
    });
  }
  auto members = acceptor_->Admit(kRanks, kSecret, After(kPatience));
  ASSERT_TRUE(members.ok()) << members.status().message();
  const Status done = CountRanks(**members, kRanks);
  EXPECT_TRUE(done.ok()) << done.message();
  for (std::thread& other : others) other.join();
}

TEST_F(HostMembersTest, MessagesThatComeBeforeAnybodyListensWait) {
  std::thread other([this] {
    auto members = Enter(1, 2);
    ASSERT_TRUE(members.ok()) << members.status().message();
    (*members)->Send(0, "hello");
    EXPECT_TRUE(CountRanks(**members, 2).ok());
  });
  auto members = acceptor_->Admit(2, kSecret, After(kPatience));
  ASSERT_TRUE(members.ok()) << members.status().message();
  EXPECT_TRUE(CountRanks(**members, 2).ok());
  other.join();
  std::promise<std::string> heard;
  (*members)->Listen({.on_message =
                          [&](int rank, const std::string& message) {
                            heard.set_value(std::to_string(rank) + ": " + message);
                          },
                      .on_end = [](int, bool) {}});
  auto said = heard.get_future();
  ASSERT_EQ(said.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(said.get(), "1: hello");
}

TEST_F(HostMembersTest, OneRankMeetsNobody) {
  auto members = acceptor_->Admit(1, kSecret, After(kPatience));
  ASSERT_TRUE(members.ok()) << members.status().message();
  EXPECT_TRUE(CountRanks(**members, 1).ok());
}

TEST_F(HostMembersTest, WhoIsMissingIsNamed) {
  auto other = std::async(std::launch::async, [this] { return Enter(2, 3).status(); });
  auto members = acceptor_->Admit(3, kSecret, After(seconds(3)));
  ASSERT_FALSE(members.ok());
  for (const Status& status : {members.status(), other.get()}) {
    EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(status.message(), "rank 1 of this host has not come");
  }
}

/// All hear it from rank 0, though that would wait for longer.
TEST_F(HostMembersTest, WhoIsMissingIsNamedToTheLeastPatient) {
  const std::string patient = EntranceOf(3, 4);
  const int connection = Connect(patient);
  auto hasty = std::async(std::launch::async, [this] {
    return HostAcceptor::Enter(acceptor_->address(), 1, 4, kSecret, After(seconds(1))).status();
  });
  const Status first = acceptor_->Admit(4, kSecret, After(kPatience)).status();
  const std::string said = "rank 2 of this host has not come";
  for (const Status& status : {first, hasty.get()}) {
    EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(status.message(), said);
  }
  EXPECT_NE(AllFrom(connection).find(said), std::string::npos);
  close(connection);
}

TEST_F(HostMembersTest, NobodyGoesOnBeforeAllAreThere) {
  auto first = std::async(std::launch::async,
                          [this] { return acceptor_->Admit(3, kSecret, After(kPatience)); });
  auto second = std::async(std::launch::async, [this] { return Enter(1, 3); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  EXPECT_EQ(first.wait_for(seconds(0)), std::future_status::timeout);
  auto third = Enter(2, 3);
  EXPECT_TRUE(third.ok()) << third.status().message();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
}

TEST_F(HostMembersTest, ARankThatEndsWhileOthersAreWaitedForIsTold) {
  const std::string one = EntranceOf(1, 4);
  const int other = Connect(EntranceOf(3, 4));
  close(Connect(one));
  const Status first = acceptor_->Admit(4, kSecret, After(kPatience)).status();
  const std::string said = "rank 1 of this host has ended before all were there";
  EXPECT_EQ(first.code(), Code::kAborted);
  EXPECT_EQ(first.message(), said);
  EXPECT_NE(AllFrom(other).find(said), std::string::npos);
  close(other);
}

TEST_F(HostMembersTest, StrangersAreSentAwayAndDoNotKeepOthersOut) {
  std::vector<int> strangers = {Connect("GET / HTTP/1.1\r\n"), Connect(std::string(4000, 'x'))};
  std::thread others([this] {
    for (const auto& [rank, ranks, secret] :
         {std::tuple{1, 2, "another token"}, {1, 3, kSecret}, {0, 2, kSecret}, {2, 2, kSecret}}) {
      auto refused = Enter(rank, ranks, secret);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition) << refused.status().message();
    }
    auto members = Enter(1, 2);
    ASSERT_TRUE(members.ok()) << members.status().message();
    EXPECT_TRUE(CountRanks(**members, 2).ok());
  });
  auto members = acceptor_->Admit(2, kSecret, After(kPatience));
  ASSERT_TRUE(members.ok()) << members.status().message();
  EXPECT_TRUE(CountRanks(**members, 2).ok());
  others.join();
  for (const int stranger : strangers) close(stranger);
}

TEST_F(HostMembersTest, NobodyIsBehindAnAddress) {
  const std::string address = acceptor_->address();
  acceptor_.reset();
  auto refused = HostAcceptor::Enter(address, 1, 2, kSecret, After(kPatience));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kAborted);
  EXPECT_EQ(refused.status().message(), "rank 0 of this host is not there: Connection refused");
}

TEST_F(HostMembersTest, ADoorWithTooManyGuestsIsWaitedForUntilTheDeadline) {
  Descriptor acceptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;  // the kernel chooses a name
  ASSERT_EQ(bind(acceptor.get(), reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)), 0);
  ASSERT_EQ(listen(acceptor.get(), 0), 0);
  socklen_t length = sizeof(name);
  ASSERT_EQ(getsockname(acceptor.get(), reinterpret_cast<sockaddr*>(&name), &length), 0);
  const std::string address(&name.sun_path[1], length - offsetof(sockaddr_un, sun_path) - 1);
  std::vector<Descriptor> guests;
  int entered = 0;
  while (entered == 0) {
    guests.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    entered = connect(guests.back().get(), reinterpret_cast<sockaddr*>(&name), length);
  }
  auto late = HostAcceptor::Enter(address, 1, 2, kSecret, After(std::chrono::milliseconds(100)));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded) << late.status().message();
}

TEST_F(HostMembersTest, ARankThatLeavesLateDoesNotDisturb) {
  for (int round = 0; round < 50; ++round) {
    SetUp();
    std::thread other([this] {
      auto members = Enter(1, 2);
      ASSERT_TRUE(members.ok());
      EXPECT_TRUE(CountRanks(**members, 2).ok());
    });
    auto members = acceptor_->Admit(2, kSecret, After(kPatience));
    ASSERT_TRUE(members.ok());
    const Status done = CountRanks(**members, 2);
    EXPECT_TRUE(done.ok()) << done.message();
    other.join();
    // A rank that asks for more is told at once that nothing will come.
    EXPECT_EQ(CountRanks(**members, 2).message(), "rank 1 of this host has left");
  }
}

/// Each rank in its turn is killed while all others wait for it.
TEST_F(HostMembersTest, AKilledProcessIsNoticedByAll) {
  constexpr int kRanks = 3;
  for (int victim = 0; victim < kRanks; ++victim) {
    SetUp();
    std::vector<pid_t> processes;
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto members =
            rank == 0 ? acceptor_->Admit(kRanks, kSecret, After(kPatience)) : Enter(rank, kRanks);
        if (!members.ok() || !CountRanks(**members, kRanks).ok()) _exit(1);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        if (rank == victim) pause();
        const Status ended = CountRanks(**members, kRanks);
        const std::string wanted = "rank " + std::to_string(victim) + " of this host has ended";
        _exit(ended.message() == wanted ? 0 : 2);
      }
      processes.push_back(child);
    }
    char byte = 0;
    for (int rank = 0; rank < kRanks; ++rank) ASSERT_EQ(read(ready[0], &byte, 1), 1);
    kill(processes[static_cast<size_t>(victim)], SIGKILL);
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = 0;
      ASSERT_EQ(waitpid(processes[static_cast<size_t>(rank)], &status, 0),
                processes[static_cast<size_t>(rank)]);
      EXPECT_TRUE(rank == victim || status == 0) << "rank " << rank << ", victim " << victim;
    }
    close(ready[0]);
    close(ready[1]);
  }
}

}  // namespace
}  // namespace tony::collective
