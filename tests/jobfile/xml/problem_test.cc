// How problems are shown, however many and however long they are.
#include "jobfile/xml/problem.h"

#include <algorithm>
#include <ctime>
#include <functional>

#include "absl/strings/substitute.h"
#include "jobfile/xml/xml_reader.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

size_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(ProblemTest, LeavesOutThePartsThatAreEmpty) {
  EXPECT_EQ(RenderProblem({"job.xml", 12, "k", "is wrong", "mend it"}),
            "job.xml:12: k: is wrong; mend it");
  EXPECT_EQ(RenderProblem({"", 0, "", "is wrong", ""}), "is wrong");
}

// A job file may be another user's.
TEST(ProblemTest, IsOneLineOfHarmlessText) {
  EXPECT_EQ(RenderProblem({"job.xml", 2, "a\x1b]0;PWNED\ab", "'x\ny\x1b[2J' is wrong", ""}),
            "job.xml:2: ab: 'x y' is wrong");
}

TEST(ProblemTest, QuotesNoMoreThanAKilobyte) {
  const std::string line = RenderProblem(
      {"job.xml", 2, std::string(1'000'000, 'k'), "ä" + std::string(2'000'000, 'v'), "r"});
  EXPECT_THAT(line, SizeIs(Le(2200u)));
  EXPECT_THAT(line, HasSubstr("k… (999000 more bytes): äv"));
  EXPECT_THAT(line, EndsWith("v… (1999002 more bytes); r"));
}

TEST(ProblemTest, TheFirstTwentyAreShownAndTheRestIsCounted) {
  const std::vector<Problem> problems(123, Problem{"job.xml", 1, "k", "is wrong", ""});
  const std::string text = RenderProblems(problems, "note: ");
  EXPECT_EQ(Lines(text), 21u);
  EXPECT_THAT(text, EndsWith("note: and 103 more\n"));
  EXPECT_THAT(RenderProblems({kMostProblems + 1, problems[0]}),
              EndsWith("and at least 981 more\n"));
  EXPECT_EQ(Lines(RenderProblems({20, problems[0]})), 20u);
}

/// The result of a job file with 30,000 keys.
BuildResult LoadMany(const std::function<std::string(int)>& key) {
  Properties properties;
  for (int i = 0; i < 30'000; ++i) properties.emplace_back(key(i), "1");
  const TemporaryFolder folder;
  folder.Write("job.xml", Xml(properties));
  return LoadJob({.job_file = folder.path() + "/job.xml", .home_folder = folder.path()}).result;
}

// Each would be compared with all keys of all task types, and fill a screen.
TEST(ManyWrongKeysTest, AreFewMessagesAndLittleWork) {
  for (const char* const form :
       {"tony.worker.instnaces$0", "tony.t$0.memory", "wrong$0", "tony.t$0.instances"}) {
    const std::clock_t begin = std::clock();
    const BuildResult result = LoadMany([&](int i) { return absl::Substitute(form, i); });
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_THAT(result.problems, SizeIs(Le(kMostProblems + 10))) << form;
    EXPECT_THAT(RenderProblems(result.problems), SizeIs(Le(25'000u))) << form;
    EXPECT_LT(took, 6) << form;  // seconds of a processor; twice that where each is searched for
  }
}

TEST(ManyWrongKeysTest, AFileOfOtherElementsIsCounted) {
  std::string xml = "<configuration>";
  for (int i = 0; i < 200'000; ++i) xml += "<a/>";
  const XmlFile file = ParseXml(xml + "</configuration>", "job.xml");
  EXPECT_THAT(file.problems, SizeIs(kMostProblems + 1));
  EXPECT_EQ(RenderProblem(file.problems.back()), "job.xml: has 199000 more problems");
}

}  // namespace
}  // namespace tony::jobfile
