// The parameters in the output of a preprocessing program, whatever the pieces in which it comes.
#include "executor/output/parameter_finder.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

void Add(ParameterFinder& finder, const std::string& text) { finder.Add(text.data(), text.size()); }

std::string ParametersIn(const std::string& text) {
  ParameterFinder finder;
  Add(finder, text);
  finder.Finish();
  return finder.parameters();
}

TEST(ParameterFinderTest, TheFirstLineWithTheMarkCounts) {
  EXPECT_EQ(ParametersIn("reading\nModel parameters: --rate 0.1\nModel parameters: no\n"),
            "--rate 0.1");
  EXPECT_EQ(ParametersIn("12:00:01 INFO Model parameters: {\"a\": 1}\r\n"), "{\"a\": 1}");
  EXPECT_EQ(ParametersIn("Model parameters: unfinished"), "unfinished");
  EXPECT_EQ(ParametersIn("Model parameters:none\nmodel parameters: none\n"), "");
  EXPECT_EQ(ParametersIn(""), "");
}

TEST(ParameterFinderTest, PutsPiecesTogether) {
  const std::string text = "Model\nModel parameters: a b\nrest\n";
  ParameterFinder finder;
  for (const char byte : text) finder.Add(&byte, 1);
  EXPECT_EQ(finder.parameters(), "a b");
}

TEST(ParameterFinderTest, KeepsWhatAVariableCanHold) {
  const std::string most(ParameterFinder::kMaxBytes, 'x');
  EXPECT_EQ(ParametersIn("Model parameters: " + most + "\n"), most);
  ParameterFinder finder;
  for (int pieces = 0; pieces < 100; ++pieces) Add(finder, std::string(10'000, 'y'));
  Add(finder, "\nModel parameters: " + most + "x");
  EXPECT_FALSE(finder.too_long());
  Add(finder, "\n");
  EXPECT_TRUE(finder.too_long());
  EXPECT_EQ(finder.parameters(), "");
}

}  // namespace
}  // namespace tony::executor
