// Tables of switch points: as text, in files, and through a meeting.
#include "collective/group/switch_points.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "collective/meeting/meeting.h"
#include "collective/meeting/meeting_plan.h"
#include "tests/collective/meeting/memory_store.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
const SwitchPoints kOthers = {.whole_bytes = 1,
                              .direct_ranks = 2,
                              .scatter_bytes = 3,
                              .piece_bytes = 4096,
                              .window_bytes = 70000,
                              .rails_bytes = 6,
                              .streams = 7};

/// A file that is gone at the end.
class TableFile {
 public:
  explicit TableFile(const std::string& table)
      : path_(::testing::TempDir() + "/points-" + std::to_string(getpid())) {
    std::ofstream(path_) << table;
  }
  ~TableFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(SwitchPointsTest, ATableIsReadAsItIsWritten) {
  for (const SwitchPoints& points : {SwitchPoints{}, kOthers}) {
    auto read = SwitchPoints::Decode(points.Encode(), "here");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(*read == points);
    EXPECT_TRUE(read->Check().ok());
  }
}

TEST(SwitchPointsTest, WhatDoesNotStandThereIsAsItWas) {
  auto read = SwitchPoints::Decode("# of a test\n\n  streams 4  # of sixteen\nrails_bytes\t0", "");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(*read == (SwitchPoints{.rails_bytes = 0, .streams = 4}));
}

TEST(SwitchPointsTest, ABadLineIsNamedWithWhatToWrite) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"streams 0", "'streams 0' is none: write streams and a number from 1 to 16"},
      {"streams 17", "'streams 17' is none: write streams and a number from 1 to 16"},
      {"streams", "'streams' is none: write streams and a number from 1 to 16"},
      {"streams 2 3", "'streams 2 3' is none: write streams and a number from 1 to 16"},
      {"streams 2k", "'streams 2k' is none: write streams and a number from 1 to 16"},
      {"piece_bytes -1",
       "'piece_bytes -1' is none: write piece_bytes and a number from 4096 to 262144"},
      {"whole_bytes 99999999999999999999",
       "'whole_bytes 99999999999999999999' is none: write whole_bytes and a number from 0 to "
       "1073741824"},
      {"pieces 1",
       "'pieces' is no switch point: write one of whole_bytes, direct_ranks, scatter_bytes, "
       "piece_bytes, window_bytes, rails_bytes, streams"}};
  for (const auto& [line, sentence] : cases) {
    const auto read = SwitchPoints::Decode("# a table\n" + line + "\n", "my.table");
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << line;
    EXPECT_EQ(read.status().message(), "my.table, line 2: " + sentence);
  }
}

TEST(SwitchPointsTest, AFileIsReadOrWhyNotIsSaid) {
  const TableFile file(kOthers.Encode());
  auto read = SwitchPoints::Read(file.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(*read == kOthers);
  for (const auto& [path, reason] : std::vector<std::pair<std::string, std::string>>{
           {"/nowhere/points", "No such file or directory"}, {"/", "Is a directory"}}) {
    const auto none = SwitchPoints::Read(path);
    EXPECT_EQ(none.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(none.status().message(), "the table of switch points " + path + " cannot be read (" +
                                           reason +
                                           "): let python3 -m tony.collective.tune write it, or "
                                           "name none");
  }
}

TEST(SwitchPointsTest, APlanHasThem) {
  MeetingPlan plan;
  plan.run = "run";
  plan.numbers = {"one", "two", "three"};
  plan.hosts = {{0, 2}, {1}};
  plan.points = kOthers;
  auto heard = MeetingPlan::Decode(plan.Encode(), 3);
  ASSERT_TRUE(heard.ok()) << heard.status().message();
  EXPECT_EQ(heard->run, "run");
  EXPECT_EQ(heard->numbers, plan.numbers);
  EXPECT_EQ(heard->hosts, plan.hosts);
  EXPECT_TRUE(heard->points == kOthers);
  EXPECT_FALSE(MeetingPlan::Decode(plan.Encode() + "other 1\n", 3).ok());
}

using Met = Result<std::unique_ptr<Members>>;

/// Ranks on hosts of their own, which have these files.
std::vector<Met> MeetWith(const std::vector<std::string>& files) {
  SharedKeys keys;
  std::vector<std::future<Met>> coming;
  for (size_t rank = 0; rank < files.size(); ++rank) {
    Meeting meeting = {.rank = static_cast<int>(rank), .ranks = static_cast<int>(files.size())};
    meeting.secret = "a secret";
    meeting.host = std::to_string(rank);
    meeting.points_file = files[rank];
    coming.push_back(std::async(std::launch::async, [&keys, meeting] {
      MemoryStore store(keys);
      return Meet(store, meeting, After(kPatience));
    }));
  }
  std::vector<Met> met;
  for (auto& one : coming) met.push_back(one.get());
  return met;
}

TEST(SwitchPointsMeeting, AllUseThoseOfRank0) {
  const TableFile file("streams 3\n");
  for (Met& one : MeetWith({file.path(), "", "/nowhere/points"})) {
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ((*one)->transport(), "TCP, 3 streams");
  }
}

TEST(SwitchPointsMeeting, AllHearOfABadTable) {
  const TableFile file("streams 3\nstreams many\n");
  for (Met& one : MeetWith({file.path(), "", ""})) {
    ASSERT_FALSE(one.ok());
    EXPECT_EQ(one.status().message(), file.path() +
                                          ", line 2: 'streams many' is none: write streams and a "
                                          "number from 1 to 16");
  }
}

}  // namespace
}  // namespace tony::collective
