// Events as lines of JSON, as the history keeps them.
#include "rpc/convert/event_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/convert/utf8.h"
#include "tests/rpc/every_event.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void ExpectSame(const core::JobEventBody& sent, const core::JobEventBody& expected) {
  const std::string line = EventToJsonLine({12, 1'700'000'000'123, sent});
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_EQ(ToUtf8(line), line);
  const absl::StatusOr<core::JobEvent> read = EventFromJsonLine(line);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << line;
  EXPECT_TRUE(*read == core::JobEvent({12, 1'700'000'000'123, expected})) << line;
}

TEST(EventJsonTest, EveryKindOfEventComesBack) {
  for (const core::JobEventBody& body : FullBodies("h\xC3\xA9llo \"w\"\n\\ {} \x01</script>")) {
    ExpectSame(body, body);
  }
  for (const core::JobEventBody& body : BareBodies()) ExpectSame(body, body);
  for (const core::JobEventBody& body : FullBodies("")) ExpectSame(body, body);
}

TEST(EventJsonTest, BytesThatAreNotUtf8AreReplaced) {
  const std::string broken = "caf\xE9 \xF4\x90\x80\x80";
  const auto sent = FullBodies(broken);
  const auto expected = FullBodies(ToUtf8(broken));
  for (size_t i = 0; i < sent.size(); ++i) ExpectSame(sent[i], expected[i]);
}

TEST(EventJsonTest, ReadsLikeTheProto) {
  EXPECT_EQ(EventToJsonLine({3, 5, core::JobStateChanged{core::JobState::kRunning, 1, "so"}}),
            R"({"sequence":"3","unix_millis":"5",)"
            R"("state_changed":{"state":"RUNNING","epoch":1,"sentence":"so"}})");
  EXPECT_THAT(EventToJsonLine({1, 1, FullBodies("x")[3]}), HasSubstr(R"("cause":"SIGNALED")"));
}

TEST(EventJsonTest, FieldsOfANewerVersionAreIgnored) {
  const auto event = EventFromJsonLine(
      R"({"sequence":"7","weather":{"rain":[1,2]},"note":{"sentence":"hi","language":"en"}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_TRUE(*event == core::JobEvent({7, 0, core::JobNote{"hi"}}));
}

TEST(EventJsonTest, ACauseOfANewerVersionIsNoSuccess) {
  const auto event = EventFromJsonLine(
      R"({"task_changed":{"state":"FAILED","exit":{"cause":"EVAPORATED","message":"m"}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  const auto& exit = std::get<core::TaskChanged>(event->body).exit;
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->cause, core::TaskExit::Cause::kLost);
  EXPECT_EQ(exit->message, "m");
}

TEST(EventJsonTest, OtherKindsAndOtherTextsAreRefused) {
  for (const std::string line : {
           R"({"sequence":"7","eclipse":{"sentence":"dark"}})",  // a kind of a newer version
           R"({"sequence":"7"})",
           R"({"state_changed":{"state":"DREAMING"}})",
           R"({"ended":{"verdict":{"outcome":"FAILED","reason":"BOREDOM"}}})",
           R"({"sequence":"x","note":{}})",
           R"({"sequence":"7","note":{"sentence":"cut)",
           "[]",
           "note",
           "",
       }) {
    EXPECT_EQ(EventFromJsonLine(line).status().code(), absl::StatusCode::kInvalidArgument) << line;
  }
}

}  // namespace
}  // namespace tony::rpc
