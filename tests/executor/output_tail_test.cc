// The last lines of output, whatever the pieces in which it comes.
#include "executor/output_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Add(OutputTail& tail, int stream, const std::string& text) {
  tail.Add(stream, text.data(), text.size());
}

TEST(OutputTailTest, KeepsTheNewestLines) {
  OutputTail tail(3);
  EXPECT_THAT(tail.Lines(), IsEmpty());
  Add(tail, 0, "one\ntwo\n");
  EXPECT_THAT(tail.Lines(), ElementsAre("one", "two"));
  Add(tail, 0, "three\n\nfour\n");
  EXPECT_THAT(tail.Lines(), ElementsAre("three", "", "four"));
}

TEST(OutputTailTest, PutsPiecesTogether) {
  const std::string text = "alpha\nbeta\n\ngamma\ndelta";
  OutputTail whole(10);
  Add(whole, 0, text);
  OutputTail pieces(10);
  for (const char byte : text) pieces.Add(0, &byte, 1);
  EXPECT_THAT(whole.Lines(), ElementsAre("alpha", "beta", "", "gamma", "delta"));
  EXPECT_EQ(pieces.Lines(), whole.Lines());
}

TEST(OutputTailTest, DoesNotMixTheLinesOfTheTwoStreams) {
  OutputTail tail(10);
  Add(tail, 0, "out one, ");
  Add(tail, 1, "error one, ");
  Add(tail, 0, "out two\nunfinished");
  Add(tail, 1, "error two\n");
  EXPECT_THAT(tail.Lines(), ElementsAre("out one, out two", "error one, error two", "unfinished"));
}

TEST(OutputTailTest, UnfinishedLinesCountToo) {
  OutputTail tail(2);
  Add(tail, 0, "one\ntwo\nthree\n");
  Add(tail, 0, "out");
  Add(tail, 1, "error");
  EXPECT_THAT(tail.Lines(), ElementsAre("out", "error"));
  Add(tail, 1, "\n");
  EXPECT_THAT(tail.Lines(), ElementsAre("error", "out"));
}

TEST(OutputTailTest, CutsLongLinesToTheirEnd) {
  OutputTail tail(10);
  const std::string end = std::string(OutputTail::kMaxLineBytes - 4, 'x') + "last";
  Add(tail, 0, "first" + end + "\n");
  Add(tail, 0, "first");
  for (const char byte : end) tail.Add(0, &byte, 1);
  EXPECT_THAT(tail.Lines(), ElementsAre(end, end));
}

TEST(OutputTailTest, KeepsAnyBytes) {
  OutputTail tail(10);
  const std::string line("\xFF\0\r\x1B[31m", 8);
  Add(tail, 0, line + "\n");
  EXPECT_THAT(tail.Lines(), ElementsAre(line));
}

TEST(OutputTailTest, KeepsNothingWhenNothingIsWanted) {
  OutputTail tail(0);
  Add(tail, 0, "one\ntwo");
  EXPECT_THAT(tail.Lines(), IsEmpty());
}

}  // namespace
}  // namespace tony::executor
