// Early returns and annotations.
#include "common/status_macros.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tony {
namespace {

// Appends "before" and, when it gets that far, "after".
absl::Status Checked(const absl::Status& first, std::vector<std::string>& trace) {
  trace.push_back("before");
  TONY_RETURN_IF_ERROR(first);
  trace.push_back("after");
  return absl::OkStatus();
}

absl::StatusOr<int> Number(int value) {
  if (value < 0) return absl::OutOfRangeError("negative");
  return value;
}

absl::StatusOr<int> Sum(int a, int b) {
  TONY_ASSIGN_OR_RETURN(int sum, Number(a));
  TONY_ASSIGN_OR_RETURN(const int other, Number(b));
  sum += other;
  TONY_ASSIGN_OR_RETURN(sum, Number(sum - 100));
  return sum;
}

TEST(StatusMacrosTest, ReturnsAnErrorAtOnce) {
  std::vector<std::string> trace;
  const absl::Status error = absl::DataLossError("gone");
  EXPECT_EQ(Checked(error, trace), error);
  EXPECT_EQ(trace, std::vector<std::string>({"before"}));
}

TEST(StatusMacrosTest, GoesOnWhenAllIsWell) {
  std::vector<std::string> trace;
  EXPECT_TRUE(Checked(absl::OkStatus(), trace).ok());
  EXPECT_EQ(trace, std::vector<std::string>({"before", "after"}));
}

TEST(StatusMacrosTest, EvaluatesTheExpressionOnce) {
  int calls = 0;
  const auto call = [&]() -> absl::Status {
    TONY_RETURN_IF_ERROR((++calls, absl::InternalError("x")));
    return absl::OkStatus();
  };
  EXPECT_FALSE(call().ok());
  EXPECT_EQ(calls, 1);
}

TEST(StatusMacrosTest, AssignsAndReturnsTheFirstError) {
  EXPECT_EQ(Sum(70, 50).value(), 20);
  EXPECT_EQ(Sum(-1, 5).status(), absl::OutOfRangeError("negative"));
  EXPECT_EQ(Sum(5, -1).status(), absl::OutOfRangeError("negative"));
  EXPECT_EQ(Sum(1, 1).status(), absl::OutOfRangeError("negative"));
}

TEST(StatusMacrosTest, AssignsWhatCanOnlyBeMoved) {
  const auto make = []() -> absl::StatusOr<std::unique_ptr<int>> {
    return std::make_unique<int>(7);
  };
  const auto use = [&]() -> absl::StatusOr<int> {
    TONY_ASSIGN_OR_RETURN(const std::unique_ptr<int> pointer, make());
    return *pointer;
  };
  EXPECT_EQ(use().value(), 7);
}

TEST(StatusMacrosTest, AnnotatesErrorsOnly) {
  const absl::Status annotated = Annotate(absl::NotFoundError("no such file"), "reading a.xml");
  EXPECT_EQ(annotated, absl::NotFoundError("reading a.xml: no such file"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "reading a.xml").ok());
}

TEST(StatusMacrosTest, AnnotationKeepsPayloads) {
  absl::Status status = absl::NotFoundError("no such file");
  status.SetPayload("type", absl::Cord("value"));
  EXPECT_EQ(Annotate(status, "reading a.xml").GetPayload("type"), absl::Cord("value"));
}

}  // namespace
}  // namespace tony
