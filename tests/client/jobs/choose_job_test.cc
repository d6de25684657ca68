// Tests which job a user's word means.
#include "client/jobs/choose_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string>& Ids() {
  static const auto& ids = *new std::vector<std::string>{
      "application_1700000000000_0112", "application_1700000000000_0012",
      "application_1700000000000_0011", "application_1600000000000_0011",
      "application_1600000000000_0003", "application_1600000000000_0001"};
  return ids;
}

absl::StatusOr<std::string> Choose(const std::string& wish) {
  return ChooseJob(Ids(), wish, "of ann on YARN");
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ChooseJob, TakesTheNewestUnlessToldOtherwise) {
  EXPECT_EQ(Choose("").value(), Ids()[0]);
  EXPECT_EQ(Choose("latest").value(), Ids()[0]);
}

TEST(ChooseJob, TakesAWholeIdOrAUniqueBeginningOrEnd) {
  EXPECT_EQ(Choose(Ids()[3]).value(), Ids()[3]);
  EXPECT_EQ(Choose("_0003").value(), Ids()[4]);
  EXPECT_EQ(Choose("0001").value(), Ids()[5]);
  EXPECT_EQ(Choose("application_1600000000000_0003").value(), Ids()[4]);
  EXPECT_EQ(ChooseJob({"ab", "abc"}, "ab", "").value(), "ab");
}

TEST(ChooseJob, SaysWhichItCouldBe) {
  for (const char* const wish : {"12", "_0011", "application_17", "application"}) {
    const absl::Status status = Choose(wish).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wish << status;
    EXPECT_THAT(Message(status), HasSubstr(wish));
  }
  EXPECT_THAT(Message(Choose("_0011").status()),
              AllOf(HasSubstr(Ids()[2]), HasSubstr(Ids()[3]), Not(HasSubstr(Ids()[4]))));
  // Not all of a thousand.
  EXPECT_THAT(Message(Choose("application").status()),
              AllOf(HasSubstr(Ids()[4]), HasSubstr("…"), Not(HasSubstr(Ids()[5]))));
}

TEST(ChooseJob, SaysThatThereIsNone) {
  const absl::Status unknown = Choose("nobody").status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(Message(unknown), AllOf(HasSubstr("'nobody'"), HasSubstr(Ids()[0]), HasSubstr("…")));
  for (const char* const wish : {"", "latest", "0001"}) {
    const absl::Status none = ChooseJob({}, wish, "of ann on YARN").status();
    EXPECT_TRUE(absl::IsNotFound(none));
    EXPECT_THAT(Message(none), HasSubstr("no jobs of ann on YARN"));
  }
}

}  // namespace
}  // namespace tony::client
