// A type's own key comes before the key for all types, except for placement, where the constraint
// of the application applies to each type in addition.
#include "jobfile/job/yarn_settings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/model/master_task.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

// The constraint in the value of `key`; nothing if it is empty or malformed. CheckKeys() reports
// the latter.
std::optional<PlacementConstraint> ConstraintAt(const Configuration& configuration,
                                                const std::string& key) {
  auto constraint = ParsePlacement(configuration.GetText(key));
  if (!constraint.ok()) return std::nullopt;
  return *std::move(constraint);
}

TypePlacement PlacementOf(const Configuration& configuration, const std::string& type) {
  const auto key = [](const std::string& owner, const std::string& last_word) {
    return absl::StrCat("tony.", owner, ".", last_word);
  };
  TypePlacement placement;
  placement.tags = configuration.GetList(key(type, "allocation-tags"));
  if (placement.tags.empty())
    placement.tags = configuration.GetList("tony.containers.allocation-tags");
  placement.constraint = ConstraintAt(configuration, key(type, "placement-spec"));
  if (!placement.constraint.has_value()) {
    placement.constraint = ConstraintAt(configuration, "tony.containers.placement-spec");
  }
  // The application's constraint applies in addition to the type's: both are joined by and(…).
  auto common = ConstraintAt(configuration, "tony.application.placement-spec");
  if (!common.has_value()) return placement;
  if (placement.constraint.has_value()) {
    PlacementConstraint both;
    both.kind = PlacementConstraint::Kind::kAnd;
    both.parts = {*std::move(common), *std::move(placement.constraint)};
    common = std::move(both);
  }
  placement.constraint = std::move(common);
  return placement;
}

}  // namespace

YarnSettings BuildYarnSettings(const Configuration& configuration,
                               const std::vector<std::string>& types) {
  YarnSettings yarn;
  yarn.conf_dir = configuration.GetText("tony.yarn.conf-dir");
  yarn.queue = configuration.GetText("tony.yarn.queue");
  yarn.staging_dir = configuration.GetText("tony.yarn.staging-dir");
  yarn.runtime = configuration.GetText("tony.yarn.runtime");
  yarn.application_type = configuration.GetText("tony.application.type");
  yarn.tags = configuration.GetList("tony.application.tags");
  yarn.priority = static_cast<int>(configuration.GetNumber("tony.yarn.priority"));
  yarn.gpu_resource = configuration.GetText("tony.yarn.gpu-resource");
  yarn.view_acl = configuration.GetText("tony.yarn.view-acl");
  yarn.modify_acl = configuration.GetText("tony.yarn.modify-acl");
  yarn.timeout = configuration.GetDuration("tony.yarn.timeout-ms");
  yarn.cache_days = static_cast<int>(configuration.GetNumber("tony.yarn.cache-retention"));
  const std::string label = configuration.GetText("tony.application.node-label");
  const std::string master = configuration.GetText("tony.am.node-label");
  yarn.am_node_label = master.empty() ? label : master;
  // In a job without task types, the only task has the ApplicationMaster's type.
  if (!yarn.am_node_label.empty()) yarn.node_labels[core::kMasterTaskType] = yarn.am_node_label;
  for (const std::string& type : types) {
    const std::string own = configuration.GetText(absl::StrCat("tony.", type, ".node-label"));
    if (!own.empty() || !label.empty()) yarn.node_labels[type] = own.empty() ? label : own;
    const auto amounts = configuration.GetKeyValues(absl::StrCat("tony.", type, ".yarn-resources"));
    for (const auto& [name, amount] : amounts) {
      yarn.other_resources[type][name] = ParseWholeNumber(amount).value_or(0);
    }
    TypePlacement placement = PlacementOf(configuration, type);
    if (placement != TypePlacement()) yarn.placements[type] = std::move(placement);
  }
  // If one type has a placement, all types need tags, since constraints refer to tags. The default
  // is the type's name.
  if (yarn.placements.empty()) return yarn;
  for (const std::string& type : types) {
    std::vector<std::string>& tags = yarn.placements[type].tags;
    if (tags.empty()) tags.push_back(type);
  }
  return yarn;
}

}  // namespace tony::jobfile
