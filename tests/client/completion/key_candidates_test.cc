// KEY=VALUE is completed part by part, by the table of keys.
#include "client/completion/key_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "jobfile/keys/key_table.h"

namespace tony::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Words(const std::string& word,
                               const std::vector<std::string>& types = {}) {
  std::vector<std::string> words;
  for (const Candidate& candidate : CompleteKeyValue(word, types).candidates) {
    words.push_back(candidate.word);
  }
  return words;
}

TEST(KeyCandidates, GoUpToThePoint) {
  EXPECT_THAT(Words(""), ElementsAre("tony."));
  EXPECT_THAT(Words("tony.ap"), ElementsAre("tony.application."));
  const std::vector<std::string> first = Words("tony.");
  EXPECT_THAT(first, Contains("tony.worker."));
  EXPECT_THAT(first, Contains("tony.backend="));
  EXPECT_LT(first.size(), 30u);
  EXPECT_TRUE(CompleteKeyValue("tony.", {}).open_end);
}

TEST(KeyCandidates, AreWholeKeysWithMeanings) {
  const Completion completion = CompleteKeyValue("tony.application.fram", {});
  ASSERT_EQ(completion.candidates.size(), 1u);
  EXPECT_EQ(completion.candidates[0].word, "tony.application.framework=");
  EXPECT_EQ(completion.candidates[0].meaning,
            "The framework, which decides which environment variables tasks receive");
  EXPECT_TRUE(completion.open_end);
}

TEST(KeyCandidates, KnowTheTypesOfTheLineAndOfTheWord) {
  EXPECT_THAT(Words("tony.trainer.mem"), ElementsAre("tony.trainer.memory="));
  EXPECT_THAT(Words("tony.tra"), IsEmpty());
  EXPECT_THAT(Words("tony.tra", {"trainer"}), ElementsAre("tony.trainer."));
  EXPECT_THAT(TypesIn({"tony.trainer.instances=2", "tony.am.memory=1g", "x"}),
              ElementsAre("trainer"));
}

TEST(KeyCandidates, EndAtANameOfTheUsers) {
  EXPECT_THAT(Words("tony.application.gr"), ElementsAre("tony.application.group."));
  EXPECT_THAT(Words("tony.application.group.x"), IsEmpty());
}

TEST(KeyCandidates, LeaveOutKeysWithoutEffect) {
  for (const jobfile::KeyGroup& group : jobfile::KeyGroups()) {
    for (const jobfile::Key& key : group.keys) {
      const bool effect =
          key.status != jobfile::KeyStatus::kNote && key.status != jobfile::KeyStatus::kRefused;
      if (absl::StrContains(key.name, "<")) continue;
      const std::vector<std::string> words = Words(key.name);
      if (effect) EXPECT_THAT(words, Contains(key.name + "="));
      if (!effect) EXPECT_THAT(words, Not(Contains(key.name + "=")));
    }
  }
}

TEST(KeyCandidates, OfferTheValuesOfAKeyThatHasFew) {
  EXPECT_THAT(Words("tony.backend="),
              ElementsAre("tony.backend=local", "tony.backend=yarn", "tony.backend=launcher"));
  EXPECT_THAT(Words("tony.application.log-level=w"),
              ElementsAre("tony.application.log-level=warning"));
  EXPECT_THAT(Words("tony.worker.port-release="),
              ElementsAre("tony.worker.port-release=true", "tony.worker.port-release=false"));
  EXPECT_FALSE(CompleteKeyValue("tony.backend=", {}).open_end);
  EXPECT_THAT(Words("tony.worker.memory="), IsEmpty());
  EXPECT_THAT(Words("no.such.key="), IsEmpty());
}

TEST(KeyCandidates, AskForFilesWhereAPathIsTaken) {
  const Completion completion = CompleteKeyValue("tony.application.src-dir=sr", {});
  EXPECT_EQ(completion.files, FileKind::kFiles);
  EXPECT_EQ(completion.file_prefix, "tony.application.src-dir=");
  EXPECT_EQ(CompleteKeyValue("tony.local.dir=", {}).files, FileKind::kFolders);
}

}  // namespace
}  // namespace tony::client
