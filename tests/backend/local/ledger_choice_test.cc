// Which ledger a job gets, and keeps.
#include "backend/local/ledger_choice.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

class LedgerChoiceTest : public ::testing::Test {
 protected:
  LedgerChoiceTest() {
    settings_.dir = root_ / "local";
    settings_.ledger = root_ / "machine";
    std::filesystem::create_directories(folder_.root());
  }
  void MakeMachineLedger() { std::filesystem::create_directory(settings_.ledger); }
  Ledger::Options Choose() { return ChooseLedger(settings_, folder_).value(); }

  os::TemporaryFolder root_;
  jobfile::LocalSettings settings_;
  storage::JobFolder folder_{root_ / "local/jobs/" + TestJobId(1)};
};

TEST_F(LedgerChoiceTest, AllUsersShareTheLedgerThatAnAdministratorMade) {
  MakeMachineLedger();
  EXPECT_EQ(Choose().folder, settings_.ledger);
  EXPECT_EQ(Choose().kind, Ledger::Kind::kShared);
  EXPECT_EQ(UnseenJobsNote(settings_, Choose()), "");
}

TEST_F(LedgerChoiceTest, WithoutItAUsersJobsShareTheirOwn) {
  EXPECT_EQ(Choose().folder, root_ / "local/ledger");
  EXPECT_EQ(Choose().kind, Ledger::Kind::kPrivate);
}

TEST_F(LedgerChoiceTest, ALedgerThatIsDemandedIsNotReplacedByAnother) {
  settings_.needs_ledger = true;
  EXPECT_EQ(Choose().folder, settings_.ledger);
  EXPECT_TRUE(absl::IsNotFound(Ledger::Open(Choose()).status()));
}

TEST_F(LedgerChoiceTest, AJobKeepsItsLedgerForLife) {
  EXPECT_EQ(Choose().folder, root_ / "local/ledger");
  MakeMachineLedger();
  EXPECT_EQ(Choose().folder, root_ / "local/ledger");
  EXPECT_EQ(RecordedLedger(folder_).folder, root_ / "local/ledger");
  const storage::JobFolder second{root_ / "local/jobs/" + TestJobId(2)};
  std::filesystem::create_directories(second.root());
  EXPECT_EQ(RecordedLedger(second).kind, Ledger::Kind::kPrivate) << "it has not reached a ledger";
  EXPECT_EQ(ChooseLedger(settings_, second).value().folder, settings_.ledger);
  EXPECT_EQ(RecordedLedger(second).folder, settings_.ledger);
  EXPECT_EQ(RecordedLedger(second).kind, Ledger::Kind::kShared);
}

TEST_F(LedgerChoiceTest, ThePrivateOneMayBeChosenWithoutANote) {
  MakeMachineLedger();
  settings_.ledger.clear();
  EXPECT_EQ(Choose().kind, Ledger::Kind::kPrivate);
  EXPECT_EQ(UnseenJobsNote(settings_, Choose()), "");
}

}  // namespace
}  // namespace tony::backend
