// A job's own patterns are taken out of whole lines.
#include "executor/output/pattern_redactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PatternRedactorTest : public ::testing::Test {
 protected:
  void Use(const std::vector<std::string>& patterns) {
    redactor_.emplace(PatternRedactor::Create(patterns).value());
  }
  void Add(const std::string& text) { redactor_->Add(text.data(), text.size(), sink_); }
  void Flush() { redactor_->Flush(sink_); }

  std::string result_;
  const logs::OutputSink sink_ = [this](const char* data, size_t size) { result_.append(data, size); };
  std::optional<PatternRedactor> redactor_;
};

TEST_F(PatternRedactorTest, PassesEverythingOnWithoutPatterns) {
  Use({});
  Add("half a li");
  EXPECT_EQ(result_, "half a li");
}

TEST_F(PatternRedactorTest, ReplacesEveryMatchOfEveryPattern) {
  Use({"user-\\d+", "(?i)acme"});
  Add("user-12 and user-3 of ACME\nnobody\n");
  EXPECT_EQ(result_, "[redacted] and [redacted] of [redacted]\nnobody\n");
}

TEST_F(PatternRedactorTest, WaitsForTheLinesEnd) {
  Use({"user-\\d+x"});
  Add("a us");
  EXPECT_EQ(result_, "");
  Add("er-1");
  Add("2x b\rus");
  EXPECT_EQ(result_, "a [redacted] b\r");
  Flush();
  EXPECT_EQ(result_, "a [redacted] b\rus");
}

TEST_F(PatternRedactorTest, StaysWithinALineAndKeepsAnyBytes) {
  Use({"begin[^x]*", "q*"});
  Add(std::string("begin \xFF\0!\n\xE9next\nqq\n", 19));
  EXPECT_EQ(result_, std::string("[redacted]\n\xE9next\n[redacted]\n", 28));
}

TEST_F(PatternRedactorTest, SeesEachLineAloneHoweverTheOutputIsDivided) {
  const std::string text = "id=1\rkey x\nkey y\r\nz key\nid=2";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    Use({"^key .*", "id=[^ ]*$"});
    result_.clear();
    for (size_t at = 0; at < text.size(); at += piece) Add(text.substr(at, piece));
    Flush();
    EXPECT_EQ(result_, "[redacted]\r[redacted]\n[redacted]\r\nz key\n[redacted]") << piece;
  }
}

TEST_F(PatternRedactorTest, ALongLineIsTakenInPiecesWhereMatchesStayWhole) {
  Use({"secret-z+y"});
  const std::string secret = "secret-" + std::string(2999, 'z') + "y";
  size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string piece = std::string(997, 'x') + secret;
    Add(piece);
    sent += piece.size();
  }
  EXPECT_GT(result_.size(), 100'000u);  // nothing waits for an end that does not come
  Flush();
  EXPECT_THAT(result_, Not(HasSubstr("zz")));
  EXPECT_EQ(result_.size(), 200 * (997 + 10));
}

TEST_F(PatternRedactorTest, APatternThatIsNoneIsRefused) {
  const auto redactor = PatternRedactor::Create({"fine", "a("});
  EXPECT_EQ(redactor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(redactor.status().message()), HasSubstr("tony.task.log.redact"));
}

}  // namespace
}  // namespace tony::executor
