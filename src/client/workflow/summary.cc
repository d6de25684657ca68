#include "client/workflow/summary.h"

#include <fcntl.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "client/jobs/job_json.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr mode_t kMode = 0644;

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::string RenderSummary(const StepSummary& summary) {
  Json json = {{"version", 1},
               {"step_key", OrNull(summary.step_key)},
               {"application_id", OrNull(summary.job)},
               {"page", OrNull(summary.page)},
               {"tensorboard", OrNull(summary.tensorboard)},
               {"links", Json::array()},
               {"state", summary.state},
               {"adopted", summary.adopted},
               {"attempt", summary.attempt}};
  for (const WorkflowLink& link : summary.links) {
    json["links"].push_back({{"name", link.name}, {"url", link.url}});
  }
  const auto& verdict = summary.verdict;
  json["verdict"] = verdict ? Json(core::OutcomeName(verdict->outcome)) : Json();
  json["reason"] = verdict ? Json(core::ReasonName(verdict->reason)) : Json();
  json["sentence"] = verdict ? Json(verdict->sentence) : OrNull(summary.error);
  json["guilty_task"] = verdict && verdict->guilty ? Json(verdict->guilty->ToString()) : Json();
  json["tail"] = verdict && verdict->exit ? Json(verdict->exit->tail) : Json();
  json["metrics"] = summary.metrics;
  json["exit_code"] = summary.exit_code ? Json(*summary.exit_code) : Json();
  json["checkpoint_dir"] = OrNull(summary.checkpoint_dir);
  return DumpJsonLine(json);
}

absl::Status WriteSummary(const StepSummary& summary, const std::string& path) {
  const os::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file.valid()) return os::ErrnoError(errno, path);
  const std::string text = RenderSummary(summary);
  return os::WriteAll(file.get(), text.data(), text.size(), path);
}

}  // namespace tony::client
