// `tony __complete` answers a shell by the tables of verbs and options.
#include "client/verbs/complete_tony.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/cli/options.h"
#include "client/completion/complete_arguments.h"
#include "client/completion/complete_submit.h"
#include "client/completion/shell_scripts.h"
#include "client/verbs/verb_table.h"
#include "tests/client/verbs/verb_fixture.h"

namespace tony::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A user who presses the Tab key.
class CompleteTest : public VerbTest {
 protected:
  Completion Complete(std::vector<std::string> words) {
    if (words.size() > 1) words.insert(words.begin() + 1, "--conf=tony.local.dir=" + local_.path());
    return CompleteTony(words, context_);
  }
  std::vector<std::string> Words(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const Candidate& candidate : Complete(words).candidates) found.push_back(candidate.word);
    return found;
  }
};

TEST_F(CompleteTest, OffersVerbs) {
  const std::vector<std::string> all = Words({""});
  for (const Verb& verb : AllVerbs()) EXPECT_THAT(all, Contains(verb.name));
  EXPECT_THAT(all, Contains("help"));
  EXPECT_THAT(all, Not(Contains("ls")));
  EXPECT_THAT(Words({"l"}), ElementsAre("list", "ls", "logs"));
  EXPECT_THAT(Words({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(CompleteTony({"help", "stat"}, context_).candidates, ::testing::SizeIs(1));
  EXPECT_THAT(Words({"no-such-verb", ""}), IsEmpty());
  EXPECT_THAT(CompleteTony({}, context_).candidates, Not(IsEmpty()));
}

TEST_F(CompleteTest, OffersOptionsInTheUsersSpelling) {
  EXPECT_THAT(Words({"logs", "--fi"}), ElementsAre("--first-error"));
  EXPECT_THAT(Words({"logs", "-first_e"}), ElementsAre("-first_error"));
  EXPECT_THAT(Words({"ls", "--ru"}), ElementsAre("--running"));
  EXPECT_THAT(Words({"logs", "-"}), Contains("--follow"));
  EXPECT_THAT(Words({"logs", "--follow", "--fol"}), IsEmpty());
  EXPECT_THAT(Words({"logs", "--con"}), ElementsAre("--conf"));  // repeatable
}

TEST_F(CompleteTest, OffersValuesThatAreFew) {
  EXPECT_THAT(Words({"logs", "--level", ""}), ElementsAre("debug", "info", "warning", "error"));
  EXPECT_THAT(Words({"logs", "--level=w"}), ElementsAre("--level=warning"));
  EXPECT_THAT(Words({"status", "--backend", "y"}), ElementsAre("yarn"));
  EXPECT_THAT(Words({"run", "--framework", "py"}), ElementsAre("pytorch"));
  EXPECT_THAT(Words({"logs", "--tail", ""}), IsEmpty());
  EXPECT_THAT(Words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
}

TEST_F(CompleteTest, OffersKeys) {
  EXPECT_THAT(Words({"status", "--conf", "tony.local.d"}), ElementsAre("tony.local.dir="));
  EXPECT_THAT(Words({"status", "--conf=tony.back"}), ElementsAre("--conf=tony.backend="));
  EXPECT_THAT(Words({"status", "--conf=tony.backend=y"}), ElementsAre("--conf=tony.backend=yarn"));
  const Completion completion = Complete({"status", "--conf=tony.local.dir=/t"});
  EXPECT_EQ(completion.files, FileKind::kFolders);
  EXPECT_EQ(completion.file_prefix, "--conf=tony.local.dir=");
}

TEST_F(CompleteTest, OffersJobsAndTasks) {
  const storage::JobFolder folder =
      WriteJob(local_.path(), "local-20261127-090000-bbbb", RunningJob().events());
  EXPECT_THAT(Words({"status", "lo"}), ElementsAre("local-20261127-090000-bbbb"));
  EXPECT_THAT(Words({"kill", "lo"}), IsEmpty());
  EXPECT_THAT(Words({"rm", "lo"}), ElementsAre("local-20261127-090000-bbbb"));
  EXPECT_THAT(Words({"rm", "local-20261127-090000-bbbb", "lo"}), IsEmpty());
  EXPECT_THAT(Words({"diff", "latest", "lo"}), ElementsAre("local-20261127-090000-bbbb"));
  EXPECT_THAT(Words({"logs", "latest", "worker:"}), ElementsAre("worker:0", "worker:1"));
  EXPECT_THAT(Words({"logs", "work"}), ElementsAre("worker:0", "worker:1"));
  EXPECT_THAT(Words({"open", "--task=ps"}), ElementsAre("--task=ps:0"));
  EXPECT_THAT(Words({"logs", "latest", "worker:0", ""}), IsEmpty());
  EXPECT_THAT(Words({"status", "--backend=yarn", "lo"}), IsEmpty());
  const HeldLock lock(folder);
  EXPECT_THAT(Words({"stop", "lo"}), ElementsAre("local-20261127-090000-bbbb"));
  EXPECT_THAT(Words({"rm", "lo"}), IsEmpty());
}

TEST_F(CompleteTest, AsksForFiles) {
  EXPECT_EQ(Complete({"validate", "a.xml", ""}).files, FileKind::kXml);
  EXPECT_EQ(Complete({"run", "-np", "2", "pyth"}).files, FileKind::kCommands);
  EXPECT_EQ(Complete({"run", "-np", "2", "python3", "--tr"}).files, FileKind::kFiles);
  EXPECT_EQ(Complete({"run", "--src_dir", ""}).files, FileKind::kFiles);
  EXPECT_EQ(Complete({"list", ""}).files, FileKind::kNone);
}

TEST_F(CompleteTest, SaysNothingWhereSomethingIsWrong) {
  context_.site_file = local_ / "broken.xml";
  std::ofstream(context_.site_file) << "<configuration>";
  EXPECT_EQ(Run({"__complete", "status", ""}), kVerbDone);
  EXPECT_EQ(out_, "none\tclosed\t\n");
  EXPECT_EQ(err_, "");
}

TEST_F(CompleteTest, TheAnswerIsText) {
  SampleEvents job;
  job.Submit({{"worker", 1}});
  std::vector<core::JobEvent> events = job.events();
  std::get<core::JobSubmitted>(events[0].body).name = "a\tb\nc\x1b[2J";
  WriteJob(local_.path(), "local-20261127-090000-bbbb", events);
  EXPECT_EQ(RunBare({"__complete", "status", "--conf=tony.local.dir=" + local_.path(), "lo"}),
            kVerbDone);
  EXPECT_THAT(out_, StartsWith("none\tclosed\t\nlocal-20261127-090000-bbbb\ta"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 2);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\t'), 3);
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
}

TEST_F(CompleteTest, SubmitIsCompletedByItsOwnTable) {
  EXPECT_THAT(CompleteSubmit({}), StartsWith("xml\tclosed\t\n"));
  EXPECT_THAT(CompleteSubmit({"--exec"}), HasSubstr("\n--executes\twhat each task runs"));
  EXPECT_EQ(CompleteSubmit({"--backend=y"}), "none\tclosed\t--backend=\n--backend=yarn\t\n");
  EXPECT_EQ(CompleteSubmit({"--hdfs_classpath", "a,b/c"}), "files\tclosed\ta,\n");
  EXPECT_EQ(CompleteSubmit({"-conf_file", ""}), "files\tclosed\t\n");
}

TEST_F(CompleteTest, EveryKindOfValueIsKnown) {
  std::vector<std::string> kinds;
  for (const OptionRow& row : SubmitTable()) kinds.push_back(row.value);
  for (const Verb& verb : AllVerbs()) {
    for (const std::string& kind : KindsOf(verb.arguments)) kinds.push_back(kind);
    for (const OptionRow& row : AllOptions(verb)) {
      if (row.choices.empty()) kinds.push_back(row.value);
    }
  }
  for (const std::string& kind : kinds) {
    EXPECT_TRUE(IsKnownKind(kind)) << kind << " needs a line in complete_arguments.cc";
  }
}

TEST_F(CompleteTest, AScriptIsPrinted) {
  for (const std::string& shell : CompletionShells()) {
    EXPECT_EQ(RunBare({"completion", shell}), kVerbDone);
    EXPECT_EQ(out_, CompletionScript(shell));
    EXPECT_THAT(out_, HasSubstr("tony-submit"));
  }
  EXPECT_EQ(RunBare({"completion", "tcsh"}), kVerbBadUsage);
  EXPECT_EQ(err_, "tony: there is no completion for 'tcsh'; SHELL is one of bash, zsh, fish\n");
  EXPECT_EQ(RunBare({"completion"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("tony completion SHELL"));
}

}  // namespace
}  // namespace tony::client
