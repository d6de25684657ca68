// Sets variables for libhdfs, the libraries that open it, and Hadoop's Java client behind it; each
// only if it is still empty.
#include "core/runtime/hadoop_variables.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tony::core {
namespace {

constexpr std::array kSignsOfHadoop = {"HADOOP_CONF_DIR", "HADOOP_HDFS_HOME", "HADOOP_HOME",
                                       "HADOOP_COMMON_HOME", "HADOOP_TOKEN_FILE_LOCATION"};

std::string ValueIn(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

}  // namespace

bool IsHadoopConfigured(const Environment& environment) {
  return std::any_of(kSignsOfHadoop.begin(), kSignsOfHadoop.end(),
                     [&](const char* name) { return !ValueIn(environment, name).empty(); });
}

bool SkipsHadoop(const Environment& environment) {
  return environment.contains("SKIP_HADOOP_PATH");
}

Environment HadoopVariables(const Environment& environment,
                            const HadoopInstallation& installation) {
  Environment variables;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (!value.empty() && ValueIn(environment, name).empty()) variables[name] = value;
  };
  set("CLASSPATH", installation.class_path);
  set("HADOOP_HDFS_HOME", installation.home);
  set("HADOOP_CONF_DIR", installation.configuration);
  set("JAVA_HOME", installation.java_home);
  set("ARROW_LIBHDFS_DIR", installation.libhdfs_folder);
  // A NodeManager without Kerberos runs all containers as its own user; USER names the job's owner.
  if (environment.contains("CONTAINER_ID")) set("HADOOP_USER_NAME", ValueIn(environment, "USER"));

  const std::string old_path = ValueIn(environment, "LD_LIBRARY_PATH");
  std::vector<std::string> folders = absl::StrSplit(old_path, ':', absl::SkipEmpty());
  const auto append = [&](const std::string& folder) {
    if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  };
  append(installation.jvm_folder);
  // Hadoop's own folder is left out: its copies of common libraries would replace the system's.
  if (installation.libhdfs_of_job) append(installation.libhdfs_folder);
  const std::string path = absl::StrJoin(folders, ":");
  if (path != old_path) variables["LD_LIBRARY_PATH"] = path;
  return variables;
}

}  // namespace tony::core
