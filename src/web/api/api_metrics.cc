// The job's metrics over time, and the advice that follows from them.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/advice/advice_json.h"
#include "core/model/task_path.h"
#include "web/api/api.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

/// Names, tasks or types of one request.
constexpr size_t kMostNames = 32;
/// Points of all series of one answer; each is three numbers.
constexpr size_t kMostPoints = 200'000;

/// Reads the wish. A wrong parameter is noted in `parameters`.
MetricWish ReadWish(Parameters& parameters, int64_t now_millis) {
  MetricWish wish;
  wish.names = parameters.Words("names", kMostNames, 64, "_.-");
  for (const std::string& path : parameters.Words("tasks", kMostNames, 138, "_.-")) {
    if (const auto task = core::TaskFromPath(path)) wish.tasks.push_back(*task);
  }
  wish.types = parameters.Words("types", kMostNames, 128, "_.-");
  wish.from = parameters.Number("from", 0, kLargestNumber, 0);
  wish.to = parameters.Number("to", 0, kLargestNumber, now_millis + 1);
  wish.points = static_cast<int>(parameters.Number("points", 1, 1000, 300));
  return wish;
}

}  // namespace

void Api::ShowMetrics(const Call& call) {
  Parameters parameters(call.request.query);
  const MetricWish wish = ReadWish(parameters, parts_.job.UnixMillis());
  if (parameters.problem()) return call.respond(ProblemResponse(400, *parameters.problem()));
  if (!parameters.Has("names")) {
    return call.respond(JsonResponse(Dump(MetricNamesJson(parts_.job.metrics(), call.job))));
  }
  const size_t series =
      wish.names.size() * (wish.tasks.size() + wish.types.size() * core::kBandQuantiles.size());
  if (series * static_cast<size_t>(wish.points) > kMostPoints) {
    return call.respond(ProblemResponse(
        400, absl::StrCat("That would be ", series, " series of up to ", wish.points,
                          " points, and at most ", kMostPoints,
                          " points are given at once; ask for fewer names, tasks or points.")));
  }
  call.respond(JsonResponse(MetricsText(parts_.job.metrics(), wish)));
}

void Api::ShowAdvice(const Call& call) {
  const core::JobAdvice advice =
      core::AdviseJob(core::JobFacts(call.job, parts_.job.metrics(), parts_.job.UnixMillis()));
  Json json = core::AdviceJson(advice);
  json["reservations"] = Json::array();
  if (!advice.reservation.empty()) json["reservations"].push_back(advice.reservation);
  call.respond(JsonResponse(Dump(json)));
}

}  // namespace tony::web
