// Tests reading the counters of ranks, from files that anybody may have written.
#include "executor/task/collective_counters.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

class CollectiveCountersTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& contents) {
    std::ofstream(folder_ / name) << contents;
  }
  std::optional<core::CollectiveUsage> Read() { return ReadCollectiveCounters(folder_.path()); }

  os::TemporaryFolder folder_;
};

TEST_F(CollectiveCountersTest, SumsOfAllRanks) {
  Write("17.0",
        "tensors 12\nbytes 4000000000\noperations 3\nby_number 10\nby_request 2\n"
        "negotiation_seconds 1.5\noperation_seconds 0.25\nwaited_for_seconds 2\n");
  Write("18.0", "tensors 1\nbytes 2\nby_request 1\nwaited_for_seconds 0.5\nof a later version 7\n");
  const core::CollectiveUsage sums = {.tensors = 13,
                                      .bytes = 4'000'000'002,
                                      .operations = 3,
                                      .by_number = 10,
                                      .by_request = 3,
                                      .negotiation_seconds = 1.5,
                                      .operation_seconds = 0.25,
                                      .waited_for_seconds = 2.5};
  EXPECT_EQ(Read(), sums);
}

TEST_F(CollectiveCountersTest, AStallOfOneRank) {
  Write("17.0", "tensors 12\nstalled rank 1 in a, rank 0 in b\n");
  Write("18.0", "tensors 1\n");
  EXPECT_EQ(ReadCollectiveStall(folder_.path()), "rank 1 in a, rank 0 in b");
  EXPECT_EQ(Read()->tensors, 13);
  Write("17.0", "stalled " + std::string(3000, 'x'));
  EXPECT_EQ(ReadCollectiveStall(folder_.path()).size(), kMostStallBytes);
  Write("17.0", "tensors 13\n");
  EXPECT_EQ(ReadCollectiveStall(folder_.path()), "");
  EXPECT_EQ(ReadCollectiveStall(""), "");
}

TEST_F(CollectiveCountersTest, NobodyHasCounted) {
  EXPECT_EQ(Read(), std::nullopt);
  EXPECT_EQ(ReadCollectiveCounters(folder_ / "missing"), std::nullopt);
  EXPECT_EQ(ReadCollectiveCounters(""), std::nullopt);
  Write("17.0.new", "tensors 3\n");
  EXPECT_EQ(Read(), std::nullopt) << "it is being written";
}

TEST_F(CollectiveCountersTest, WhatIsNoNumberIsNone) {
  Write("1", "tensors -5\nbytes 99999999999999999999\noperations x\nnegotiation_seconds nan\n");
  Write("5", "by_number -1\nby_request 1.5\n");
  Write("2", "operation_seconds inf\nwaited_for_seconds -1\ntensors\n \nbytes 1 2\n");
  EXPECT_EQ(Read(), core::CollectiveUsage{});
  Write("3", "tensors 9223372036854775807\n");
  Write("4", "tensors 9223372036854775807\nnegotiation_seconds 1e300\n");
  EXPECT_EQ(Read()->tensors, int64_t{1} << 60);
  EXPECT_EQ(Read()->negotiation_seconds, 1e12);
}

TEST_F(CollectiveCountersTest, OnlyPlainFilesAreRead) {
  std::filesystem::create_directory(folder_ / "folder");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  os::TemporaryFolder elsewhere;
  std::ofstream(elsewhere / "file") << "tensors 1\n";
  ASSERT_EQ(symlink((elsewhere / "file").c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_EQ(Read(), std::nullopt);
}

TEST_F(CollectiveCountersTest, NoMoreThanSomeKilobytesOfSomeFiles) {
  Write("1", std::string(5000, '\n') + "tensors 1\n");
  EXPECT_EQ(Read()->tensors, 0);
  for (int file = 2; file < 400; ++file) Write(std::to_string(file), "bytes 1\n");
  EXPECT_LE(Read()->bytes, 256);
  EXPECT_GE(Read()->bytes, 255);
}

TEST_F(CollectiveCountersTest, AFolderForEachRun) {
  const std::string made = FreshCountersFolder(folder_.path());
  EXPECT_EQ(made, folder_ / ".tony-collective");
  EXPECT_FALSE(std::filesystem::exists(made)) << "no rank has made it";
  std::filesystem::create_directory(made);
  std::ofstream(made + "/17.0") << "tensors 1\n";
  EXPECT_TRUE(ReadCollectiveCounters(made));
  EXPECT_EQ(FreshCountersFolder(folder_.path()), made);
  EXPECT_FALSE(ReadCollectiveCounters(made)) << "they are of the run before";
  EXPECT_EQ(FreshCountersFolder(std::string(5000, 'x')), "") << "no such path can be";
}

}  // namespace
}  // namespace tony::executor
