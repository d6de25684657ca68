// Horovod's messages: bytes of real workers, what is wrong with them, and what is sent.
#include "driver/elastic_messages.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "os/files/message_digest.h"
#include "tests/driver/worker_pickle.h"

namespace tony::driver {
namespace {

using Endpoints = std::vector<WorkerAddress::Endpoint>;

// Values that Horovod 0.28.1's WorkerNotificationManager has put, with Python 3.11 and psutil
// 5.9.8.
constexpr char kOnlyLoopback[] =
    "gAWVQgAAAAAAAAB9lIwCbG+UXZSMCTEyNy4wLjAuMZRN8O+GlGFzQyABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhsc"
    "HR4fIJSGlC4=";
constexpr char kTwoInterfaces[] =
    "gAWVXgAAAAAAAAB9lCiMAmxvlF2UjAkxMjcuMC4wLjGUTbGqhpRhjARldGgwlF2UjAkxOTIuMC4yLjKUTbGqhpRhdUMg"
    "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyCUhpQu";
constexpr char kThreeInterfacesOneWithTwo[] =
    "gAWViAAAAAAAAAB9lCiMAmxvlF2UjAkxMjcuMC4wLjGUTZWQhpRhjARldGgxlF2UjAgxMC45LjAuMZRNlZCGlGGMBGV0"
    "aDCUXZQojAgxMC4xLjIuM5RNlZCGlIwIMTAuMS4yLjSUTZWQhpRldUMgAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRob"
    "HB0eHyCUhpQu";
constexpr char kOfProtocol4[] =
    "gASViAAAAAAAAAB9lCiMAmxvlF2UjAkxMjcuMC4wLjGUTZWQhpRhjARldGgxlF2UjAgxMC45LjAuMZRNlZCGlGGMBGV0"
    "aDCUXZQojAgxMC4xLjIuM5RNlZCGlIwIMTAuMS4yLjSUTZWQhpRldUMgAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRob"
    "HB0eHyCUhpQu";
// The value of a worker on whose machine no interface has an IPv4 address.
constexpr char kNone[] = "gAWVKAAAAAAAAAB9lEMgAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyCUhpQu";

// Its answers with the same secret: an AckResponse by protocols 5 and 4, and a PingResponse.
constexpr char kAck[] =
    "4ad95503440a2a186543428b46a3a0ac234068506ac4b201a947ac2ef7e6c019440000008005953900000000000000"
    "8c22"
    "686f726f766f642e72756e6e65722e636f6d6d6f6e2e7574696c2e6e6574776f726b948c0b41636b526573706f6e73"
    "6594"
    "93942981942e";
constexpr char kAckOfProtocol4[] =
    "5c5ca2fcff44b044002c5bc9481f24ca39969c84d41dfcd63ecc8a7f832f9051440000008004953900000000000000"
    "8c22"
    "686f726f766f642e72756e6e65722e636f6d6d6f6e2e7574696c2e6e6574776f726b948c0b41636b526573706f6e73"
    "6594"
    "93942981942e";
constexpr char kPingResponse[] =
    "7c8be742e251c7c98dce3c59698e83037f5ce417af1ae721158b4ed49affe355940000008005958900000000000000"
    "8c22"
    "686f726f766f642e72756e6e65722e636f6d6d6f6e2e7574696c2e6e6574776f726b948c0c50696e67526573706f6e"
    "7365"
    "9493942981947d94288c0c736572766963655f6e616d65948c1b776f726b6572206e6f74696669636174696f6e2073"
    "6572"
    "76696365948c0e736f757263655f61646472657373948c093132372e302e302e319475622e";

std::string Unescaped(const std::string& base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64, &bytes));
  return bytes;
}

absl::StatusOr<WorkerAddress> ParsePickle(const std::string& pickle) {
  return ParseWorkerAddresses(absl::Base64Escape(pickle));
}

/// Refused, with a sentence that has `part` in it.
void ExpectRefused(const absl::StatusOr<WorkerAddress>& parsed, const std::string& part) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << part;
  EXPECT_NE(parsed.status().message().find(part), std::string::npos) << parsed.status();
}

TEST(WorkerAddressTest, OfARealWorker) {
  const auto one = ParseWorkerAddresses(kOnlyLoopback);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->secret, TestSecret());
  EXPECT_EQ(one->endpoints, (Endpoints{{"lo", "127.0.0.1", 61424}}));
  const auto two = ParseWorkerAddresses(kTwoInterfaces);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->secret, TestSecret());
  EXPECT_EQ(two->endpoints, (Endpoints{{"lo", "127.0.0.1", 43697}, {"eth0", "192.0.2.2", 43697}}));
  for (const char* body : {kThreeInterfacesOneWithTwo, kOfProtocol4}) {
    const auto many = ParseWorkerAddresses(body);
    ASSERT_TRUE(many.ok()) << many.status();
    EXPECT_EQ(many->secret, TestSecret());
    EXPECT_EQ(many->endpoints, (Endpoints{{"lo", "127.0.0.1", 37013},
                                          {"eth1", "10.9.0.1", 37013},
                                          {"eth0", "10.1.2.3", 37013},
                                          {"eth0", "10.1.2.4", 37013}}));
  }
  ExpectRefused(ParseWorkerAddresses(kNone), "no IPv4 address");
}

// Validates the pickler with which the tests below make bodies.
TEST(WorkerAddressTest, ThePickleOfTheseTestsIsThatOfRealWorkers) {
  for (const char* body : {kOnlyLoopback, kTwoInterfaces, kThreeInterfacesOneWithTwo}) {
    const auto worker = ParseWorkerAddresses(body);
    ASSERT_TRUE(worker.ok()) << worker.status();
    EXPECT_EQ(absl::Base64Escape(PickleOf(*worker)), body);
  }
}

// kube-ipvs0 has an address for each service of a cluster. Python counts to a thousand and begins
// a new group.
TEST(WorkerAddressTest, AThousandAddresses) {
  WorkerAddress worker{{}, TestSecret()};
  for (int i = 0; i < 2500; ++i) {
    worker.endpoints.push_back({"kube-ipvs0", absl::StrCat("10.96.", i / 250, ".", i % 250), 2000});
  }
  const auto parsed = ParsePickle(PickleOf(worker));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->endpoints, worker.endpoints);
  for (int i = 0; i < 1000; ++i) worker.endpoints.push_back({"eth0", "10.200.200.200", 2000});
  ExpectRefused(ParsePickle(PickleOf(worker)), "more than any machine's addresses need");
}

TEST(WorkerAddressTest, RefusesWhatIsNotBase64) {
  const std::string good = kOnlyLoopback;
  for (const std::string& body :
       {good.substr(0, good.size() - 1), good + "\n", " " + good, good + good, "-" + good.substr(1),
        good + std::string(1, '\0'), std::string("{}"),
        good.substr(0, 40) + "\r\n" + good.substr(40)}) {
    ExpectRefused(ParseWorkerAddresses(body), "Base64");
  }
  ExpectRefused(ParseWorkerAddresses(std::string(1 << 20, 'A')), "1048576 bytes");
  ExpectRefused(ParseWorkerAddresses(""), "no sign of a pickle");
}

TEST(WorkerAddressTest, RefusesOtherPickles) {
  // Each would be carried out by a pickle reader: a call of os.system, objects within themselves.
  for (const std::string& body : {
           std::string("cos\nsystem\n(S'true'\ntR."),
           FramedPickle("\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94."),
           FramedPickle("}\x94(\x8c\x02lo\x94]\x94h\x01us."),
           FramedPickle(std::string(60'000, '(')),
           FramedPickle(std::string(60'000, ']')),
           FramedPickle("N."),
           FramedPickle("}\x94."),
       }) {
    ExpectRefused(ParsePickle(body), "not in the form of Horovod 0.28");
  }
  std::string pickle = Unescaped(kOnlyLoopback);
  for (const char protocol : {'\0', '\x01', '\x02', '\x03', '\x06', '\xff'}) {
    pickle[1] = protocol;
    ExpectRefused(ParsePickle(pickle), "protocol");
  }
}

TEST(WorkerAddressTest, RefusesWrongValues) {
  const auto with = [](const std::string& address, int port, const std::string& secret) {
    return ParsePickle(PickleOf({{{"eth0", address, port}}, secret}));
  };
  EXPECT_TRUE(with("10.0.0.1", 1024, TestSecret()).ok());
  EXPECT_TRUE(with("255.255.255.255", 65535, TestSecret()).ok());
  for (const std::string address :
       {"", "localhost", "10.0.0", "10.0.0.1 ", "10.0.0.256", "010.0.0.1", "::1", "10.0.0.1\n",
        "0x7f.1", "2130706433", "-1.0.0.1"}) {
    ExpectRefused(with(address, 2000, TestSecret()), "is no IPv4 address");
  }
  ExpectRefused(with(std::string("10.0.0.1\0", 9), 2000, TestSecret()), R"('10.0.0.1\x00')");
  for (const int port : {0, 1, 80, 1023}) {
    ExpectRefused(with("10.0.0.1", port, TestSecret()), absl::StrCat("port ", port));
  }
  for (const size_t size : {0, 1, 31, 33, 255}) {
    ExpectRefused(with("10.0.0.1", 2000, std::string(size, 's')),
                  absl::StrCat("secret has ", size, " bytes"));
  }
  // The opcodes of smaller and larger numbers, in place of the one of two bytes.
  for (const std::string port : {"KP", "J\x40\x1f\x01\xff", "\x8a\x01\x07", "\x88", "N"}) {
    const std::string entry = absl::StrCat("}\x94\x8c\x04", "eth0\x94]\x94\x8c\x08", "10.0.0.1\x94",
                                           port, "\x86\x94", "asC ", TestSecret(), "\x94\x86\x94.");
    ExpectRefused(ParsePickle(FramedPickle(entry)), "a port from 1024 to 65535");
  }
}

TEST(WorkerAddressTest, RefusesEachPieceOfAGoodOneAndWhatFollowsIt) {
  for (const char* body : {kOnlyLoopback, kThreeInterfacesOneWithTwo}) {
    const std::string pickle = Unescaped(body);
    for (size_t size = 0; size < pickle.size(); ++size) {
      EXPECT_FALSE(ParsePickle(pickle.substr(0, size)).ok()) << size;
      // Also with the length that it then has.
      if (size > kPickleHeadBytes) {
        EXPECT_FALSE(
            ParsePickle(FramedPickle(pickle.substr(kPickleHeadBytes, size - kPickleHeadBytes)))
                .ok())
            << size;
      }
    }
    EXPECT_FALSE(ParsePickle(pickle + ".").ok());
    EXPECT_FALSE(ParsePickle(FramedPickle(pickle.substr(kPickleHeadBytes) + ".")).ok());
  }
}

// Whatever is accepted is what the bytes say: written again it is the same bytes.
TEST(WorkerAddressTest, NoChangeOfAByteIsTakenForSomethingElse) {
  std::mt19937 random(20240517);
  const auto below = [&random](size_t end) { return random() % end; };
  int accepted = 0;
  for (const char* body : {kOnlyLoopback, kTwoInterfaces, kThreeInterfacesOneWithTwo}) {
    const std::string good = Unescaped(body);
    for (int round = 0; round < 30'000; ++round) {
      std::string pickle = good;
      for (size_t changes = 1 + below(3); changes > 0; --changes) {
        const size_t at = below(pickle.size());
        switch (below(4)) {
          case 0:
            pickle.erase(at, 1 + below(4));
            break;
          case 1:
            pickle.insert(at, pickle.substr(below(pickle.size()), 1 + below(24)));
            break;
          default:
            pickle[at] = static_cast<char>(random());
            break;
        }
        if (pickle.empty()) pickle = good;
      }
      // Half of them with the right length, or little else would be reached.
      if (round % 2 == 0 && pickle.size() > kPickleHeadBytes) {
        pickle = FramedPickle(pickle.substr(kPickleHeadBytes));
      }
      const auto parsed = ParsePickle(pickle);
      if (!parsed.ok()) {
        EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
        continue;
      }
      ++accepted;
      pickle[1] = '\x05';
      ASSERT_EQ(absl::CHexEscape(PickleOf(*parsed)), absl::CHexEscape(pickle));
    }
  }
  // A change of the secret is one that nobody can see.
  EXPECT_GT(accepted, 1000);
}

TEST(HostsUpdatedRequestTest, IsTheBytesThatHorovodTakes) {
  const auto request = HostsUpdatedRequest(TestSecret(), 0x0102030405060709, HostChange::kMixed);
  ASSERT_TRUE(request.ok()) << request.status();
  const std::string pickle = request->substr(36);
  EXPECT_EQ(pickle,
            std::string("\x80\x04\x8c\x1d"
                        "horovod.runner.elastic.worker"
                        "\x8c\x13"
                        "HostsUpdatedRequest"
                        "\x93)\x81}(\x8c\x09timestamp\x8a\x08\x09\x07\x06\x05\x04\x03\x02\x01"
                        "\x8c\x03res\x8c\x1d"
                        "horovod.runner.elastic.worker"
                        "\x8c\x10HostUpdateResult\x93K\x03\x85Rub."));
  EXPECT_EQ(request->substr(0, 32), os::HmacSha256(TestSecret(), pickle).value());
  EXPECT_EQ(request->substr(32, 4), (std::string{static_cast<char>(pickle.size()), 0, 0, 0}));
  for (const HostChange change : {HostChange::kRemoved, HostChange::kAdded}) {
    const std::string other = HostsUpdatedRequest(TestSecret(), 1, change).value();
    EXPECT_EQ(other[other.size() - 6], static_cast<char>(change));
  }
}

TEST(AckTest, OfARealWorker) {
  for (const char* hex : {kAck, kAckOfProtocol4}) {
    const std::string frame = absl::HexStringToBytes(hex);
    EXPECT_EQ(ReplyBytes(frame).value(), frame.size());
    EXPECT_EQ(ReplyBytes(frame.substr(0, kReplyHeadBytes)).value(), frame.size());
    EXPECT_TRUE(CheckAck(TestSecret(), frame).ok()) << CheckAck(TestSecret(), frame);
    EXPECT_EQ(CheckAck(std::string(32, 'x'), frame).code(), absl::StatusCode::kUnauthenticated);
  }
  const std::string ping = absl::HexStringToBytes(kPingResponse);
  EXPECT_EQ(CheckAck(TestSecret(), ping).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(CheckAck(TestSecret(), ping).message().find("no AckResponse"), std::string::npos);
}

TEST(AckTest, EachChangedBitAndEachOtherLengthIsFound) {
  const std::string frame = absl::HexStringToBytes(kAck);
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string changed = frame;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(CheckAck(TestSecret(), changed).ok()) << bit;
  }
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(CheckAck(TestSecret(), frame.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(CheckAck(TestSecret(), frame + " ").ok());
}

TEST(AckTest, AReplyHasABoundedLength) {
  const std::string digest(32, 'd');
  EXPECT_EQ(ReplyBytes(digest + std::string(4, '\0')).value(), kReplyHeadBytes);
  EXPECT_EQ(ReplyBytes(digest + std::string("\xdc\x03\0\0", 4)).value(), kMostReplyBytes);
  for (const std::string& length : {std::string("\xdd\x03\0\0", 4), std::string("\xff\xff\xff\x7f"),
                                    std::string("\xff\xff\xff\xff")}) {
    EXPECT_EQ(ReplyBytes(digest + length).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(ReplyBytes(digest + "abc").ok());
}

}  // namespace
}  // namespace tony::driver
