// The last lines of output, whatever the pieces in which it comes.
#include "executor/output/output_tail.h"

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

/// A traceback of `frames` frames, two lines each, and its exception.
std::string Traceback(int frames, const std::string& exception = "ValueError: no such layer") {
  std::string text = "Traceback (most recent call last):\n";
  for (int i = 0; i < frames; ++i) {
    text += "  File \"train.py\", line " + std::to_string(i) + ", in step\n    step()\n";
  }
  return text + exception + "\n";
}

TEST(OutputTailTest, ATracebackIsWholeThoughItIsLonger) {
  OutputTail tail(3);
  Add(tail, 0, "epoch 1\nepoch 2\n" + Traceback(40) + "bye\n");
  const std::vector<std::string> lines = tail.Lines();
  ASSERT_EQ(lines.size(), 83u);
  EXPECT_EQ(lines.front(), "Traceback (most recent call last):");
  EXPECT_EQ(lines[81], "ValueError: no such layer");
  EXPECT_EQ(lines.back(), "bye");
}

TEST(OutputTailTest, TheStacksOfAKilledPythonComeWithTheLinesBeforeThem) {
  OutputTail tail(2);
  std::string stacks = "Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n";
  for (int i = 0; i < 20; ++i) stacks += "  File \"train.py\", line 1 in step\n";
  Add(tail, 1, "epoch 1\nterminate called\n  what():  Connection closed by peer\n" + stacks);
  const std::vector<std::string> lines = tail.Lines();
  ASSERT_EQ(lines.size(), 25u);
  EXPECT_EQ(lines[0], "terminate called");
  EXPECT_EQ(lines[2], "Fatal Python error: Aborted");
}

TEST(OutputTailTest, ATracebackIsWholeInWhateverPiecesItComes) {
  const std::string text = "epoch 1\n" + Traceback(20);
  OutputTail pieces(2);
  for (const char byte : text) pieces.Add(1, &byte, 1);
  OutputTail whole(2);
  Add(whole, 1, text);
  EXPECT_EQ(whole.Lines().size(), 42u);
  EXPECT_EQ(pieces.Lines(), whole.Lines());
}

TEST(OutputTailTest, ATracebackIsFoundBetweenTheLinesOfTheOtherStream) {
  OutputTail tail(2);
  Add(tail, 0, "epoch 1\n");
  Add(tail, 1, "Traceback (most recent call last):\n  File \"a.py\", line 1\n");
  Add(tail, 0, "epoch 2\nepoch 3\n");
  Add(tail, 1, "ValueError: no\n");
  Add(tail, 0, "epoch 4\n");
  EXPECT_THAT(tail.Lines(),
              ElementsAre("Traceback (most recent call last):", "  File \"a.py\", line 1",
                          "epoch 2", "epoch 3", "ValueError: no", "epoch 4"));
}

TEST(OutputTailTest, AnUnfinishedTracebackIsWholeToo) {
  OutputTail tail(1);
  Add(tail, 1, "Traceback (most recent call last):\n  File \"a.py\", line 1\n    x = ");
  EXPECT_EQ(tail.Lines().size(), 3u);
}

TEST(OutputTailTest, ATracebackLongAgoIsForgotten) {
  OutputTail tail(2);
  Add(tail, 1, Traceback(1));
  for (size_t i = 0; i < OutputTail::kMaxTracebackLines; ++i) Add(tail, 1, "line\n");
  EXPECT_THAT(tail.Lines(), ElementsAre("line", "line"));
}

TEST(OutputTailTest, ATracebackBeyondTheBoundsLeavesTheNewestLines) {
  OutputTail many_lines(2);
  Add(many_lines, 1, Traceback(static_cast<int>(OutputTail::kMaxTracebackLines)));
  EXPECT_THAT(many_lines.Lines(), ElementsAre("    step()", "ValueError: no such layer"));
  OutputTail many_bytes(2);
  const std::string frame = "  " + std::string(OutputTail::kMaxLineBytes - 2, 'x') + "\n";
  Add(many_bytes, 1, "Traceback (most recent call last):\n");
  for (size_t bytes = 0; bytes <= OutputTail::kMaxTracebackBytes + 3 * frame.size();
       bytes += frame.size()) {
    Add(many_bytes, 1, frame);
  }
  Add(many_bytes, 1, "ValueError: no such layer\n");
  EXPECT_EQ(many_bytes.Lines().size(), 2u);
}

TEST(OutputTailTest, OfAChainBeyondTheBoundsTheLastTracebacksRemain) {
  OutputTail tail(2);
  const std::string chain =
      "\nDuring handling of the above exception, another exception occurred:\n\n";
  Add(tail, 1, Traceback(60) + chain + Traceback(60, "OSError: second"));
  EXPECT_EQ(tail.Lines().size(), 122u);
  EXPECT_EQ(tail.Lines().back(), "OSError: second");
}

TEST(OutputTailTest, KeepsMoreLinesThanATracebackMayHaveWhereTheyAreWanted) {
  OutputTail tail(1000);
  const std::string line(OutputTail::kMaxLineBytes, 'x');
  for (int i = 0; i < 1100; ++i) Add(tail, 0, line + "\n");
  EXPECT_EQ(tail.Lines().size(), 1000u);
}

}  // namespace
}  // namespace tony::executor
