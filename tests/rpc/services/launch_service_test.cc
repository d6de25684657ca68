// Vouchers are redeemed at a real server, by real clients.
#include "rpc/services/launch_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "common/clock.h"
#include "common/fake_clock.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/security/grpc_credentials.h"
#include "rpc/services/master_server.h"
#include "rpc/services/voucher.h"
#include "tests/rpc/inbox.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kContainer[] = "job-1-c0001";
constexpr RedeemPatience kPatient{seconds(20), seconds(20)};

class LaunchServiceTest : public ::testing::Test {
 protected:
  struct Arrival {
    Newcomer newcomer;
    LaunchService::Answer answer;
  };

  void SetUp() override {
    auto server = MasterServer::StartForNewcomers(
        "127.0.0.1", Peers::kOwnUser, authority_.Issue(ApplicationMasterRole("job-1")).value(),
        service_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    voucher_.container_id = kContainer;
    voucher_.address = server_->address();
    voucher_.authority_pem = authority_.Issue(ExecutorRole("job-1", kContainer)).value().ca_pem;
    voucher_.secret = secrets_.Make(kContainer, clock_.Now() + seconds(60)).value();
  }

  static Newcomer Self() {
    return {.host = "node-1", .host_id = "boot-1", .process = {42, 4200}, .gpus = {0, 3}};
  }
  absl::Status TryRedeem(const Voucher& voucher, Duration limit = seconds(20)) {
    return Redeem(voucher, Self(), {limit, limit}).status();
  }
  /// Redeems the voucher on another thread, and answers.
  absl::StatusOr<core::LaunchContext> RedeemAnswered() {
    std::optional<absl::StatusOr<core::LaunchContext>> order;
    std::thread executor([&] { order = Redeem(voucher_, Self(), kPatient); });
    arrivals_.Next().value().answer(core::LaunchContext{
        .arguments = {"--a=b"}, .environment = {"A=\xc3\xa4"}, .secret = "pem"});
    executor.join();
    return *order;
  }

  FakeClock clock_;
  OneTimeSecrets secrets_;
  CertificateAuthority authority_ = CertificateAuthority::Create("job-1").value();
  Inbox<Arrival> arrivals_;
  Inbox<std::string> notes_;
  LaunchService service_{"job-1",
                         clock_,
                         secrets_,
                         {[this](const Newcomer& newcomer, LaunchService::Answer answer) {
                            arrivals_.Push({newcomer, std::move(answer)});
                          },
                          [this](const std::string& sentence) { notes_.Push(sentence); }}};
  std::unique_ptr<MasterServer> server_;
  Voucher voucher_;
};

TEST_F(LaunchServiceTest, AVoucherBringsTheOrder) {
  std::optional<absl::StatusOr<core::LaunchContext>> order;
  std::thread executor([&] { order = Redeem(voucher_, Self(), kPatient); });
  const Arrival arrival = arrivals_.Next().value();
  EXPECT_EQ(arrival.newcomer.container_id, kContainer);
  EXPECT_EQ(arrival.newcomer.host, "node-1");
  EXPECT_EQ(arrival.newcomer.host_id, "boot-1");
  EXPECT_EQ(arrival.newcomer.process, (core::ExecutorProcess{42, 4200}));
  EXPECT_THAT(arrival.newcomer.gpus, ElementsAre(0, 3));
  server_->Admit(arrival.newcomer.peer);
  arrival.answer(
      core::LaunchContext{.arguments = {"--a=b"}, .environment = {"A=b"}, .secret = "pem"});
  arrival.answer(absl::InternalError("only the first answer counts"));
  executor.join();
  ASSERT_TRUE(order->ok()) << order->status();
  EXPECT_THAT((*order)->arguments, ElementsAre("--a=b"));
  EXPECT_THAT((*order)->environment, ElementsAre("A=b"));
  EXPECT_EQ((*order)->secret, "pem");
}

TEST_F(LaunchServiceTest, ASecondUseIsRefusedAndNoted) {
  ASSERT_TRUE(RedeemAnswered().ok());
  const absl::Status again = TryRedeem(voucher_);
  EXPECT_TRUE(absl::IsAlreadyExists(again)) << again;
  EXPECT_THAT(notes_.Next().value(),
              HasSubstr("job-1-c0001 was used a second time, from ipv4:127.0.0.1"));
}

TEST_F(LaunchServiceTest, WrongAndLateSecretsAreRefused) {
  Voucher wrong = voucher_;
  wrong.secret = std::string(64, '0');
  EXPECT_TRUE(absl::IsPermissionDenied(TryRedeem(wrong)));
  wrong = voucher_;
  wrong.container_id = "job-1-c0002";
  EXPECT_TRUE(absl::IsNotFound(TryRedeem(wrong)));
  clock_.Advance(seconds(61));
  EXPECT_TRUE(absl::IsDeadlineExceeded(TryRedeem(voucher_)));
}

TEST_F(LaunchServiceTest, ABadHostIsRefusedBeforeTheSecretIsUsedUp) {
  for (const char* host : {"", "a b", "a\nb", "$(x)"}) {
    Newcomer self = Self();
    self.host = host;
    EXPECT_TRUE(absl::IsInvalidArgument(Redeem(voucher_, self, kPatient).status())) << host;
  }
  EXPECT_TRUE(RedeemAnswered().ok());
}

TEST_F(LaunchServiceTest, TheRefusalOfTheEventLoopReachesTheExecutor) {
  absl::Status refused;
  std::thread executor([&] { refused = TryRedeem(voucher_); });
  arrivals_.Next().value().answer(absl::NotFoundError("too late"));
  executor.join();
  EXPECT_TRUE(absl::IsNotFound(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("too late"));
}

TEST_F(LaunchServiceTest, AnAnswerAfterTheExecutorIsGoneDoesNoHarm) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(TryRedeem(voucher_, std::chrono::milliseconds(300))));
  arrivals_.Next().value().answer(core::LaunchContext{});
}

// An executor that is placed while its job ends must not hold its place for the whole limit.
TEST_F(LaunchServiceTest, AVoucherOfAnApplicationMasterThatIsGoneIsGivenUpSoon) {
  server_.reset();
  const absl::Status gone =
      Redeem(voucher_, Self(), {std::chrono::hours(1), std::chrono::milliseconds(50)}).status();
  EXPECT_TRUE(absl::IsUnavailable(gone)) << gone;
  EXPECT_THAT(std::string(gone.message()),
              ::testing::AllOf(HasSubstr(kContainer), HasSubstr(voucher_.address),
                               HasSubstr("the next one has other vouchers")));
}

TEST_F(LaunchServiceTest, AnotherJobsServerIsNotTrusted) {
  const CertificateAuthority other = CertificateAuthority::Create("job-1").value();
  Voucher foreign = voucher_;
  foreign.authority_pem = other.Issue(ExecutorRole("job-1", kContainer)).value().ca_pem;
  EXPECT_TRUE(absl::IsDeadlineExceeded(TryRedeem(foreign, std::chrono::milliseconds(500))));
  // The secret has not left the executor.
  EXPECT_TRUE(RedeemAnswered().ok());
}

TEST_F(LaunchServiceTest, NoOtherServiceIsBehindThatPort) {
  Credentials none;
  none.ca_pem = voucher_.authority_pem;
  const auto client = v1::JobService::NewStub(MakeMasterChannel(server_->address(), none));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(20));
  v1::StopResponse response;
  EXPECT_EQ(client->Stop(&context, {}, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(VoucherTest, ComesBackAsItWas) {
  const Voucher voucher{"job-1-c0001", "[::1]:77", "-----BEGIN\nX\n", "secret"};
  const std::string text = FormatVoucher(voucher);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(ParseVoucher(text).value(), voucher);
}

TEST(VoucherTest, DamagedOnesAreNotQuoted) {
  const std::string text = FormatVoucher({"c", "a", "p", "seesaw"});
  for (const std::string& damaged :
       {std::string(), std::string("{}"), text.substr(1), text + "x", std::string("[1]"),
        std::string(R"({"version":2,"secret":"seesaw"})"),
        std::string(R"({"version":1,"container":7})")}) {
    const absl::Status status = ParseVoucher(damaged).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << damaged;
    EXPECT_EQ(std::string(status.message()).find("seesaw"), std::string::npos);
  }
}

}  // namespace
}  // namespace tony::rpc
