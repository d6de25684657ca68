// A job that a test tells, and the API that answers for it, without a server.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/loop_driver.h"
#include "web/api/api.h"
#include "web/api/render.h"

namespace tony::web {

inline constexpr int64_t kNow = 1'700'000'000'000;

/// A job that lives as far as a test wants.
class TestJob : public JobSource {
 public:
  explicit TestJob(int workers) : metrics_({.types = {{"worker", workers}}}) {
    core::JobSubmitted submitted;
    submitted.job_id = "job-1";
    submitted.name = "mnist";
    submitted.types = {{"worker", workers, true}};
    Add(std::move(submitted));
    Add(core::JobStateChanged{core::JobState::kRunning, 0, ""});
  }

  void Add(core::JobEventBody body) {
    const core::JobEvent event{++sequence_, kNow + sequence_ * 1000, std::move(body)};
    job_.Apply(event);
    timeline_.Apply(event);
    changes_.OnEvent(event);
  }
  void Task(int index, core::TaskState state, const std::string& host = "h") {
    core::TaskChanged change;
    change.task = {"worker", index};
    change.state = state;
    change.attempt = 1;
    change.host = host;
    Add(std::move(change));
  }
  void Measure(int index, int64_t memory) {
    core::TaskUsage usage;
    usage.memory_bytes = memory;
    Measure(index, usage);
  }
  void Measure(int index, const core::TaskUsage& usage) {
    const core::TaskMeasured measured{.task = {"worker", index}, .usage = usage, .attempt = 1};
    job_.view.Measure(measured);
    metrics_.Take(measured.task, measured.attempt, usage, kNow);
    changes_.OnMeasurement(measured.task);
  }
  /// Its program has named its first step at `millis`, which was measured at once.
  void Step(int index, int64_t millis) {
    core::TaskMeasured measured{.task = {"worker", index}, .usage = {}, .attempt = 1};
    measured.usage.progress = core::Progress{.step = 1, .first_step_millis = millis};
    timeline_.Measure(measured, millis);
  }

  const core::ObservedJob& Job() override { return job_; }
  const core::JobTimeline& timeline() const override { return timeline_; }
  const JobChanges& changes() const override { return changes_; }
  const core::JobMetrics& metrics() const override { return metrics_; }
  int64_t UnixMillis() const override { return kNow; }
  const std::vector<ConfigKey>& config() const override { return config_; }
  void ReadEvents(int64_t after, size_t /*limit*/, TakeEvents take) override {
    if (!events_.ok()) return take(events_);
    take(EventPage{{absl::StrCat("{\"sequence\":", after + 1, "}")}, std::nullopt});
  }
  void Stop(const std::string& why, Stopped done) override {
    if (stops_.ok()) stopped_ = why;
    done(stops_);
  }
  bool can_stop() const override { return can_stop_.value_or(!recorded_); }
  bool recorded() const override { return recorded_; }
  void FindPrevious(TakePrevious take) override { take(previous_); }

  core::ObservedJob job_;
  core::JobMetrics metrics_;
  std::vector<ConfigKey> config_ = {{"tony.a", "1", "job.xml:1", "1", false, true},
                                    {"tony.b", "2", "job.xml:2", "1", true, true}};
  absl::StatusOr<std::optional<PreviousRun>> previous_ = std::nullopt;
  absl::Status events_;  ///< why they cannot be read
  std::string stopped_;
  absl::Status stops_;            ///< why it cannot be told to end
  std::optional<bool> can_stop_;  ///< nothing: as other jobs
  bool recorded_ = false;

 private:
  core::JobTimeline timeline_;
  JobChanges changes_;
  int64_t sequence_ = 0;
};

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(int workers = 4) : job_(workers) {}

  std::unique_ptr<Api> MakeApi(JobStacks* stacks) {
    return std::make_unique<Api>(
        Api::Parts{.loop = driver_.loop(), .job = job_, .stacks = stacks, .timing = timing_});
  }
  HttpResponse Ask(HttpRequest request, const std::string& place) {
    std::optional<HttpResponse> got;
    api_->Handle(request, place, {[this] { return refusal_; }, may_change_, visitor_},
                 [&](HttpResponse response) { got = std::move(response); });
    EXPECT_TRUE(got.has_value()) << place;
    return got.value_or(HttpResponse{});
  }
  HttpResponse Get(const std::string& place, std::map<std::string, std::string> query = {}) {
    HttpRequest request;
    request.query = std::move(query);
    return Ask(std::move(request), place);
  }
  Json GetJson(const std::string& place, std::map<std::string, std::string> query = {}) {
    const HttpResponse response = Get(place, std::move(query));
    EXPECT_EQ(response.status, 200) << place << ": " << response.body;
    return Json::parse(response.body);
  }
  HttpResponse Post(const std::string& body, const std::string& type = "application/json",
                    const std::string& what = "stop") {
    HttpRequest request;
    request.post = true;
    request.body = body;
    request.content_type = type;
    return Ask(std::move(request), absl::StrCat("api/v1/jobs/job-1/", what));
  }
  static std::string TagOf(const HttpResponse& response) {
    for (const auto& [name, value] : response.headers) {
      if (name == "ETag") return value;
    }
    return "";
  }
  static std::vector<std::string> Names(const Json& page) {
    std::vector<std::string> names;
    for (const Json& row : page["rows"]) names.push_back(row[0].get<std::string>());
    return names;
  }

  LoopDriver driver_;
  TestJob job_;
  std::optional<HttpResponse> refusal_;
  bool may_change_ = true;
  std::string visitor_;
  JobBroadcast::Timing timing_{.comment = std::chrono::seconds(15), .pause = Duration::zero()};
  std::unique_ptr<Api> api_ = MakeApi(nullptr);
};

}  // namespace tony::web
