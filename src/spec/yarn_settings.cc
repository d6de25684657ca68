// One key after the other.
#include "spec/yarn_settings.h"

#include "absl/strings/str_cat.h"
#include "spec/values.h"

namespace tony::spec {

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
  const std::string label = configuration.GetText("tony.application.node-label");
  const std::string master = configuration.GetText("tony.am.node-label");
  yarn.am_node_label = master.empty() ? label : master;
  for (const std::string& type : types) {
    const std::string own = configuration.GetText(absl::StrCat("tony.", type, ".node-label"));
    if (!own.empty() || !label.empty()) yarn.node_labels[type] = own.empty() ? label : own;
    const auto amounts = configuration.GetKeyValues(absl::StrCat("tony.", type, ".yarn-resources"));
    for (const auto& [name, amount] : amounts) {
      yarn.other_resources[type][name] = ParseWholeNumber(amount).value_or(0);
    }
  }
  return yarn;
}

}  // namespace tony::spec
