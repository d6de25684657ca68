// Ranks that connect with each other, and strangers at their acceptors.
#include "collective/net/net_acceptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "collective/net/net_address.h"
#include "collective/net/net_handshake.h"
#include "tests/collective/net/net_ranks.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

/// Somebody else's connection to an acceptor.
class Stranger {
 public:
  explicit Stranger(const std::string& address) {
    auto acceptor = NetAddress::Parse(address);
    EXPECT_TRUE(acceptor.ok());
    connection_ = Descriptor(socket(acceptor->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(connection_.get(), acceptor->data(), acceptor->size()), 0);
    LimitWaits();
  }
  explicit Stranger(Descriptor connection) : connection_(std::move(connection)) { LimitWaits(); }
  void Say(const std::string& words) {
    EXPECT_EQ(send(connection_.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }
  /// So many bytes, or fewer at the end.
  std::string Hear(size_t bytes) {
    std::string heard(bytes, '\0');
    const ssize_t size = recv(connection_.get(), heard.data(), bytes, MSG_WAITALL);
    heard.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return heard;
  }

 private:
  void LimitWaits() {
    const timeval patience = {.tv_sec = 60, .tv_usec = 0};
    setsockopt(connection_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }

  Descriptor connection_;
};

std::future<Status> Meeting(NetAcceptors& acceptors, int rank, NetTable table,
                            Deadline deadline = After(kPatience)) {
  return std::async(std::launch::async, [&acceptors, rank, table, deadline] {
    return acceptors.acceptor(rank).Meet(table, deadline).status();
  });
}

TEST(NetAcceptorTest, EachIsConnectedWithEach) {
  constexpr int kRanks = 4;
  constexpr int kStreams = 3;
  NetAcceptors acceptors(kRanks, kStreams);
  std::vector<std::future<Result<NetConnections>>> all;
  for (int rank = kRanks - 1; rank >= 0; --rank) {
    all.push_back(
        std::async(std::launch::async, [&acceptors, rank] { return acceptors.Connect(rank); }));
  }
  for (int rank = kRanks - 1; rank >= 0; --rank) {
    auto found = all[static_cast<size_t>(kRanks - 1 - rank)].get();
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (int other = 0; other < kRanks; ++other) {
      const NetPeer& peer = found->peers[static_cast<size_t>(other)];
      EXPECT_EQ(peer.streams.size(), other == rank ? 0U : kStreams);
      EXPECT_EQ(peer.words.socket.get() >= 0, other != rank);
    }
    EXPECT_EQ(found->links.size(), rank == 0 ? kRanks - 1U : 1U);
  }
}

TEST(NetAcceptorTest, WhoIsMissingIsNamed) {
  NetAcceptors acceptors(4);
  auto first = Meeting(acceptors, 0, acceptors.TableOf(0), After(std::chrono::seconds(1)));
  auto second = Meeting(acceptors, 2, acceptors.TableOf(2), After(std::chrono::seconds(1)));
  const Status late = first.get();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(late.message(),
            "rank 1 at " + acceptors.acceptor(1).address() + " has not connected, and 1 more");
  EXPECT_EQ(second.get().message(),
            "rank 1 at " + acceptors.acceptor(1).address() + " does not answer, and 1 more");
}

TEST(NetAcceptorTest, NobodyIsThere) {
  NetTable table;
  {
    NetAcceptors gone(2);
    table = gone.TableOf(1);
  }
  NetAcceptors acceptors(2);
  table.addresses[1] = acceptors.acceptor(1).address();
  const Status refused = acceptors.acceptor(1).Meet(table, After(kPatience)).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "cannot connect to rank 0 at " + table.addresses[0] + ": Connection refused");
}

TEST(NetAcceptorTest, StrangersDoNotKeepOthersOut) {
  NetAcceptors acceptors(2);
  const std::string& address = acceptors.acceptor(0).address();
  auto first = Meeting(acceptors, 0, acceptors.TableOf(0));
  Stranger silent(address);
  Stranger slow(address);
  Stranger browser(address);
  Stranger loud(address);
  EXPECT_EQ(loud.Hear(NetHandshake::kChallengeBytes).size(), NetHandshake::kChallengeBytes);
  const std::string challenge = slow.Hear(NetHandshake::kChallengeBytes);
  EXPECT_TRUE(NetHandshake::ReadChallenge(challenge).has_value());
  slow.Say("ton");
  browser.Say("GET / HTTP/1.1\r\n\r\n");
  loud.Say(std::string(100000, 'x'));
  // After the challenge it gets a refusal, or nothing.
  EXPECT_LE(loud.Hear(10000).size(), NetHandshake::kAcceptanceBytes);
  EXPECT_TRUE(Meeting(acceptors, 1, acceptors.TableOf(1)).get().ok());
  EXPECT_TRUE(first.get().ok());
}

TEST(NetAcceptorTest, OtherKeysRunsAndRanksAreRefused) {
  NetAcceptors acceptors(3);
  auto first = Meeting(acceptors, 0, acceptors.TableOf(0));
  NetTable table = acceptors.TableOf(1);
  std::vector<NetTable> others(3, table);
  others[0].secret = "another token";
  others[1].run = "an earlier run";
  others[2].addresses.pop_back();
  for (const NetTable& other : others) {
    const Status refused = acceptors.acceptor(1).Meet(other, After(kPatience)).status();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_EQ(refused.message().rfind("rank 0 at " + table.addresses[0] + " refuses rank 1", 0), 0U)
        << refused.message();
  }
  auto second = Meeting(acceptors, 1, table);
  EXPECT_TRUE(Meeting(acceptors, 2, acceptors.TableOf(2)).get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(first.get().ok());
}

/// All that a rank says is said again, as it was, to the same acceptor.
TEST(NetAcceptorTest, AReplayedAnswerIsRefused) {
  NetAcceptors acceptors(2);
  auto first = Meeting(acceptors, 0, acceptors.TableOf(0));
  const NetHandshake rank(kNetSecret, "run", acceptors.TableOf(1).addresses);
  auto number = NetHandshake::NewNumber();
  ASSERT_TRUE(number.ok());
  Stranger heard(acceptors.acceptor(0).address());
  const auto challenge = NetHandshake::ReadChallenge(heard.Hear(NetHandshake::kChallengeBytes));
  ASSERT_TRUE(challenge.has_value());
  const std::string answer = rank.Answer(
      {.acceptor = 0, .connector = 1, .ranks = 2, .number = 1, .streams = 2}, *number, *challenge);

  Stranger replaying(acceptors.acceptor(0).address());
  EXPECT_EQ(replaying.Hear(NetHandshake::kChallengeBytes).size(), NetHandshake::kChallengeBytes);
  replaying.Say(answer);
  EXPECT_EQ(replaying.Hear(NetHandshake::kAcceptanceBytes), NetHandshake::Refusal());
  // The same bytes would have been right where they belong.
  EXPECT_TRUE(rank.Check(answer, *challenge, 0).has_value());
  EXPECT_TRUE(Meeting(acceptors, 1, acceptors.TableOf(1)).get().ok());
  EXPECT_TRUE(first.get().ok());
}

/// Somebody has the port of a rank that has ended, and says what a rank would say.
TEST(NetAcceptorTest, AFalseAcceptorIsNotBelieved) {
  for (const bool knows_greeting : {false, true}) {
    const Descriptor acceptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto address = NetAddress::Of("127.0.0.1", 0);
    ASSERT_EQ(bind(acceptor.get(), address->data(), address->size()), 0);
    ASSERT_EQ(listen(acceptor.get(), 16), 0);
    NetAcceptors acceptors(2, 1);
    NetTable table = acceptors.TableOf(1);
    table.addresses[0] = NetAddress::OfSocket(acceptor.get()).Text();
    auto second = Meeting(acceptors, 1, table);
    const NetHandshake thief("a guess", "run", table.addresses);
    auto number = NetHandshake::NewNumber();
    const NetHandshake::Number challenge = *number;
    Stranger guest(Descriptor(accept(acceptor.get(), nullptr, nullptr)));
    guest.Say(knows_greeting ? NetHandshake::Challenge(challenge)
                             : std::string(NetHandshake::kChallengeBytes, 'x'));
    if (knows_greeting) {
      const std::string answer = guest.Hear(NetHandshake::kAnswerBytes);
      EXPECT_EQ(answer.find(kNetSecret), std::string::npos);
      guest.Say(thief.Acceptance(answer, challenge));
    }
    const Status refused = second.get();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_EQ(refused.message(), "rank 0 at " + table.addresses[0] +
                                     " is not of this job: something else has its port");
  }
}

TEST(NetAcceptorTest, WithoutAKeyOnlyLoopbackAndNobodyThere) {
  for (const std::string host : {"0.0.0.0", "192.0.2.1", "::"}) {
    auto refused = NetAcceptor::Open(host, false);
    ASSERT_FALSE(refused.ok()) << host;
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(NetAcceptor::Open("127.0.0.1", false).ok());
  EXPECT_EQ(NetAcceptor::Open("localhost", true).status().code(), Code::kInvalidArgument);
  // Where others of the machine connect and listen, too.
  NetAcceptors acceptors(2);
  for (const int rank : {0, 1}) {
    NetTable table = acceptors.TableOf(rank);
    table.secret = "";
    const Status refused = acceptors.acceptor(rank).Meet(table, After(kPatience)).status();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_NE(refused.message().find("TONY_COLLECTIVE_KEY"), std::string::npos);
  }
}

TEST(NetAcceptorTest, ATableWithAnotherAddressOfThisRankIsNotTaken) {
  NetAcceptors acceptors(2);
  NetTable table = acceptors.TableOf(0);
  table.addresses[0] = "192.0.2.1 40000";
  const Status refused = acceptors.acceptor(0).Meet(table, After(kPatience)).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "rank 0 has told all ranks that rank 0 listens at 192.0.2.1 40000, but it does so at " +
                acceptors.acceptor(0).address());
}

/// Somebody listens elsewhere, to whom rank 1 was sent, and passes on to rank 0, and back, all that
/// both say.
TEST(NetAcceptorTest, ARelayAtAnotherAddressIsRefused) {
  NetAcceptors acceptors(2, 1);
  auto first = Meeting(acceptors, 0, acceptors.TableOf(0));
  const Descriptor relay(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = NetAddress::Of("127.0.0.1", 0);
  ASSERT_EQ(bind(relay.get(), address->data(), address->size()), 0);
  ASSERT_EQ(listen(relay.get(), 16), 0);
  NetTable misled = acceptors.TableOf(1);
  misled.addresses[0] = NetAddress::OfSocket(relay.get()).Text();
  auto second = Meeting(acceptors, 1, misled);
  Stranger connector(Descriptor(accept(relay.get(), nullptr, nullptr)));
  Stranger acceptor(acceptors.acceptor(0).address());
  connector.Say(acceptor.Hear(NetHandshake::kChallengeBytes));
  acceptor.Say(connector.Hear(NetHandshake::kAnswerBytes));
  const std::string accepted = acceptor.Hear(NetHandshake::kAcceptanceBytes);
  EXPECT_EQ(accepted, NetHandshake::Refusal());
  connector.Say(accepted);
  const Status refused = second.get();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.message().find("refuses rank 1 of 2"), std::string::npos) << refused.message();
  // Rank 0 has not taken it for rank 1, and goes on with the right one.
  EXPECT_TRUE(Meeting(acceptors, 1, acceptors.TableOf(1)).get().ok());
  EXPECT_TRUE(first.get().ok());
}

}  // namespace
}  // namespace tony::collective
