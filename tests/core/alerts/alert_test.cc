// What alerts say, with texts that nobody can trust.
#include "core/alerts/alert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/utf8.h"

namespace tony::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Alert End() {
  Alert alert;
  alert.event = AlertEvent::kEnd;
  alert.job_id = "local_1";
  alert.name = "mnist";
  alert.user = "alice";
  alert.framework = "pytorch";
  alert.backend = "local";
  alert.unix_millis = 1'709'210'096'789;  // a leap day
  alert.state = "FAILED";
  alert.reason = "TASK_FAILED";
  alert.sentence = "worker:1 exited with code 1";
  alert.guilty = TaskId{"worker", 1};
  alert.attempt = 2;
  return alert;
}

TEST(Alert, JsonHasAllFacts) {
  EXPECT_EQ(AlertJson(End(), "local_1.end"),
            R"({"version":1,"id":"local_1.end","event":"end","time":"2024-02-29T12:34:56Z",)"
            R"("job":{"id":"local_1","name":"mnist","user":"alice","framework":"pytorch",)"
            R"("backend":"local","page":null},"state":"FAILED","reason":"TASK_FAILED",)"
            R"("sentence":"worker:1 exited with code 1","guilty":"worker:1","attempt":2,)"
            R"("retries_left":null,"infrastructure_retries_left":null,"master_attempt":1})");
}

TEST(Alert, SlackTextIsEscaped) {
  Alert alert = End();
  alert.name = "<!channel> & <http://evil|ok>";
  const auto json = nlohmann::json::parse(AlertSlack(alert));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json["text"],
            "tony: job &lt;!channel&gt; &amp; &lt;http://evil|ok&gt; (local_1) of alice has ended: "
            "FAILED\nworker:1 exited with code 1");
}

TEST(Alert, ThePageIsNamedIfOthersCanOpenIt) {
  Alert alert = End();
  alert.page = "http://rm:8088/proxy/application_1_2/";
  EXPECT_EQ(nlohmann::json::parse(AlertJson(alert, "1"))["job"]["page"], alert.page);
  EXPECT_THAT(std::string(nlohmann::json::parse(AlertSlack(alert))["text"]),
              HasSubstr("code 1\nhttp://rm:8088/proxy/application_1_2/"));
}

TEST(Alert, TextsAreBoundedAndClean) {
  Alert alert = End();
  alert.name = "a\nb\x1b[31m\xff\xe2\x80\xae";
  alert.sentence = std::string(1 << 20, '\xc3');
  for (const std::string& body : {AlertJson(alert, "1"), AlertSlack(alert)}) {
    EXPECT_LT(body.size(), 3000u);
    EXPECT_EQ(FindMalformedUtf8(body), std::string::npos);
    EXPECT_THAT(body, Not(HasSubstr("\\u001b")));
    EXPECT_THAT(body, HasSubstr("a b [31m\xef\xbf\xbd"));
    EXPECT_FALSE(nlohmann::json::parse(body, nullptr, false).is_discarded());
  }
}

TEST(Alert, EndsHaveOneId) {
  Alert alert = End();
  EXPECT_EQ(AlertId(alert, 7), "local_1.end");
  alert.event = AlertEvent::kRestart;
  alert.master_attempt = 2;
  EXPECT_EQ(AlertId(alert, 7), "local_1.2.7");
}

}  // namespace
}  // namespace tony::core
