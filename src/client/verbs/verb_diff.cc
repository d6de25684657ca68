// `tony diff`: what two jobs were configured with, and how they ended, side by side.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/record/duration_text.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {
namespace {

/// One line of the comparison.
struct Difference {
  std::string what;
  std::string left;  ///< "-": not set
  std::string right;
};

std::map<std::string, std::string> KeysOf(const StoredJob& job) {
  std::map<std::string, std::string> keys;
  if (job.folder.root().empty()) return keys;
  jobfile::Sources sources;
  sources.job_file = job.folder.job_xml();
  const jobfile::LoadResult loaded = jobfile::LoadConfiguration(sources);
  for (const jobfile::Entry& entry : loaded.configuration.entries()) {
    keys[entry.key] = entry.ShownValue();
  }
  return keys;
}

/// Keys that differ, by name.
std::vector<Difference> CompareKeys(const StoredJob& left, const StoredJob& right) {
  const std::map<std::string, std::string> of_left = KeysOf(left), of_right = KeysOf(right);
  std::set<std::string> names;
  for (const auto* keys : {&of_left, &of_right}) {
    for (const auto& [name, value] : *keys) names.insert(name);
  }
  std::vector<Difference> differences;
  for (const std::string& name : names) {
    const auto of = [&name](const std::map<std::string, std::string>& keys) {
      const auto found = keys.find(name);
      return found == keys.end() ? std::string("-") : found->second;
    };
    if (of(of_left) != of(of_right)) {
      differences.push_back({name, of(of_left), of(of_right)});
    }
  }
  return differences;
}

/// The end of a job, or its state while it runs.
std::vector<std::string> OutcomeOf(const StoredJob& job, int64_t now_millis) {
  const core::JobView& view = job.job.view;
  return {job.job.StateName(),
          job.ended()            ? view.verdict->sentence
          : job.sentence.empty() ? "-"
                                 : job.sentence,
          core::FormatDuration(job.job.RunningMillis(now_millis)), absl::StrCat(view.epoch + 1)};
}

/// The outcomes, all of them: two jobs that ended alike are worth a look, too.
std::vector<Difference> CompareOutcomes(const StoredJob& left, const StoredJob& right,
                                        int64_t now_millis) {
  const std::vector<std::string> names = {"state", "verdict", "time", "attempts"};
  const std::vector<std::string> of_left = OutcomeOf(left, now_millis);
  const std::vector<std::string> of_right = OutcomeOf(right, now_millis);
  std::vector<Difference> lines;
  for (size_t index = 0; index < names.size(); ++index) {
    lines.push_back({names[index], of_left[index], of_right[index]});
  }
  return lines;
}

std::string Render(const std::vector<Difference>& lines, int screen_width) {
  constexpr int kWidest = 48;
  int name_width = 0, left_width = 0;
  for (const Difference& line : lines) {
    name_width = std::max(name_width, DisplayWidth(SafeText(line.what)));
    left_width = std::max(left_width, DisplayWidth(SafeText(line.left)));
  }
  left_width = std::min(left_width, kWidest);
  std::string text;
  for (const Difference& line : lines) {
    absl::StrAppend(
        &text,
        CutToWidth(absl::StrCat(PadToWidth(SafeText(line.what), name_width), "  ",
                                PadToWidth(CutToWidth(SafeText(line.left), left_width), left_width),
                                "  ", SafeText(line.right)),
                   screen_width),
        "\n");
  }
  return text;
}

nlohmann::ordered_json ToJson(const std::vector<Difference>& lines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Difference& line : lines) {
    json.push_back({{"what", line.what}, {"left", line.left}, {"right", line.right}});
  }
  return json;
}

absl::StatusOr<int> RunDiff(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.size() != 2) {
    return absl::InvalidArgumentError("name two jobs: tony diff JOB OTHER");
  }
  TONY_ASSIGN_OR_RETURN(const NamedJobs named, FindNamedJobs(line, context, line.positionals));
  if (named.jobs.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("both names mean job ", named.jobs[0].id, "; name two jobs"));
  }
  const StoredJob &left = named.jobs[0], &right = named.jobs[1];
  const std::vector<Difference> keys = CompareKeys(left, right);
  std::vector<Difference> outcomes = CompareOutcomes(left, right, context.clock->UnixMillis());
  if (line.Has("json")) {
    context.bytes(DumpJson({{"left", left.id},
                            {"right", right.id},
                            {"outcome", ToJson(outcomes)},
                            {"configuration", ToJson(keys)}}));
    return kVerbDone;
  }
  std::vector<Difference> lines = {{"", left.id, right.id}};
  lines.insert(lines.end(), outcomes.begin(), outcomes.end());
  lines.insert(lines.end(), keys.begin(), keys.end());
  context.out(Render(lines, context.screen.width));
  if (keys.empty()) context.out("Both have the same configuration.\n");
  return kVerbDone;
}

}  // namespace

Verb DiffVerb() {
  return {"diff",
          "JOB OTHER",
          "how two jobs ended, and the keys in which they differ",
          "JOB and OTHER are jobs' names, parts of them from the start or to the end, or "
          "\"latest\".\n",
          {},
          2,
          &RunDiff};
}

}  // namespace tony::client
