// Spans by task and then by time, so that a reader draws each task's row from one run of rows.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/record/job_json.h"
#include "web/api/render.h"

namespace tony::web {

Json TimelineJson(const core::JobTimeline& timeline, int64_t now_millis) {
  using Span = core::JobTimeline::Span;
  std::vector<const Span*> spans;
  for (const Span& span : timeline.closed) spans.push_back(&span);
  for (const auto& [task, span] : timeline.open) spans.push_back(&span);
  std::sort(spans.begin(), spans.end(), [](const Span* left, const Span* right) {
    return std::tie(left->task, left->begin_millis) < std::tie(right->task, right->begin_millis);
  });
  Json json = {{"columns", {"task", "kind", "begin_millis", "end_millis", "attempt"}},
               {"rows", Json::array()}};
  for (const Span* span : spans) {
    json["rows"].push_back({span->task.ToString(), core::PhaseName(span->phase), span->begin_millis,
                            core::OrNull(span->end_millis), span->attempt});
  }
  json["ends"] = {{"columns", {"task", "state", "millis", "attempt"}}, {"rows", Json::array()}};
  for (const core::JobTimeline::End& end : timeline.ends) {
    json["ends"]["rows"].push_back(
        {end.task.ToString(), core::TaskStateName(end.state), end.millis, end.attempt});
  }
  json["first_steps"] = {{"columns", {"task", "millis", "attempt"}}, {"rows", Json::array()}};
  for (const core::JobTimeline::FirstStep& step : timeline.first_steps) {
    json["first_steps"]["rows"].push_back({step.task.ToString(), step.millis, step.attempt});
  }
  json["epochs"] = Json::array();
  for (const core::JobTimeline::Restart& restart : timeline.restarts) {
    const core::EpochOpened& epoch = restart.epoch;
    json["epochs"].push_back({{"epoch", epoch.epoch},
                              {"millis", restart.millis},
                              {"cause", epoch.cause},
                              {"guilty", epoch.guilty ? Json(epoch.guilty->ToString()) : Json()},
                              {"lost", epoch.lost}});
  }
  json["begin_millis"] = timeline.begin_millis;
  json["now_millis"] = now_millis;
  json["dropped"] = timeline.dropped;
  json["sequence"] = timeline.last_sequence;
  return json;
}

}  // namespace tony::web
