// The driver's promises: a plan that can be read, a rendezvous that works, and a sentence about who
// is missing.
#include "driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "common/process_setup.h"
#include "core/rendezvous/plan_text.h"
#include "os/files/files.h"
#include "os/network/port_reservation.h"
#include "tests/common/loop_driver.h"
#include "tests/os/network/second_user.h"
#include "tests/os/temporary_folder.h"
#include "tests/rendezvous/rendezvous_run.h"

namespace tony::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DriverTest : public ::testing::Test {
 protected:
  void Start(std::vector<core::HostSlots> workers, std::chrono::milliseconds rendezvous) {
    Options options;
    options.workers = std::move(workers);
    for (int rank = 0; rank < Processes(options.workers); ++rank) {
      options.tasks.push_back("worker:" + std::to_string(rank));
    }
    options.output_folder = folder_ / "";
    options.replica_port = port_of_task_.port();
    options.rendezvous = rendezvous;
    auto started = Driver::Start(loop_.loop(), clock_, options, [this](const std::string& why) {
      failure_ = why;
      // As the program does, but not from within the call.
      loop_.loop().Post([this] { driver_.reset(); });
      loop_.Changed();
    });
    ASSERT_TRUE(started.ok()) << started.status();
    driver_ = *std::move(started);
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "")) {
      const std::string name = entry.path().filename();
      const auto port = core::PortOfPlanFile(name);
      if (!port) continue;
      port_ = *port;
      plan_ = core::ParsePlan(os::ReadFile(entry.path()).value())->slots;
    }
  }

  /// The answer that a program of another user gets for `request`.
  std::string AskAsStranger(int port, const std::string& request) {
    return loop_.AwaitThread([&] { return os::AskAsSecondUser(port, request); })
        .value_or("not in time");
  }

  core::RendezvousWait Wait() const {
    const auto text = os::ReadFile(folder_ / core::kWaitFileName);
    return text.ok() ? core::ParseWait(*text).value() : core::RendezvousWait{"(no file)", {}};
  }

  os::TemporaryFolder folder_;
  const os::PortReservation port_of_task_ = os::PortReservation::Reserve().value();
  LoopDriver loop_;
  SystemClock clock_;
  std::unique_ptr<Driver> driver_;
  std::optional<std::string> failure_;
  int port_ = 0;
  std::vector<core::Slot> plan_;
};

TEST_F(DriverTest, RanksFindEachOtherByItsPlan) {
  Start({{"a", 2}, {"b", 1}}, std::chrono::seconds(60));
  EXPECT_EQ(plan_, core::PlanSlots({{"a", 2}, {"b", 1}}, 3).value());
  const rendezvous::RendezvousRun run = rendezvous::RunRendezvous(
      loop_, plan_, {}, [this](const core::Slot&) { return rendezvous::RankRole{port_}; });
  for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(run.counts.failed, 0U);
  EXPECT_FALSE(failure_.has_value());
}

TEST_F(DriverTest, NamesWhoDoesNotComeInTime) {
  Start({{"a", 1}, {"b", 1}}, std::chrono::milliseconds(700));
  rendezvous::ClientOptions options;
  options.timeout = std::chrono::seconds(20);  // its requests fail as soon as the driver is gone
  const rendezvous::RendezvousRun run =
      rendezvous::RunRendezvous(loop_, plan_, options, [this](const core::Slot& slot) {
        return rendezvous::RankRole{port_, /*comes=*/slot.rank == 0};
      });
  ASSERT_TRUE(failure_.has_value());
  EXPECT_THAT(*failure_,
              StartsWith("The processes did not find each other within 0.7s "
                         "(tony.horovod.rendezvous-timeout-ms): 1 of 2 ranks has not put its "
                         "addresses into 'global': worker:1 (rank 1 on b) has put nothing"));
  EXPECT_EQ(Wait(), (core::RendezvousWait{*failure_, {"worker:1"}})) << "its executor tells it";
}

TEST_F(DriverTest, AnotherUserGetsNothing) {
  if (!os::CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  Start({{"a", 2}}, std::chrono::seconds(60));
  const auto worker = [&](const auto& ask) {
    rendezvous::HttpStoreClient client({.port = port_});
    return loop_.AwaitThread([&] { return ask(client); }).value();
  };
  EXPECT_TRUE(worker([](auto& client) { return client.Put("worker_addresses", "a:0", "x"); }).ok());
  EXPECT_TRUE(worker([](auto& client) { return client.Put("global", "0", "there"); }).ok());
  for (const char* request :
       {"GET /worker_addresses/a:0 HTTP/1.1\r\n\r\n", "GET /global/0 HTTP/1.1\r\n\r\n",
        "PUT /runfunc/func HTTP/1.1\r\nContent-Length: 4\r\n\r\nevil", "nonsense\r\n\r\n"}) {
    EXPECT_EQ(AskAsStranger(port_, request), "") << request;
  }
  EXPECT_EQ(AskAsStranger(port_of_task_.port(), ""), "") << "nor does one who would be a replica";
  EXPECT_EQ(*worker([](auto& client) { return client.Get("global", "0"); }), "there");
  EXPECT_EQ(*worker([](auto& client) { return client.Get("runfunc", "func"); }), "");
  EXPECT_EQ(*worker([](auto& client) { return client.Get("worker_addresses", "a:0"); }), "");
}

TEST_F(DriverTest, FiveThousandConnectionsOfAnotherUserHinderNoRank) {
  if (!os::CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  RaiseOpenFiles();
  Start({{"a", 2}}, std::chrono::seconds(60));
  const auto flood = loop_.AwaitThread([this] {
    return std::make_unique<os::Flood>(port_, 5000, "GET /rank_and_size/x:0 HTTP/1.1\r\n\r\n");
  });
  ASSERT_TRUE(flood.has_value());
  EXPECT_GT((*flood)->made(), 0);
  const rendezvous::RendezvousRun run = rendezvous::RunRendezvous(
      loop_, plan_, {}, [this](const core::Slot&) { return rendezvous::RankRole{port_}; });
  for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(run.counts.failed, 0U);
}

TEST_F(DriverTest, HostsWithoutAPlanAreAnError) {
  Options options;
  options.workers = {{"a", 1}, {"a", 1}};
  options.output_folder = folder_ / "";
  options.replica_port = port_of_task_.port();
  const auto refused =
      Driver::Start(loop_.loop(), clock_, options, [](const std::string&) {}).status();
  ASSERT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("host a is named twice"));
}

TEST_F(DriverTest, AFolderThatIsNotThereIsAnError) {
  Options options;
  options.workers = {{"a", 1}};
  options.output_folder = folder_ / "missing";
  options.replica_port = port_of_task_.port();
  const auto refused =
      Driver::Start(loop_.loop(), clock_, options, [](const std::string&) {}).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
}

}  // namespace
}  // namespace tony::driver
