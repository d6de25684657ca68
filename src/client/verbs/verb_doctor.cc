// `tony doctor`: what this machine lacks for jobs, and what to do about it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/machine_checks.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// The words for people and for --json.
std::string KindName(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kFine:
      return "ok";
    case Finding::Kind::kLess:
      return "note";
    case Finding::Kind::kWrong:
      return "WRONG";
  }
  return "";
}

std::string RenderFindings(const std::vector<Finding>& findings) {
  int width = 0;
  for (const Finding& finding : findings) width = std::max(width, DisplayWidth(finding.what));
  std::string text;
  for (const Finding& finding : findings) {
    absl::StrAppend(&text, PadToWidth(KindName(finding.kind), 7),
                    PadToWidth(finding.what, width + 2), SafeText(finding.sentence), "\n");
    if (!finding.remedy.empty()) {
      absl::StrAppend(&text, PadToWidth("", 7 + width + 2), "→ ", SafeText(finding.remedy), "\n");
    }
  }
  return text;
}

absl::StatusOr<int> RunDoctor(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::vector<Finding> findings = CheckMachine(line, context, configuration);
  const bool wrong = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.kind == Finding::Kind::kWrong;
  });
  if (line.Has("json")) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
      json.push_back({{"what", finding.what},
                      {"kind", KindName(finding.kind)},
                      {"sentence", finding.sentence},
                      {"remedy", finding.remedy}});
    }
    context.bytes(DumpJson(json));
  } else {
    context.out(RenderFindings(findings));
  }
  return wrong ? kVerbNotPossible : kVerbDone;
}

}  // namespace

Verb DoctorVerb() {
  return {"doctor",
          "",
          "what this machine lacks for jobs, and the line that mends it",
          "A cluster is asked if HADOOP_CONF_DIR is set.\n",
          {},
          0,
          &RunDoctor,
          &DoctorExits};
}

}  // namespace tony::client
