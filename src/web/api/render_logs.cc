// Lines of logs and errors, and configurations.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/record/job_json.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

Json PrintedJson(const std::optional<PrintedFailure>& printed) {
  if (!printed) return {};
  return {{"task", printed->task},
          {"attempt", printed->attempt},
          {"stream", printed->stream},
          {"line", printed->line},
          {"offset", printed->offset < 0 ? Json() : Json(printed->offset)},
          {"millis", core::OrNull(printed->unix_millis)},
          {"before", printed->before},
          {"lines", printed->lines},
          {"mention", printed->mention}};
}

}  // namespace

Json BlockJson(const logs::LogBlock& block, bool with_hits) {
  Json json = {{"offset", block.offset},
               {"end", block.end},
               {"size", block.size},
               {"dropped", {{"offset", block.dropped_offset}, {"bytes", block.dropped_bytes}}},
               {"columns", {"offset", "text"}},
               {"rows", Json::array()}};
  if (with_hits) json["columns"].push_back("hit");
  for (const logs::LogRow& row : block.rows) {
    Json line = Json::array({row.offset, row.text});
    if (with_hits) line.push_back(row.hit);
    json["rows"].push_back(std::move(line));
  }
  json["partial"] = block.partial;
  json["next"] = block.next ? Json(*block.next) : Json();
  json["hits"] = block.hits;
  return json;
}

Json MergedJson(const MergedLines& merged) {
  Json json = {{"columns", {"millis", "task", "attempt", "stream", "text"}},
               {"rows", Json::array()}};
  for (const MergedLine& line : merged.lines) {
    json["rows"].push_back(Json::array(
        {core::OrNull(line.unix_millis), line.task, line.attempt, line.stream, line.text}));
  }
  if (merged.empty) {
    json["next"] = nullptr;
  } else {
    json["next"] = absl::StrCat(merged.next.place.millis, "-", merged.next.place.skip,
                                merged.next.task.empty() ? "" : "-", merged.next.task);
  }
  json["more"] = merged.more;
  json["notes"] = merged.notes;
  return json;
}

Json ErrorsJson(const JobErrors& errors) {
  Json json;
  json["failure"] = nullptr;
  if (const auto& failure = errors.failure) {
    json["failure"] = {{"sentence", failure->sentence},
                       {"guilty", failure->guilty ? Json(failure->guilty->ToString()) : Json()},
                       {"attempt", failure->attempt},
                       {"exit", failure->exit ? core::ExitJson(*failure->exit) : Json()}};
  }
  json["own"] = PrintedJson(errors.own);
  json["printed"] = errors.printed;
  json["after"] = PrintedJson(errors.after);
  return json;
}

Json ConfigJson(const std::vector<ConfigKey>& config, bool differing) {
  Json json = {{"keys", Json::array()}};
  for (const ConfigKey& key : config) {
    if (differing && !key.differs) continue;
    json["keys"].push_back({{"key", key.key},
                            {"value", key.value},
                            {"origin", key.origin},
                            {"default", key.default_value ? Json(*key.default_value) : Json()},
                            {"differs", key.differs},
                            {"known", key.known}});
  }
  return json;
}

Json PreviousJson(const std::vector<ConfigKey>& config,
                  const std::optional<PreviousRun>& previous) {
  Json json = {{"job", nullptr}, {"ended_millis", nullptr}, {"changes", Json::array()}};
  if (!previous) return json;
  json["job"] = previous->job_id;
  json["ended_millis"] = previous->ended_millis;
  std::map<std::string, std::pair<const ConfigKey*, const ConfigKey*>> keys;  // then, now
  for (const ConfigKey& key : previous->config) keys[key.key].first = &key;
  for (const ConfigKey& key : config) keys[key.key].second = &key;
  const auto value = [](const ConfigKey* key) {
    return key != nullptr ? Json(key->value) : Json();
  };
  for (const auto& [name, both] : keys) {
    const Json then = value(both.first);
    const Json now = value(both.second);
    if (then != now) json["changes"].push_back({{"key", name}, {"value", now}, {"previous", then}});
  }
  return json;
}

}  // namespace tony::web
