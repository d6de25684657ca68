// The order comes from core::StageGraph, which the ApplicationMaster uses, too, so the text shows
// what will happen.
#include "client/show/task_order.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/stage_graph.h"

namespace tony::client {
namespace {

double Seconds(const core::DependencyTimeout& timeout) {
  return static_cast<double>(timeout.limit.count()) / 1000.0;
}

}  // namespace

std::string RenderOrder(const core::JobDescription& job) {
  const core::StageGraph graph(job.types);
  if (graph.stages().size() < 2 && job.dependency_timeouts.empty()) return "";
  std::string text = "Order:\n";
  int number = 0;
  for (const core::Stage& stage : graph.stages()) {
    absl::StrAppend(&text, "  ", ++number, ". ", absl::StrJoin(stage.types, ", "));
    if (!stage.depends_on.empty()) {
      absl::StrAppend(&text, " after ", absl::StrJoin(stage.depends_on, ", "));
    }
    text += "\n";
  }
  for (const core::DependencyTimeout& timeout : job.dependency_timeouts) {
    absl::StrAppend(&text, "  ", timeout.type, " has ", Seconds(timeout), " s to end after group ",
                    timeout.group, " (", absl::StrJoin(timeout.group_types, ", "), "), then ",
                    timeout.ignored ? "it is not waited for any longer\n" : "the job fails\n");
  }
  return text;
}

void AddOrder(const core::JobDescription& job, nlohmann::ordered_json& json) {
  json["stages"] = nlohmann::ordered_json::array();
  const core::StageGraph graph(job.types);
  for (const core::Stage& stage : graph.stages()) {
    json["stages"].push_back({{"types", stage.types}, {"depends_on", stage.depends_on}});
  }
  json["dependency_timeouts"] = nlohmann::ordered_json::array();
  for (const core::DependencyTimeout& timeout : job.dependency_timeouts) {
    json["dependency_timeouts"].push_back({{"type", timeout.type},
                                           {"group", timeout.group},
                                           {"group_types", timeout.group_types},
                                           {"seconds", Seconds(timeout)},
                                           {"ignored", timeout.ignored}});
  }
}

}  // namespace tony::client
