// Libraries that are there, that are not, and that are not what they should be.
#include "os/processes/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::os {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(SharedLibrary, OpensTheFirstThatIsThere) {
  auto library = SharedLibrary::Open({"libnobody.so.1", "libc.so.6"}, "C is needed", "libc6");
  ASSERT_TRUE(library.ok()) << library.status();
  int (*absolute)(int) = nullptr;
  library->Find("abs", &absolute);
  ASSERT_NE(absolute, nullptr);
  EXPECT_EQ(absolute(-7), 7);
  EXPECT_TRUE(library->status().ok());
}

TEST(SharedLibrary, SaysWhatToInstall) {
  const auto status =
      SharedLibrary::Open({"libnobody.so.1"}, "nobody is needed", "nobody").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Message(status), HasSubstr("nobody is needed, and that cannot be loaded; install it "
                                         "(package nobody): libnobody.so.1"));
}

TEST(SharedLibrary, SaysWhichFunctionIsMissing) {
  auto library = SharedLibrary::Open({"libc.so.6"}, "C is needed", "libc6");
  ASSERT_TRUE(library.ok()) << library.status();
  void (*function)() = [] {};
  library->Find("no_such_function", &function);
  EXPECT_EQ(function, nullptr);
  library->Find("abs", &function);
  EXPECT_TRUE(absl::IsFailedPrecondition(library->status()));
  EXPECT_THAT(Message(library->status()), HasSubstr("libc.so.6 has no function no_such_function"));
}

}  // namespace
}  // namespace tony::os
