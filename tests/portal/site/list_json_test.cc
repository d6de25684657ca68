// Addresses of jobs, and the parameters of a list.
#include "portal/site/list_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "portal/site/list_page.h"
#include "web/http/request_reader.h"

namespace tony::portal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kLocations = {"/home/ann/.tony", "/data/tony"};

TEST(JobAddress, IsTheIdInTheFirstLocation) {
  EXPECT_EQ(JobAddress(kLocations, "/home/ann/.tony", "local-1"), "local-1");
  EXPECT_EQ(JobAddress(kLocations, "/data/tony", "local-1"), "local-1@2");
  EXPECT_EQ(*JobOfAddress(kLocations, "local-1"), JobKey("/home/ann/.tony", "local-1"));
  EXPECT_EQ(*JobOfAddress(kLocations, "local-1@2"), JobKey("/data/tony", "local-1"));
}

TEST(JobAddress, LeadsNowhereElse) {
  for (const char* const address : {"", ".", "..", ".x", "a/b", "a b", "a@", "a@1", "a@3", "a@02",
                                    "a@x", "@2", "a@2@2", "a@-1", "a\n", "a%2f"}) {
    EXPECT_FALSE(JobOfAddress(kLocations, address).ok()) << address;
  }
}

TEST(ReadWish, TakesWhatTheContractNames) {
  const std::map<std::string, std::string> query = {{"state", "FAILED,LOST"}, {"q", "a b"},
                                                    {"alive", "no"},          {"sort", "-gpus"},
                                                    {"limit", "500"},         {"since", "5"}};
  web::Parameters parameters(query);
  const JobWish wish = ReadWish(parameters);
  EXPECT_FALSE(parameters.problem());
  EXPECT_THAT(wish.states, ElementsAre("FAILED", "LOST"));
  EXPECT_EQ(wish.text, "a b");
  EXPECT_EQ(wish.alive, false);
  EXPECT_EQ(wish.sort, "-gpus");
  EXPECT_EQ(wish.limit, 500u);
  EXPECT_EQ(wish.since_millis, 5);
}

// 256 letters of three bytes, each of them three characters in an address, and the place behind a
// job with the longest name.
TEST(ReadWish, WhatItTakesFitsInAnAddress) {
  std::string letters, encoded;
  for (int i = 0; i < 256; ++i) {
    letters += "\u4e2d";
    encoded += "%E4%B8%AD";
  }
  const std::string cursor = CursorToText({"-name", true, 0, std::string(2000, 'n'), 1, 1});
  const std::map<std::string, std::string> query = {
      {"q", letters}, {"cursor", cursor}, {"sort", "-name"}};
  web::Parameters parameters(query);
  EXPECT_EQ(ReadWish(parameters).text, letters);
  EXPECT_FALSE(parameters.problem()) << *parameters.problem();
  const std::string target =
      absl::StrCat("/api/v1/jobs?sort=-name&q=", encoded, "&cursor=", cursor);
  web::RequestReader reader("127.0.0.1");
  const auto read = reader.Take(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(read.has_value());
  ASSERT_TRUE(std::holds_alternative<web::HttpRequest>(*read));
  EXPECT_EQ(std::get<web::HttpRequest>(*read).query.at("q"), letters);
}

TEST(TargetsJson, IsWhatPrometheusReads) {
  JobPage page;
  page.jobs.resize(2);
  page.jobs[0].entry.job_id = "local-1";
  page.jobs[0].location = kLocations[0];
  page.jobs[1].entry.job_id = "local-2";
  page.jobs[1].location = kLocations[1];
  EXPECT_EQ(TargetsJson(page, kLocations, "portal.example:8443", "/metrics/jobs"), Json::parse(R"([
    {"targets": ["portal.example:8443"],
     "labels": {"__metrics_path__": "/metrics/jobs/local-1", "instance": "local-1"}},
    {"targets": ["portal.example:8443"],
     "labels": {"__metrics_path__": "/metrics/jobs/local-2@2", "instance": "local-2@2"}}])"));
  EXPECT_EQ(TargetsJson({}, kLocations, "h", "/metrics/jobs"), Json::array());
}

TEST(PortalOpenApi, NamesEveryFieldOfAnAnswer) {
  const Json document = Json::parse(PortalOpenApiDocument());
  JobPage page;
  page.jobs.emplace_back();
  const Json answer = JobPageJson(page, kLocations, {}, 1);
  const auto names = [](const Json& object) {
    std::set<std::string> all;
    for (const auto& [name, value] : object.items()) all.insert(name);
    return all;
  };
  const Json& schemas = document["components"]["schemas"];
  EXPECT_EQ(names(answer), names(schemas["JobPage"]["properties"]));
  EXPECT_EQ(names(answer["jobs"][0]), names(schemas["Job"]["properties"]));
  EXPECT_EQ(names(CountsJson({})), names(schemas["Counts"]["properties"]));
  std::set<std::string> required;
  for (const Json& name : schemas["Job"]["required"]) required.insert(name);
  EXPECT_EQ(required, names(answer["jobs"][0]));
}

TEST(ListPage, TextOfJobsIsNoMarkup) {
  JobPage page;
  page.jobs.emplace_back();
  history::JobEntry& entry = page.jobs[0].entry;
  entry.job_id = "local-1";
  entry.name = "<script>alert(1)</script>";
  entry.user = "\"><b>";
  entry.sentence = "<img src=x>";
  entry.state = "FAILED";
  const std::string html = RenderListPage(page, kLocations, {.complete = true}, 1);
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("href=\"jobs/"));
}

}  // namespace
}  // namespace tony::portal
