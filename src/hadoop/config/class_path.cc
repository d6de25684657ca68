// The class path comes from Hadoop's own command, since distributions place their jars differently.
#include "hadoop/config/class_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/processes/run_program.h"

namespace tony::hadoop {
namespace {

/// A limit below Linux' own: execve() refuses a variable of 128 KiB, its name included.
constexpr size_t kLongestClassPath = 120 << 10;
constexpr size_t kQuotedBytes = 200;

std::string ValueIn(const std::map<std::string, std::string>& environment,
                    const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool IsProgram(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

bool IsJar(const std::string& path) {
  return absl::EndsWith(path, ".jar") || absl::EndsWith(path, ".JAR");
}

std::vector<std::string> JarsIn(const std::string& folder) {
  std::vector<std::string> jars;
  std::error_code error;  // the java command, too, ignores folders that cannot be listed
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (IsJar(file->path().string())) jars.push_back(file->path().string());
  }
  std::sort(jars.begin(), jars.end());
  return jars;
}

std::vector<std::string> EntriesOf(const std::string& class_path) {
  return absl::StrSplit(class_path, ':', absl::SkipEmpty());
}

/// The last line of `output` that is not blank. Scripts that a site adds to Hadoop's environment
/// may print greetings before the class path.
std::string LastLine(const std::string& output) {
  const std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

// Whether one of the jars exists. A misconfigured HADOOP_HOME gives a class path of the right form
// whose jars are missing; a JVM would fail on it much later, with a missing class.
bool NamesJars(const std::string& expanded) {
  const std::vector<std::string> entries = EntriesOf(expanded);
  return std::any_of(entries.begin(), entries.end(), [](const std::string& entry) {
    return IsJar(entry) && ::access(entry.c_str(), R_OK) == 0;
  });
}

absl::Status Failure(const std::string& command, const std::string& what,
                     const std::string& output) {
  return absl::FailedPreconditionError(
      absl::StrCat("'", command, " classpath' ", what, ": ",
                   os::Quoted(LastLine(output).substr(0, kQuotedBytes))));
}

}  // namespace

std::string FindHadoopCommand(const std::map<std::string, std::string>& environment) {
  // An installation that the environment names comes before PATH, where another version may lie.
  for (const char* home : {"HADOOP_HDFS_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME"}) {
    const std::string folder = ValueIn(environment, home);
    const std::string command = absl::StrCat(folder, "/bin/hadoop");
    if (!folder.empty() && IsProgram(command)) return command;
  }
  const std::vector<std::string> folders = EntriesOf(ValueIn(environment, "PATH"));
  for (const std::string& folder : folders) {
    const std::string command = absl::StrCat(folder, "/hadoop");
    if (IsProgram(command)) return command;
  }
  return "";
}

std::string ExpandClassPath(const std::string& class_path) {
  std::vector<std::string> expanded;
  for (const std::string& entry : EntriesOf(class_path)) {
    if (entry != "*" && !absl::EndsWith(entry, "/*")) {
      expanded.push_back(entry);
      continue;
    }
    const std::string folder = entry == "*" ? "." : entry.substr(0, entry.size() - 2);
    for (std::string& jar : JarsIn(folder.empty() ? "/" : folder)) {
      expanded.push_back(std::move(jar));
    }
  }
  return absl::StrJoin(expanded, ":");
}

absl::StatusOr<std::string> ReadClassPath(const std::string& command,
                                          const std::map<std::string, std::string>& environment,
                                          Duration limit) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(absl::StrCat(name, "=", value));
  TONY_ASSIGN_OR_RETURN(const os::FinishedProgram finished,
                        os::RunWithDeadline({command, "classpath"}, limit, variables));
  if (finished.status.signal != 0) {
    return Failure(command, absl::StrCat("ended by signal ", finished.status.signal),
                   finished.standard_error);
  }
  if (finished.status.code != 0) {
    return Failure(command, absl::StrCat("exited with ", finished.status.code),
                   finished.standard_error);
  }
  const std::string printed = LastLine(finished.standard_output);
  const std::string expanded = ExpandClassPath(printed);
  if (!NamesJars(expanded)) {
    return Failure(command, "printed no class path with a jar that is there",
                   finished.standard_output);
  }
  // A variable above the limit would make execve() of the task's program fail.
  return expanded.size() <= kLongestClassPath ? expanded : printed;
}

}  // namespace tony::hadoop
