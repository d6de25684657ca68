// Every input of the corpora, and mutations of them, keep their targets' properties; and a target
// that does not keep them is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/run_inputs.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/tree/source_tree.h"

namespace tony::fuzz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kCorpora = InSourceTree("tests/fuzz/corpus");
const fs::path kFindings = InBuildFolder("fuzz-findings");

/// The files of a target's corpus, by name.
std::vector<NamedInput> Corpus(const std::string& target) {
  std::vector<NamedInput> inputs;
  for (const auto& entry : fs::directory_iterator(kCorpora / target)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.push_back(
        {entry.path().filename(), std::string(std::istreambuf_iterator<char>(file), {})});
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const NamedInput& a, const NamedInput& b) { return a.name < b.name; });
  return inputs;
}

/// For people: what was found, and where a file with the input is, for the debugger and the corpus.
std::string Report(const std::string& target, const std::vector<Finding>& findings) {
  std::string report;
  for (const Finding& finding : findings) {
    fs::create_directories(kFindings);
    const fs::path path = kFindings / absl::StrCat(target, "-", finding.input.name);
    std::ofstream(path, std::ios::binary) << finding.input.bytes;
    absl::StrAppend(&report, finding.input.name, ": ", finding.what, " (", path.string(), ")\n");
  }
  return report;
}

class CorpusTest : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(CorpusTest, KeepsTheProperties) {
  const std::vector<NamedInput> inputs = Corpus(GetParam().name);
  ASSERT_FALSE(inputs.empty()) << "tests/fuzz/corpus/" << GetParam().name;
  EXPECT_EQ(Report(GetParam().name, RunInputs(GetParam().run, inputs)), "");
}

TEST_P(CorpusTest, MutatedKeepsTheProperties) {
  std::vector<std::string> seeds;
  for (const NamedInput& input : Corpus(GetParam().name)) seeds.push_back(input.bytes);
  ASSERT_FALSE(seeds.empty()) << "tests/fuzz/corpus/" << GetParam().name;
  std::vector<NamedInput> inputs;
  for (int i = 0; i < GetParam().mutations; ++i) {
    inputs.push_back({absl::StrCat("mutation-", i), Mutate(seeds, static_cast<uint32_t>(i))});
  }
  EXPECT_EQ(Report(GetParam().name, RunInputs(GetParam().run, inputs)), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, CorpusTest,
                         ::testing::ValuesIn(FuzzTargets().begin(), FuzzTargets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CorpusTest, ThereIsNoneWithoutATarget) {
  std::set<std::string> folders, targets;
  for (const auto& entry : fs::directory_iterator(kCorpora))
    folders.insert(entry.path().filename());
  for (const FuzzTarget& target : FuzzTargets()) targets.insert(target.name);
  EXPECT_EQ(folders, targets);
}

// A target with known defects, each for the input that names it.
void FuzzDefects(std::string_view input) {
  Require(input != "property", "this property holds");
  if (input == "exception") throw std::out_of_range("no such element");
  if (input == "abort") std::abort();
  if (input == "signal") std::raise(SIGSEGV);
  if (input == "exit") _exit(3);
  for (volatile bool endless = input == "endless"; endless;) {
  }
}

std::vector<Finding> FindDefects(const std::vector<std::string>& inputs) {
  std::vector<NamedInput> named;
  for (const std::string& input : inputs) named.push_back({"of " + input, input});
  return RunInputs(FuzzDefects, named, {.input = std::chrono::seconds(1)});
}

TEST(RunInputsTest, FindsNothingWhereThereIsNothing) {
  EXPECT_THAT(FindDefects({"", "good", "properties"}), IsEmpty());
}

TEST(RunInputsTest, FindsEveryDefectAndGoesOn) {
  const auto findings =
      FindDefects({"good", "property", "exception", "good", "abort", "exit", "endless", "good"});
  ASSERT_EQ(findings.size(), 5u);
  EXPECT_EQ(findings[0].input.name, "of property");
  EXPECT_EQ(findings[0].what, "this property holds");
  EXPECT_EQ(findings[1].what, "no such element");
  EXPECT_EQ(findings[2].input.bytes, "abort");
  EXPECT_THAT(findings[2].what, HasSubstr("signal 6"));
  EXPECT_THAT(findings[3].what, HasSubstr("exit code 3"));
  EXPECT_EQ(findings[4].what, "it takes too long");
}

TEST(RunInputsTest, StopsAfterSomeFindings) {
  EXPECT_EQ(FindDefects(std::vector<std::string>(20, "exit")).size(), RunLimits{}.findings);
}

TEST(MutateTest, IsTheSameEachTimeAndDiffersByNumber) {
  const std::vector<std::string> seeds = {"one seed of some length", "another one"};
  std::set<std::string> all;
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Mutate(seeds, i), Mutate(seeds, i));
    all.insert(Mutate(seeds, i));
  }
  EXPECT_GT(all.size(), 80u);
  EXPECT_NO_THROW((void)Mutate({""}, 1));
}

}  // namespace
}  // namespace tony::fuzz
