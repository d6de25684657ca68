// Numbers are written with seven digits: a float has no more, and a chart of 1,000 points is a
// third as long as with the digits of a double. All series of one answer have points at the same
// times, so that a reader draws them over one axis.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

/// A series to read, and what it is called in the answer.
struct Wanted {
  const core::MetricSeries* series;
  Json name;  ///< members besides the numbers
};

void AppendNumbers(const char* name, const core::MetricPoints& read, size_t length,
                   float core::MetricBucket::*member, std::string& json) {
  absl::StrAppend(&json, ",\"", name, "\":[");
  for (size_t i = 0; i < length; ++i) {
    if (i > 0) json += ',';
    const bool there = i < read.points.size() && !read.points[i].empty();
    if (there) {
      absl::StrAppendFormat(&json, "%.7g", read.points[i].*member);
    } else {
      json += "null";
    }
  }
  json += ']';
}

std::vector<Wanted> Find(const core::JobMetrics& metrics, const MetricWish& wish) {
  std::vector<Wanted> found;
  for (const std::string& name : wish.names) {
    for (const core::TaskId& task : wish.tasks) {
      const core::MetricSeries* series = metrics.Find(task, name);
      if (series == nullptr) continue;
      found.push_back({series,
                       {{"name", name},
                        {"task", task.ToString()},
                        {"type", task.type},
                        {"quantile", nullptr}}});
    }
    for (const std::string& type : wish.types) {
      const auto band = metrics.FindBand(type, name);
      for (size_t line = 0; band && line < band->size(); ++line) {
        found.push_back({(*band)[line],
                         {{"name", name},
                          {"task", nullptr},
                          {"type", type},
                          {"quantile", core::kBandQuantiles[line]}}});
      }
    }
  }
  return found;
}

}  // namespace

Json MetricNamesJson(const core::JobMetrics& metrics, const core::ObservedJob& job) {
  Json json = {{"metrics", Json::array()}, {"types", Json::array()}};
  for (const std::string& name : metrics.Names()) {
    const auto& meanings = core::MetricMeanings();
    const auto known = std::find_if(meanings.begin(), meanings.end(),
                                    [&](const auto& meaning) { return meaning.name == name; });
    const bool reported = known == meanings.end();
    json["metrics"].push_back(
        {{"name", name},
         {"unit", reported ? "" : std::string(known->unit)},
         {"title", reported ? name.substr(core::kReported.size()) : std::string(known->title)}});
  }
  for (const core::JobSubmitted::Type& type : job.view.job.types) {
    json["types"].push_back({{"type", type.name},
                             {"tasks", type.instances},
                             {"bands", type.instances >= core::JobMetrics::kLeastForBands}});
  }
  json["left_out"] = metrics.left_out();
  return json;
}

std::string MetricsText(const core::JobMetrics& metrics, const MetricWish& wish) {
  const std::vector<Wanted> found = Find(metrics, wish);
  int64_t from = wish.from;
  int64_t unit = 1;
  if (from == 0 && !found.empty()) {
    from =
        std::min_element(found.begin(), found.end(), [](const Wanted& left, const Wanted& right) {
          return left.series->begin_millis() < right.series->begin_millis();
        })->series->begin_millis();
  }
  for (const Wanted& wanted : found) unit = std::max(unit, wanted.series->Resolution(from));
  std::string series;
  core::MetricPoints axis{from, unit, {}};
  for (const Wanted& wanted : found) {
    const core::MetricPoints read = wanted.series->Read(from, wish.to, wish.points, unit);
    if (read.points.empty()) continue;
    axis = read;
    std::string json = Dump(wanted.name);
    json.resize(json.rfind('}'));
    const size_t length = read.points.size();
    AppendNumbers("mean", read, length, &core::MetricBucket::mean, json);
    AppendNumbers("min", read, length, &core::MetricBucket::min, json);
    AppendNumbers("max", read, length, &core::MetricBucket::max, json);
    absl::StrAppend(&series, series.empty() ? "" : ",", json, "}");
  }
  return absl::StrCat("{\"begin_millis\":", axis.begin_millis,
                      ",\"step_millis\":", axis.step_millis, ",\"points\":", axis.points.size(),
                      ",\"series\":[", series, "]}\n");
}

}  // namespace tony::web
