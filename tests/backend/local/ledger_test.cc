// The ledger between processes that die in every way.
#include "backend/local/ledger.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/folder_trust.h"
#include "tests/backend/local/backend_support.h"
#include "tests/backend/local/job_ids.h"
#include "tests/common/eventually.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFirst = TestJobId(1);
const std::string kSecond = TestJobId(2);

class LedgerTest : public ::testing::Test {
 protected:
  std::unique_ptr<LedgerClaim> NewClaim(const std::string& job_id) {
    return LedgerClaim::Open(ledger_, job_id).value();
  }
  // A claim that holds `requests` of `machine`.
  std::unique_ptr<LedgerClaim> Holding(const std::string& job_id, const core::Capacity& machine,
                                       const core::ContainerRequest& request) {
    std::unique_ptr<LedgerClaim> claim = NewClaim(job_id);
    EXPECT_TRUE(claim->Want({request}).ok());
    EXPECT_TRUE(std::holds_alternative<core::Admitted>(claim->TryAdmit(machine).value()));
    return claim;
  }
  std::vector<std::string> LiveJobs() {
    std::vector<std::string> ids;
    const std::vector<core::Claim> claims = ledger_.Claims().value();
    for (const core::Claim& claim : claims) ids.push_back(claim.job_id);
    return ids;
  }
  std::string PathOf(const std::string& name) const { return ledger_.folder() + "/" + name; }

  os::TemporaryFolder folder_;
  Ledger ledger_ = Ledger::Open({.folder = folder_ / "a/ledger"}).value();
};

TEST_F(LedgerTest, MakesItsFolderForTheOwnerAlone) {
  EXPECT_EQ(os::ModeOf(ledger_.folder()), 0700u);
  const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 10));
  EXPECT_EQ(os::ModeOf(PathOf(kFirst + ".json")), 0600u);
  EXPECT_EQ(os::ModeOf(PathOf(kFirst + ".lock")), 0600u);
}

TEST_F(LedgerTest, TicketsFollowTheOrderOfAsking) {
  const auto first = NewClaim(kSecond);
  const auto second = NewClaim(kFirst);
  ASSERT_TRUE(first->Want({Workers(1, 10)}).ok());
  ASSERT_TRUE(second->Want({Workers(1, 10)}).ok());
  EXPECT_THAT(LiveJobs(), ElementsAre(kSecond, kFirst));
  ASSERT_TRUE(first->Want({Workers(2, 10)}).ok());  // asks anew: to the end
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst, kSecond));
}

TEST_F(LedgerTest, WhatIsHeldIsGoneForOthersUntilTheClaimGoes) {
  const core::Capacity machine = SmallMachine(100, 2);
  auto first = Holding(kFirst, machine, Workers(2, 10, 1));
  const auto second = NewClaim(kSecond);
  ASSERT_TRUE(second->Want({Workers(1, 10, 1)}).ok());
  const core::Admission waiting = second->TryAdmit(machine).value();
  ASSERT_TRUE(std::holds_alternative<core::MustWait>(waiting));
  EXPECT_THAT(std::get<core::MustWait>(waiting).sentence,
              HasSubstr("job " + kFirst + " (pid " + std::to_string(::getpid()) + ") holds 2"));
  first.reset();
  EXPECT_FALSE(os::Exists(PathOf(kFirst + ".lock")));
  EXPECT_FALSE(os::Exists(PathOf(kFirst + ".json")));
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(second->TryAdmit(machine).value()));
}

TEST_F(LedgerTest, CancelLeavesTheQueueButKeepsWhatIsHeld) {
  const core::Capacity machine = SmallMachine(100, 0);
  const auto first = Holding(kFirst, machine, Workers(1, 60));
  ASSERT_TRUE(first->Want({Workers(1, 40)}).ok());
  const auto second = NewClaim(kSecond);
  ASSERT_TRUE(second->Want({Workers(1, 40)}).ok());
  EXPECT_TRUE(std::holds_alternative<core::MustWait>(second->TryAdmit(machine).value()));
  ASSERT_TRUE(first->Cancel().ok());
  EXPECT_TRUE(std::holds_alternative<core::Admitted>(second->TryAdmit(machine).value()));
  EXPECT_EQ(first->claim().held.size(), 1u);
}

TEST_F(LedgerTest, WhatIsGivenBackIsThereForOthers) {
  const core::Capacity machine = SmallMachine(100, 2);
  const auto first = Holding(kFirst, machine, Workers(2, 30, 1));
  const auto second = NewClaim(kSecond);
  ASSERT_TRUE(second->Want({Workers(1, 60, 1)}).ok());
  EXPECT_TRUE(std::holds_alternative<core::MustWait>(second->TryAdmit(machine).value()));
  const core::Grant spare = first->claim().held.at(0);
  const core::Grant unknown{.resources = Workers(1, 5).resources};
  ASSERT_TRUE(first->GiveBack({spare, unknown}).ok());
  EXPECT_EQ(first->claim().held.size(), 1u);
  const core::Admission admission = second->TryAdmit(machine).value();
  ASSERT_TRUE(std::holds_alternative<core::Admitted>(admission));
  EXPECT_EQ(std::get<core::Admitted>(admission).containers.at(0).gpus, spare.gpus);
}

TEST_F(LedgerTest, AKilledProcessLosesItsClaim) {
  Signpost holding;
  ForkedChild child([&] {
    const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 100));
    holding.Reach();
    ::pause();
    return 0;
  });
  ASSERT_EQ(holding.Await(), '.');
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst));
  child.Kill(SIGKILL);
  child.Wait();
  EXPECT_THAT(LiveJobs(), ElementsAre());
  EXPECT_FALSE(os::Exists(PathOf(kFirst + ".lock")));
  EXPECT_FALSE(os::Exists(PathOf(kFirst + ".json")));
}

TEST_F(LedgerTest, AClaimLivesAsLongAsAnyProcessThatInheritedIt) {
  Signpost holding;
  pid_t executor = 0;
  int pid_pipe[2];
  ASSERT_EQ(::pipe(pid_pipe), 0);
  ForkedChild master([&] {
    const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 100));
    const pid_t inheritor = ::fork();
    if (inheritor == 0) {
      ::pause();
      ::_exit(0);
    }
    EXPECT_EQ(::write(pid_pipe[1], &inheritor, sizeof(inheritor)),
              static_cast<ssize_t>(sizeof(inheritor)));
    holding.Reach();
    ::pause();
    return 0;
  });
  ASSERT_EQ(holding.Await(), '.');
  ASSERT_EQ(::read(pid_pipe[0], &executor, sizeof(executor)),
            static_cast<ssize_t>(sizeof(executor)));
  ::close(pid_pipe[0]);
  ::close(pid_pipe[1]);
  master.Kill(SIGKILL);
  master.Wait();
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst));
  // Another ApplicationMaster of the job takes the claim over, and lets go of its own share.
  EXPECT_EQ(LedgerClaim::Open(ledger_, kFirst).status(), absl::OkStatus());
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst));
  ::kill(executor, SIGKILL);
  Eventually([this] { return LiveJobs().empty(); });
  EXPECT_THAT(LiveJobs(), ElementsAre());
}

TEST_F(LedgerTest, AnOrderlyEndLeavesTheClaimToWhoeverInheritedIt) {
  auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 60));
  ASSERT_TRUE(claim->Want({Workers(1, 10)}).ok());
  ForkedChild executor([] {
    ::pause();
    return 0;
  });
  claim.reset();
  const std::vector<core::Claim> claims = ledger_.Claims().value();
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].held.size(), 1u);
  EXPECT_TRUE(claims[0].wanted.empty());  // nobody is left who could take it
  executor.Kill(SIGKILL);
  executor.Wait();
  EXPECT_THAT(LiveJobs(), ElementsAre());
}

TEST_F(LedgerTest, AJobMayBeStartedAgainAfterItsDeath) {
  os::Put(PathOf(kFirst + ".lock"), "");
  os::Put(PathOf(kFirst + ".json"), R"({"half":)");
  const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 10));
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst));
}

TEST_F(LedgerTest, ACorruptClaimOfADeadJobIsRemoved) {
  os::Put(PathOf(kFirst + ".json"), "\x01 nonsense");
  os::Put(PathOf(kSecond + ".lock"), "");
  EXPECT_THAT(LiveJobs(), ElementsAre());
  EXPECT_FALSE(os::Exists(PathOf(kFirst + ".json")));
  EXPECT_FALSE(os::Exists(PathOf(kSecond + ".lock")));
}

TEST_F(LedgerTest, ACorruptClaimOfALivingJobIsSetAsideUntilItsNextChange) {
  const core::Capacity machine = SmallMachine(100, 0);
  const auto broken = Holding(kFirst, machine, Workers(1, 60));
  const auto other = Holding(kSecond, machine, Workers(1, 10));
  os::Put(PathOf(kFirst + ".json"), "{\"version\":1,\"job_id\":\"jo");
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(LiveJobs(), ElementsAre(kSecond));
  ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(os::Exists(PathOf(kFirst + ".json.corrupt")));
  ASSERT_TRUE(broken->Want({Workers(1, 5)}).ok());
  EXPECT_THAT(LiveJobs(), ElementsAre(kSecond, kFirst));
  EXPECT_EQ(ledger_.Claims().value()[1].held.size(), 1u);
}

TEST_F(LedgerTest, AFullDiskChangesNothing) {
  const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 60));
  ForkedChild child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};  // every write fails, as on a full disk
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    const auto other = LedgerClaim::Open(ledger_, kSecond);
    return other.ok() && !other.value()->Want({Workers(1, 10)}).ok() ? 7 : 1;
  });
  const int status = child.Wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_THAT(LiveJobs(), ElementsAre(kFirst));
  EXPECT_EQ(ledger_.Claims().value()[0].held.size(), 1u);
}

TEST_F(LedgerTest, HalfWrittenTemporaryFilesAreSweptAway) {
  os::Put(PathOf(".tony-AbCdEf"), "{");
  EXPECT_THAT(LiveJobs(), ElementsAre());
  EXPECT_FALSE(os::Exists(PathOf(".tony-AbCdEf")));
}

TEST_F(LedgerTest, WhatIsNoLedgersFileIsNotTouched) {
  const std::vector<std::string> foreign = {"yarn.lock",
                                            "accounts.json",
                                            "budget.lock",
                                            "budget.json",
                                            "notes.json.corrupt",
                                            ".tony-settings",
                                            "local-20260101-000000.lock",
                                            "local-20260101-000000-zzzz.json"};
  for (const std::string& name : foreign) os::Put(PathOf(name), "");
  os::Put(PathOf(kSecond + ".json"), "");
  EXPECT_THAT(LiveJobs(), ElementsAre());
  const os::FolderHandle folder = os::OpenOwnFolder(ledger_.folder()).value();
  for (const std::string& name : foreign) {
    EXPECT_TRUE(os::Exists(PathOf(name))) << name;
    EXPECT_FALSE(ClaimFolder::IsOwnFile(folder, name)) << name;
  }
  EXPECT_FALSE(os::Exists(PathOf(kSecond + ".json")));
  const auto claim = Holding(kFirst, SmallMachine(100, 0), Workers(1, 10));
  for (const std::string& name : {kFirst + ".lock", kFirst + ".json"}) {
    EXPECT_TRUE(ClaimFolder::IsOwnFile(folder, name)) << name;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(LedgerClaim::Open(ledger_, "budget").status()));
}

TEST_F(LedgerTest, FilesAreItsOwnersWhateverTheUmask) {
  const os::ScopedUmask everything(0777);
  const Ledger ledger = Ledger::Open({.folder = folder_ / "b/ledger"}).value();
  const auto claim = LedgerClaim::Open(ledger, kFirst).value();
  ASSERT_TRUE(claim->Want({Workers(1, 10)}).ok());
  EXPECT_EQ(os::ModeOf(ledger.folder() + "/" + kFirst + ".lock"), 0600u);
  EXPECT_EQ(os::ModeOf(ledger.folder() + "/" + kFirst + ".json"), 0600u);
}

TEST_F(LedgerTest, AnotherUsersFolderIsRefused) {
  const std::string path = folder_ / "theirs/ledger";
  std::filesystem::create_directories(path);
  if (::chown((folder_ / "theirs").c_str(), 54322, 54322) != 0) {
    GTEST_SKIP() << "only root may give a folder to another user";
  }
  const absl::Status refused = Ledger::Open({.folder = path}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(folder_ / "theirs' belongs to"));
}

TEST_F(LedgerTest, AFolderThatCannotBeMadeIsAnError) {
  os::Put(folder_ / "file", "");
  EXPECT_FALSE(Ledger::Open({.folder = folder_ / "file/ledger"}).ok());
}

}  // namespace
}  // namespace tony::backend
