// Looking up the next ApplicationMaster.
#include "executor/master/address_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

class AddressSourceTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Ask(AddressSource& source) {
    std::optional<absl::StatusOr<std::string>> answer;
    source.LookUp([&](const absl::StatusOr<std::string>& address) {
      answer = address;
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return answer.has_value(); }));
    return answer.value_or(absl::InternalError("no answer"));
  }
  absl::StatusOr<std::string> AskShell(const std::string& script) {
    AddressCommand command({"/bin/sh", "-c", script}, driver_.loop());
    return Ask(command);
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
};

TEST_F(AddressSourceTest, AFileHasTheAddressUntilTheJobIsOver) {
  AddressFile file(folder_ / "am.address");
  EXPECT_EQ(Ask(file).status().code(), absl::StatusCode::kNotFound);
  os::Put(folder_ / "am.address", "127.0.0.1:4711");
  EXPECT_EQ(Ask(file).value(), "127.0.0.1:4711");
}

TEST_F(AddressSourceTest, ACommandPrintsTheAddress) {
  EXPECT_EQ(AskShell("echo node7:4711").value(), "node7:4711");
}

TEST_F(AddressSourceTest, ACommandSaysThatTheJobIsOver) {
  const absl::Status status = AskShell("echo it has ended >&2; exit 1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it has ended"));
}

TEST_F(AddressSourceTest, WhatACommandCannotSayIsNoEnd) {
  for (const char* script : {"echo no network >&2; exit 3", "kill -9 $$"}) {
    EXPECT_EQ(AskShell(script).status().code(), absl::StatusCode::kUnavailable) << script;
  }
  AddressCommand missing({folder_ / "missing"}, driver_.loop());
  EXPECT_EQ(Ask(missing).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(AddressSourceTest, WhoIsGoneIsNotAnswered) {
  {
    AddressCommand command({"/bin/sh", "-c", "echo node7:4711"}, driver_.loop());
    command.LookUp([](const absl::StatusOr<std::string>&) { ADD_FAILURE() << "it was answered"; });
  }
  driver_.loop().Post([this] { driver_.loop().Stop(); });
  driver_.loop().Run();
}

}  // namespace
}  // namespace tony::executor
