// The exception that a program's last lines name.
#include "core/record/error_line.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

TEST(ErrorLineTest, IsTheLastThatNamesAnException) {
  EXPECT_EQ(ErrorLine({"ValueError: first", "", "During handling of the above exception,",
                       "RuntimeError: bad batch 17", "rank 1 leaves"}),
            "RuntimeError: bad batch 17");
}

TEST(ErrorLineTest, TheNameMayStandAloneOrInAModuleOrAfterAPrefix) {
  EXPECT_EQ(ErrorLine({"KeyboardInterrupt"}), "KeyboardInterrupt");
  EXPECT_EQ(ErrorLine({"torch.cuda.OutOfMemoryError: CUDA out of memory: 3 GiB\r"}),
            "torch.cuda.OutOfMemoryError: CUDA out of memory: 3 GiB");
  EXPECT_EQ(ErrorLine({"[rank1]: MyException: no"}), "MyException: no");
}

TEST(ErrorLineTest, MereMentionsDoNotCount) {
  EXPECT_EQ(ErrorLine({}), "");
  EXPECT_EQ(ErrorLine({"", "step 3", "no Error: none", "  File \"x.py\", line 3",
                       "    raise RuntimeError: x", "-Error: x", "http://localhost:80"}),
            "");
}

}  // namespace
}  // namespace tony::core
