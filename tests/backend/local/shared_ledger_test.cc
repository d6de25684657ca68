// A ledger of all users of a machine, between users who do not trust each other.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/local/ledger.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/local/backend_support.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uid_t kBob = 54322;
constexpr uid_t kEve = 54323;
const std::string kOwn = TestJobId(1);
const std::string kTheirs = TestJobId(2);

/// This process is root, whose folder in the ledger is "0"; other users are children of it.
class SharedLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    ASSERT_EQ(chmod(root_.path().c_str(), 0755), 0);
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
  }

  absl::StatusOr<Ledger> Open(Duration limit = std::chrono::seconds(10)) const {
    return Ledger::Open({.folder = path_, .kind = Ledger::Kind::kShared, .limit = limit});
  }
  /// Runs `body` as another user; its result is the child's exit code.
  static std::unique_ptr<ForkedChild> As(uid_t user, const std::function<int()>& body) {
    return std::make_unique<ForkedChild>([user, body] {
      if (::setgid(user) != 0 || ::setuid(user) != 0) return 99;
      return body();
    });
  }
  static int ExitCode(ForkedChild& child) {
    const int status = child.Wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int RunAs(uid_t user, const std::function<int()>& body) {
    return ExitCode(*As(user, body));
  }
  /// A user's process that holds what it asked for until it is killed.
  std::unique_ptr<ForkedChild> Holder(uid_t user, const std::string& job,
                                      const core::ContainerRequest& request,
                                      const Signpost& holding) const {
    return As(user, [=, this, &holding] {
      const auto claim = LedgerClaim::Open(Open().value(), job).value();
      if (!claim->Want({request}).ok()) return 1;
      const auto admission = claim->TryAdmit(machine_);
      const bool admitted = admission.ok() && std::holds_alternative<core::Admitted>(*admission);
      holding.Reach(admitted ? 'h' : 'w');
      ::pause();
      return 0;
    });
  }
  core::Admission Ask(LedgerClaim& claim, const core::ContainerRequest& request) const {
    EXPECT_TRUE(claim.Want({request}).ok());
    return claim.TryAdmit(machine_).value();
  }
  std::vector<std::string> LiveJobs() const {
    std::vector<std::string> jobs;
    const std::vector<core::Claim> claims = Open().value().Claims().value();
    for (const core::Claim& claim : claims) jobs.push_back(claim.user + "/" + claim.job_id);
    return jobs;
  }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  const core::Capacity machine_ = SmallMachine(1000, 1);
  os::TemporaryFolder root_;
  const std::string path_ = root_ / "ledger";
};

TEST_F(SharedLedgerTest, TwoUsersNeverGetOneGpu) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 1), holding);
  ASSERT_EQ(holding.Await(), 'h');
  const auto claim = LedgerClaim::Open(Open().value(), kOwn).value();
  const core::Admission waits = Ask(*claim, Workers(1, 10, 1));
  ASSERT_TRUE(std::holds_alternative<core::MustWait>(waits));
  EXPECT_THAT(
      std::get<core::MustWait>(waits).sentence,
      HasSubstr("job " + kTheirs + " of 54322 (pid " + std::to_string(bob->pid()) + ") holds 1"));
  EXPECT_THAT(std::get<core::MustWait>(waits).unblock, ::testing::Not(HasSubstr("tony kill")));
  bob->Kill(SIGKILL);
  bob->Wait();
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(claim->TryAdmit(machine_).value()));
  EXPECT_EQ(os::ModeOf(PathOf("0")), 0755u);
  EXPECT_EQ(os::ModeOf(PathOf("0/" + kOwn + ".json")), 0644u);
  EXPECT_EQ(os::ModeOf(PathOf("0/" + kOwn + ".lock")), 0644u);
}

TEST_F(SharedLedgerTest, OfManyWhoRaceOneGetsTheGpu) {
  const Signpost asked;
  std::vector<std::unique_ptr<ForkedChild>> users;
  constexpr int kUsers = 8;
  for (uid_t i = 0; i < kUsers; ++i) {
    users.push_back(Holder(kBob + i, TestJobId(10 + i), Workers(1, 10, 1), asked));
  }
  int holders = 0;
  for (int i = 0; i < kUsers; ++i) holders += asked.Await() == 'h' ? 1 : 0;
  EXPECT_EQ(holders, 1);
}

TEST_F(SharedLedgerTest, ClaimsAreThoseOfTheFoldersOwner) {
  const std::string claim =
      R"({"version":1,"job_id":")" + kTheirs +
      R"(","pid":1,"ticket":1,"held":[{"resources":{"memory_mb":1,"vcores":1,"gpus":1},"gpus":[0]}],"wanted":[]})";
  // Eve writes as if she were Bob, in a folder with his number and in one with a name of no form.
  EXPECT_EQ(RunAs(kEve,
                  [&] {
                    for (const std::string folder : {std::to_string(kBob), std::string("bob")}) {
                      if (::mkdir(PathOf(folder).c_str(), 0755) != 0) return 1;
                      os::Put(PathOf(folder) + "/" + kTheirs + ".json", claim);
                      os::Put(PathOf(folder) + "/" + kTheirs + ".lock", "");
                    }
                    return 0;
                  }),
            0);
  const os::UniqueFd lock(
      open(PathOf(std::to_string(kBob) + "/" + kTheirs + ".lock").c_str(), O_WRONLY | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(lock.get(), F_OFD_SETLK, &whole), 0);
  EXPECT_THAT(LiveJobs(), IsEmpty());

  // Bob is not kept out, although his name is taken.
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 1), holding);
  ASSERT_EQ(holding.Await(), 'h');
  EXPECT_THAT(LiveJobs(), ElementsAre("54322/" + kTheirs));
  EXPECT_TRUE(os::Exists(PathOf("54322-2/" + kTheirs + ".json")));
}

TEST_F(SharedLedgerTest, AFileOfAnotherOwnerInAUsersFolderDoesNotCount) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 1), holding);
  ASSERT_EQ(holding.Await(), 'h');
  ASSERT_EQ(::chown(PathOf("54322/" + kTheirs + ".json").c_str(), kEve, kEve), 0);
  EXPECT_THAT(LiveJobs(), IsEmpty());
}

TEST_F(SharedLedgerTest, AStrangersLockKeepsNoDeadClaimAlive) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 1), holding);
  ASSERT_EQ(holding.Await(), 'h');
  const Signpost locked;
  const auto eve = As(kEve, [&] {
    const os::UniqueFd file(
        open(PathOf("54322/" + kTheirs + ".lock").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid() || flock(file.get(), LOCK_SH) != 0) return 1;
    locked.Reach('l');
    // A read lock is not to be had as long as Bob lives.
    struct flock whole {};
    whole.l_type = F_RDLCK;
    if (fcntl(file.get(), F_OFD_SETLKW, &whole) != 0) return 2;
    locked.Reach('r');
    ::pause();
    return 0;
  });
  ASSERT_EQ(locked.Await(), 'l');
  EXPECT_THAT(LiveJobs(), ElementsAre("54322/" + kTheirs));
  bob->Kill(SIGKILL);
  bob->Wait();
  ASSERT_EQ(locked.Await(), 'r');
  EXPECT_THAT(LiveJobs(), IsEmpty());
  // Bob's next job of that name goes on, too.
  EXPECT_EQ(RunAs(kBob, [&] { return LedgerClaim::Open(Open().value(), kTheirs).ok() ? 0 : 1; }),
            0);
}

TEST_F(SharedLedgerTest, NumbersThatNoTonyWritesDoNotCount) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 1), holding);
  ASSERT_EQ(holding.Await(), 'h');
  const std::string path = PathOf("54322/" + kTheirs + ".json");
  const std::string claim = os::Contents(path);
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string changed = claim;
    EXPECT_NE(changed.find(before), std::string::npos) << claim;
    return changed.replace(changed.find(before), before.size(), after);
  };
  for (const std::string& text :
       {with("\"memory_mb\":10", "\"memory_mb\":-1000"), with("\"vcores\":1", "\"vcores\":-1"),
        with("\"memory_mb\":10", "\"memory_mb\":9223372036854775807"),
        with("\"ticket\":1", "\"ticket\":9223372036854775807"), std::string("["),
        std::string(17 << 20, ' ') + claim}) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_THAT(LiveJobs(), IsEmpty()) << text.substr(0, 200);
  }
  std::ofstream(path, std::ios::binary) << claim;
  EXPECT_THAT(LiveJobs(), ElementsAre("54322/" + kTheirs));
}

TEST_F(SharedLedgerTest, ALastTicketKeepsNobodyOut) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10), holding);
  ASSERT_EQ(holding.Await(), 'h');
  const std::string path = PathOf("54322/" + kTheirs + ".json");
  std::string claim = os::Contents(path);
  claim.replace(claim.find("\"ticket\":1"), 10, "\"ticket\":" + std::to_string(core::kMostTicket));
  std::ofstream(path, std::ios::binary) << claim;
  const auto first = LedgerClaim::Open(Open().value(), kOwn).value();
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(Ask(*first, Workers(1, 10))));
  const auto second = LedgerClaim::Open(Open().value(), TestJobId(3)).value();
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(Ask(*second, Workers(1, 10, 1))));
  EXPECT_EQ(LiveJobs().size(), 3u);
}

TEST_F(SharedLedgerTest, ARequestThatNeverFitsHoldsUpNobodyElse) {
  const Signpost asked;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10, 7), asked);
  ASSERT_EQ(asked.Await(), 'w');
  const auto claim = LedgerClaim::Open(Open().value(), kOwn).value();
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(Ask(*claim, Workers(1, 10, 1))));
}

TEST_F(SharedLedgerTest, WhoHoldsTheMutexForTooLongIsNamed) {
  const Signpost locked;
  const auto eve = As(kEve, [&] {
    const os::UniqueFd folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (flock(folder.get(), LOCK_EX) != 0) return 1;
    locked.Reach();
    ::pause();
    return 0;
  });
  ASSERT_EQ(locked.Await(), '.');
  const absl::Status late = Open(std::chrono::milliseconds(20)).value().Claims().status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()),
              HasSubstr("locked by process " + std::to_string(eve->pid()) + " of 54323"));
}

TEST_F(SharedLedgerTest, AFolderThatIsNotFitIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(
      Ledger::Open({.folder = root_ / "none", .kind = Ledger::Kind::kShared}).status()));
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);  // anybody could remove others' claims
  EXPECT_TRUE(absl::IsPermissionDenied(Open().status())) << Open().status();
  ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
  ASSERT_EQ(chown(path_.c_str(), kEve, kEve), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Open().status())) << Open().status();
  ASSERT_EQ(chown(path_.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);  // others may not write
  EXPECT_EQ(RunAs(kBob, [&] { return absl::IsPermissionDenied(Open().status()) ? 7 : 1; }), 7);
}

TEST_F(SharedLedgerTest, AFullDiskIsAnErrorAndChangesNothing) {
  const Signpost holding;
  const auto bob = Holder(kBob, kTheirs, Workers(1, 10), holding);
  ASSERT_EQ(holding.Await(), 'h');
  EXPECT_EQ(RunAs(kEve,
                  [&] {
                    ::signal(SIGXFSZ, SIG_IGN);
                    const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
                    ::setrlimit(RLIMIT_FSIZE, &nothing);
                    const auto claim = LedgerClaim::Open(Open().value(), kOwn);
                    return claim.ok() && !claim.value()->Want({Workers(1, 10)}).ok() ? 7 : 1;
                  }),
            7);
  EXPECT_THAT(LiveJobs(), ElementsAre("54322/" + kTheirs));
}

}  // namespace
}  // namespace tony::backend
