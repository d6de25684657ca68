// Each group has its stack once, however many processes are there: suspects first.
#include <nlohmann/json.hpp>

#include "core/record/json_values.h"
#include "core/stacks/stack_groups.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

Json FramesJson(const core::Stack& stack) {
  Json frames = Json::array();
  for (const core::StackFrame& frame : stack.frames) {
    frames.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
  }
  return frames;
}

Json GroupJson(const core::StackReport& report, const core::StackGroup& group) {
  Json members = Json::array();
  for (const core::ProcessIndex& member : group.members) {
    const core::TaskStacks& task = report.tasks[member.task];
    const core::ProcessStacks& process = task.processes[member.process];
    members.push_back({{"task", task.task.ToString()},
                       {"attempt", task.attempt},
                       {"host", task.host},
                       {"pid", process.pid},
                       {"program", process.program}});
  }
  const core::ProcessIndex& first = group.members.front();
  const core::Stack& stack = report.stacks[group.stacks.front()];
  return {{"suspect", group.suspect},
          {"way", report.tasks[first.task].processes[first.process].way},
          {"members", std::move(members)},
          {"frames", FramesJson(stack)},
          {"cut", stack.cut}};
}

/// What could not be read, and why.
Json TroublesJson(const core::StackReport& report) {
  Json troubles = Json::array();
  for (const core::TaskStacks& task : report.tasks) {
    if (!task.trouble.empty()) {
      troubles.push_back(
          {{"task", task.task.ToString()}, {"pid", nullptr}, {"sentence", task.trouble}});
    }
    for (const core::ProcessStacks& process : task.processes) {
      if (process.trouble.empty()) continue;
      troubles.push_back(
          {{"task", task.task.ToString()}, {"pid", process.pid}, {"sentence", process.trouble}});
    }
  }
  return troubles;
}

}  // namespace

Json StacksJson(const core::StackReport* report, const KeptStacksPage& kept) {
  Json texts = Json::array();
  for (const KeptStacksText& one : kept.texts) {
    texts.push_back({{"task", core::OrNull(one.task)},
                     {"attempt", one.attempt},
                     {"text", one.text},
                     {"cut", one.cut}});
  }
  if (report == nullptr) {
    return {{"taken_millis", nullptr},  {"suspect", ""},
            {"groups", Json::array()},  {"troubles", Json::array()},
            {"kept", std::move(texts)}, {"kept_left_out", kept.left_out}};
  }
  const std::vector<core::StackGroup> groups =
      core::GroupStacks(*report, core::GroupBy::kMainThread);
  Json array = Json::array();
  for (const core::StackGroup& group : groups) array.push_back(GroupJson(*report, group));
  return {{"taken_millis", report->unix_millis},
          {"suspect", core::SuspectSentence(*report, groups)},
          {"groups", std::move(array)},
          {"troubles", TroublesJson(*report)},
          {"kept", std::move(texts)},
          {"kept_left_out", kept.left_out}};
}

}  // namespace tony::web
