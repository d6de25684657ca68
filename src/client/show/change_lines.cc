// The visitor Describer has one overload for each event that gets a line; all other events get
// none. Every part that comes from a user or a host passes SafeText().
#include "client/show/change_lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"

namespace tony::client {
namespace {

using core::TaskState;

/// ": sentence", or nothing.
std::string Because(const std::string& sentence) {
  return sentence.empty() ? "" : absl::StrCat(": ", sentence);
}

/// "3 lost containers may still be replaced"
std::string LossesLeft(int count) {
  if (count <= 0) return "no lost container may be replaced any more";
  return absl::StrCat(count, count == 1 ? " lost container" : " lost containers",
                      " may still be replaced");
}

struct Describer {
  std::string operator()(const core::JobSubmitted& event) const {
    std::vector<std::string> types;
    for (const core::JobSubmitted::Type& type : event.types) {
      types.push_back(absl::StrCat(type.instances, " ", core::TypeName(type.name)));
    }
    const std::string tasks =
        types.empty() ? "no tasks besides the ApplicationMaster" : absl::StrJoin(types, ", ");
    std::string text = SafeText(absl::StrCat("Job ", event.job_id, " (", event.name, ", ",
                                             event.framework, ", ", event.backend, "): ", tasks));
    if (!event.log_folder.empty()) absl::StrAppend(&text, "\nLogs: ", SafeText(event.log_folder));
    return text;
  }
  std::string operator()(const core::JobStateChanged& event) const {
    return SafeText(
        absl::StrCat("Job is ", core::JobStateName(event.state), Because(event.sentence)));
  }
  std::string operator()(const core::EpochOpened& event) const {
    return SafeText(absl::StrCat(
        "Attempt ", event.epoch + 1,
        event.lost ? "" : absl::StrCat(" of ", event.epoch + 1 + event.retries_left), " begins",
        Because(event.cause),
        event.lost ? absl::StrCat("; ", LossesLeft(event.infrastructure_retries_left)) : ""));
  }
  std::string operator()(const core::VisualizationReady& event) const {
    if (event.url.empty()) return "";
    return SafeText(absl::StrCat("Visualization: ", event.url, " (", event.task.ToString(), ")"));
  }
  std::string operator()(const core::MasterRestarted& event) const {
    return absl::StrCat("The ApplicationMaster was lost; number ", event.incarnation, " goes on");
  }
  std::string operator()(const core::JobNote& event) const {
    return SafeText(absl::StrCat("Note: ", event.sentence));
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

/// "0, 1, 5-9"
std::string RenderIndices(const std::set<int>& indices) {
  constexpr int kShortestRun = 4;
  std::vector<std::string> parts;
  for (auto first = indices.begin(); first != indices.end();) {
    auto last = first;
    int length = 1;
    while (std::next(last) != indices.end() && *std::next(last) == *last + 1) ++last, ++length;
    if (length >= kShortestRun) {
      parts.push_back(absl::StrCat(*first, "-", *last));
    } else {
      for (int index = *first; index <= *last; ++index) parts.push_back(absl::StrCat(index));
    }
    first = std::next(last);
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string DescribeJobChange(const core::JobEvent& event) {
  const std::string text = std::visit(Describer{}, event.body);
  return text.empty() ? "" : absl::StrCat(text, "\n");
}

std::string DescribeFailure(const core::TaskChanged& change) {
  if (change.state != TaskState::kFailed) return "";
  const std::string how = change.exit ? change.exit->Describe() : change.sentence;
  return SafeText(absl::StrCat(change.task.ToString(), " ", how.empty() ? "failed" : how)) + "\n";
}

std::string GroupTasks(const std::vector<core::TaskChanged>& changes) {
  // The order of the lines: failures at the top, then other ends, then tasks that run or will.
  constexpr TaskState kOrder[] = {TaskState::kFailed,  TaskState::kSucceeded, TaskState::kStopped,
                                  TaskState::kRunning, TaskState::kNew,       TaskState::kStarting,
                                  TaskState::kReady};
  std::vector<std::string> types;
  std::map<TaskState, std::map<std::string, std::set<int>>> groups;
  for (const core::TaskChanged& change : changes) {
    if (std::find(types.begin(), types.end(), change.task.type) == types.end())
      types.push_back(change.task.type);
    groups[change.state][change.task.type].insert(change.task.index);
  }
  std::string text;
  for (TaskState state : kOrder) {
    if (groups.count(state) == 0) continue;
    absl::StrAppend(&text, core::TaskStateName(state), ":");
    for (const std::string& type : types) {
      const std::set<int>& indices = groups[state][type];
      if (!indices.empty())
        absl::StrAppend(&text, " ", SafeText(core::TypeName(type)), " [", RenderIndices(indices),
                        "]");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace tony::client
