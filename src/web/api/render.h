// The API's answers as JSON; openapi.json describes them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "core/metrics/job_metrics.h"
#include "core/record/job_timeline.h"
#include "core/record/observed_job.h"
#include "web/api/job_logs.h"
#include "web/api/job_source.h"
#include "web/api/job_stacks.h"
#include "web/http/http_message.h"

namespace tony::web {

using Json = nlohmann::ordered_json;

/// An answer of the type application/json.
HttpResponse JsonResponse(std::string body);
/// The document in one line. Bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json);

/// The job as a whole. `recorded`: see JobSource.
Json JobSummary(const core::ObservedJob& job, int64_t now_millis, PageMeans means,
                bool recorded = false);
/// "tony kill JOB"
std::string StopCommand(const core::ObservedJob& job);

/// Which tasks are wanted, in which order. Plain data.
struct TaskWish {
  std::vector<core::TaskState> states;  ///< empty: all
  std::string host;                     ///< empty: all
  std::string sort = "task";            ///< "task", "trouble", "host", "memory", "cpu"
  size_t limit = 1000;
  std::string cursor;  ///< empty: the first page
};
/// InvalidArgument – the cursor is none of this order.
absl::StatusOr<Json> TaskPage(const core::ObservedJob& job, const TaskWish& wish);
/// All tasks for which `wanted` holds, as one page.
Json TasksWhere(const core::ObservedJob& job,
                const std::function<bool(const core::TaskId&)>& wanted);

Json TimelineJson(const core::JobTimeline& timeline, int64_t now_millis);
Json BlockJson(const logs::LogBlock& block, bool with_hits);
Json MergedJson(const MergedLines& merged);
Json ErrorsJson(const JobErrors& errors);
/// `differing`: only keys that differ from their defaults.
Json ConfigJson(const std::vector<ConfigKey>& config, bool differing);
/// What has changed since an earlier run; a key that one of them lacks has null there.
Json PreviousJson(const std::vector<ConfigKey>& config, const std::optional<PreviousRun>& previous);
/// Which metrics the job has, with their units, and which types have bands.
Json MetricNamesJson(const core::JobMetrics& metrics, const core::ObservedJob& job);
/// Which series are wanted. Plain data.
struct MetricWish {
  std::vector<std::string> names;
  std::vector<core::TaskId> tasks;
  std::vector<std::string> types;  ///< those whose bands are wanted
  int64_t from = 0;                ///< Unix time; 0: from the first value on
  int64_t to = 0;
  int points = 300;
};
/// The series as JSON; what the job does not have is left out.
std::string MetricsText(const core::JobMetrics& metrics, const MetricWish& wish);
/// `report`: null, if none have been taken. `kept`: texts of stacks that were kept.
Json StacksJson(const core::StackReport* report, const KeptStacksPage& kept);
/// The job in Prometheus's text format 0.0.4. Of what programs report it has the names that
/// `metrics` has, so that their number is bounded.
std::string PrometheusText(const core::ObservedJob& job, const core::JobMetrics& metrics);

/// The bytes of openapi.json.
std::string OpenApiDocument();

}  // namespace tony::web
