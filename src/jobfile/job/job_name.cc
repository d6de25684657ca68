// A command is read word by word, not as a shell would: a name needs no more.
#include "jobfile/job/job_name.h"

#include <filesystem>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace tony::jobfile {
namespace {

constexpr char kLastResort[] = "job";

/// The command of all tasks, or of the first type that has one of its own.
std::string CommandOf(const Configuration& configuration) {
  const Entry* const all = configuration.Find("tony.containers.command");
  if (all != nullptr) return all->Value();
  for (const Entry& entry : configuration.entries()) {
    if (absl::StartsWith(entry.key, "tony.") && absl::EndsWith(entry.key, ".command")) {
      return entry.Value();
    }
  }
  return "";
}

std::string BaseName(absl::string_view path) {
  return std::filesystem::path(std::string(path)).filename().string();
}

/// The script in `command`: a word that ends in ".py", or the module behind "-m"; or else the
/// program, which stands behind assignments of variables.
std::string ProgramIn(const std::string& command) {
  const std::vector<std::string> words =
      absl::StrSplit(command, absl::ByAnyChar(" \t\n;&|()<>'\""), absl::SkipEmpty());
  std::string program;
  for (size_t index = 0; index < words.size(); ++index) {
    const std::string& word = words[index];
    if (absl::EndsWith(word, ".py")) return BaseName(word);
    if (index > 0 && words[index - 1] == "-m" && absl::StrContains(words[0], "python")) return word;
    if (program.empty() && !absl::StrContains(word, "=")) program = BaseName(word);
  }
  return program;
}

}  // namespace

DerivedName DeriveJobName(const Configuration& configuration, const Sources& sources) {
  DerivedName derived;
  if (!sources.job_file.empty()) {
    const std::filesystem::path file =
        (std::filesystem::path(sources.working_folder) / sources.job_file).lexically_normal();
    const bool usual = file.filename() == "job.xml" || file.filename() == "tony.xml";
    derived.name = usual ? file.parent_path().filename().string()
                         : std::string(absl::StripSuffix(file.filename().string(), ".xml"));
    derived.origin = usual ? "the job file's folder" : "the job file's name";
  }
  if (derived.name.empty()) {
    derived = {ProgramIn(CommandOf(configuration)), "the command"};
  }
  if (derived.name.empty()) derived = {kLastResort, "there is no other"};
  return derived;
}

}  // namespace tony::jobfile
