// Tests the reports of waiting tensors.
#include "collective/watch/stall_report.h"

#include <gtest/gtest.h>

namespace tony::collective {
namespace {

using std::chrono::seconds;

const Deadline kNow = Deadline() + seconds(1000);

Arrivals::Waiting Waiting(const std::string& name, int waited, std::vector<int> arrived,
                          std::vector<int> missing) {
  return {.name = name,
          .since = kNow - seconds(waited),
          .arrived = std::move(arrived),
          .missing = std::move(missing)};
}

TEST(StallReportTest, OneRankThatAnswers) {
  StallReport report({Waiting("allreduce.fc.weight", 61, {0, 2}, {1})});
  EXPECT_EQ(report.missing(), std::vector<int>{1});
  EXPECT_FALSE(report.complete());
  report.OnHeard(1);
  EXPECT_FALSE(report.complete());
  report.OnAnswer(1, "train.py:40 in load_batch\nMainThread: train.py:90 in <module>\nreader: x\n");
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(
      report.Text(kNow),
      "tony.collective: tensors wait for ranks that have not submitted them\n"
      "  tensor 'allreduce.fc.weight': ranks 0, 2 wait since 61 s for rank 1, which stands at "
      "train.py:40 in load_batch\n"
      "  threads of rank 1:\n"
      "    MainThread: train.py:90 in <module>\n"
      "    reader: x\n");
  EXPECT_EQ(report.Sentence(kNow),
            "tensor 'allreduce.fc.weight': ranks 0, 2 wait since 61 s for rank 1, which stands at "
            "train.py:40 in load_batch");
}

TEST(StallReportTest, RanksThatWaitForEachOther) {
  StallReport report(
      {Waiting("allreduce.metric", 60, {1}, {0}), Waiting("allgather.metric", 60, {0}, {1})});
  EXPECT_FALSE(report.IsDeadlock()) << "they may do something else before they submit more";
  const std::string place = "hv.py:12 in <module>, and waits in tony.collective's ";
  const std::string stack = "MainThread: hv.py:12 in <module>, tony.collective's ";
  report.OnAnswer(0, place + "allgather()\n" + stack + "allgather()");
  report.OnAnswer(1, place + "allreduce()\n" + stack + "allreduce()");
  EXPECT_TRUE(report.IsDeadlock());
  EXPECT_EQ(report.Summary(),
            "rank 1 in allreduce.metric, rank 0 in allgather.metric, both at hv.py:12");
  report.OnAnswer(1, place + "allreduce()\n" + stack + "allreduce()\nreader: load.py:3 in read");
  EXPECT_FALSE(report.IsDeadlock()) << "the other thread may submit it";
  report.OnAnswer(1, "hv.py:9 in load\nMainThread: hv.py:9 in load");
  EXPECT_FALSE(report.IsDeadlock());
  EXPECT_EQ(
      report.Summary(),
      "rank 1 in allreduce.metric, rank 0 in allgather.metric; rank 0 at hv.py:12 in <module>, "
      "and waits in tony.collective's allgather(); rank 1 at hv.py:9 in load");
}

TEST(StallReportTest, ASummaryIsShort) {
  std::vector<Arrivals::Waiting> waiting;
  for (int i = 0; i < 300; ++i)
    waiting.push_back(Waiting("w" + std::to_string(i), 60, {0, 2}, {1}));
  StallReport report(std::move(waiting));
  EXPECT_EQ(report.Summary(), "ranks 0, 2 in w0; rank 1 does not say where it is");
  report.OnAnswer(1, "train.py:40 in load_batch");
  EXPECT_EQ(report.Summary(), "ranks 0, 2 in w0; rank 1 at train.py:40 in load_batch");
  EXPECT_FALSE(report.IsDeadlock()) << "rank 1 waits for nobody";
}

/// While ranks were asked: the sentence that ends all is about a tensor that still waits.
TEST(StallReportTest, WhatDoesNotWaitAnyMoreIsNotReported) {
  StallReport report(
      {Waiting("a", 70, {0}, {1, 2}), Waiting("b", 60, {0}, {1}), Waiting("c", 60, {0}, {2})});
  report.OnAnswer(1, "train.py:40 in load_batch\nMainThread: train.py:40");
  report.OnMute(2);
  // Rank 2 has come; "a" has come again, and "d" is new.
  report.Keep(
      {Waiting("b", 60, {0, 2}, {1}), Waiting("a", 3, {0}, {1, 2}), Waiting("d", 2, {0}, {1})});
  ASSERT_FALSE(report.empty());
  EXPECT_EQ(report.Sentence(kNow),
            "tensor 'b': ranks 0, 2 wait since 60 s for rank 1, which stands at train.py:40 in "
            "load_batch");
  EXPECT_EQ(report.Text(kNow),
            "tony.collective: tensors wait for ranks that have not submitted them\n"
            "  tensor 'b': ranks 0, 2 wait since 60 s for rank 1, which stands at train.py:40 in "
            "load_batch\n"
            "  threads of rank 1:\n"
            "    MainThread: train.py:40\n");
  EXPECT_EQ(report.missing(), std::vector<int>{1});
  report.Keep({});
  EXPECT_TRUE(report.empty());
}

TEST(StallReportTest, WhoDoesNotAnswer) {
  StallReport report({Waiting("a", 5, {0}, {1, 2, 3})});
  report.OnHeard(2);
  report.OnMute(3);
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.Text(kNow),
            "tony.collective: tensors wait for ranks that have not submitted them\n"
            "  tensor 'a': rank 0 waits since 5.0 s for ranks 1, 2, 3\n"
            "    rank 1, which does not answer: its process is stopped, or cannot be reached\n"
            "    rank 2, which does not answer: it is in code that holds Python's lock\n"
            "    rank 3, whose program does not say where it stands\n");
}

TEST(StallReportTest, TensorsThatWaitForTheSameRanksAreOneLine) {
  std::vector<Arrivals::Waiting> waiting;
  for (int i = 0; i < 7; ++i) waiting.push_back(Waiting("t" + std::to_string(i), 60, {0}, {1}));
  waiting.insert(waiting.begin() + 3, Waiting("other", 60, {1}, {0}));
  StallReport report(std::move(waiting));
  EXPECT_EQ(report.missing(), (std::vector<int>{0, 1}));
  report.OnMute(0);
  report.OnMute(1);
  EXPECT_EQ(
      report.Text(kNow),
      "tony.collective: tensors wait for ranks that have not submitted them\n"
      "  tensors 't0', 't1', 't2', 't3', 't4' and 2 more: rank 0 waits since 60 s for rank 1, "
      "whose program does not say where it stands\n"
      "  tensor 'other': rank 1 waits since 60 s for rank 0, whose program does not say where "
      "it stands\n");
}

TEST(StallReportTest, ManyRanks) {
  std::vector<int> missing;
  for (int rank = 1; rank < 100; ++rank) missing.push_back(rank);
  const StallReport report({Waiting("a", 60, {0}, missing)});
  const std::string text = report.Text(kNow);
  EXPECT_NE(text.find("14, 15, 16 and 83 more\n"), std::string::npos) << text;
  EXPECT_LT(text.size(), 2500U);
}

TEST(StallReportTest, AnswersOfOthersAndLongOnes) {
  StallReport report({Waiting("a", 60, {0}, {1})});
  report.OnAnswer(7, "nobody has asked");
  report.OnHeard(7);
  report.OnMute(7);
  EXPECT_FALSE(report.complete());
  report.OnAnswer(1, std::string(1'000'000, 'x') + "\nstack");
  EXPECT_LT(report.Text(kNow).size(), 9000U);
  report.OnAnswer(1, "");
  EXPECT_NE(report.Text(kNow).find("which stands at \n"), std::string::npos);
}

}  // namespace
}  // namespace tony::collective
