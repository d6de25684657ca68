// Looks for Hadoop and Java at their usual places. The class path is computed once per node and
// kept in the job's cache, because Hadoop's command takes a fraction of a second, or hangs.
#include "executor/setup/hadoop_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "core/runtime/hadoop_variables.h"
#include "hadoop/config/class_path.h"
#include "os/archives/folder_cache.h"
#include "os/files/archive_digest.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

constexpr char kFound[] = "/class-path";
constexpr char kFailure[] = "/failure";

std::string ValueIn(const core::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool IsThere(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// Resolves the links of a command and goes two folders up: the home of bin/COMMAND. Empty if there
/// is no such file.
std::string HomeOf(const std::string& command) {
  std::error_code error;
  const auto real = std::filesystem::canonical(command, error);
  return error ? "" : real.parent_path().parent_path().string();
}

std::string JavaHomeInPath(const core::Environment& environment) {
  const std::vector<std::string> folders =
      absl::StrSplit(ValueIn(environment, "PATH"), ':', absl::SkipEmpty());
  for (const std::string& folder : folders) {
    const std::string java = absl::StrCat(folder, "/java");
    if (::access(java.c_str(), X_OK) == 0) return HomeOf(java);
  }
  return "";
}

/// Returns the folder with libjvm.so: the layout since Java 9 first, then the older ones.
std::string JvmFolder(const std::string& java_home) {
  if (java_home.empty()) return "";
  for (const char* place : {"/lib/server", "/jre/lib/amd64/server", "/lib/amd64/server",
                            "/jre/lib/aarch64/server", "/lib/aarch64/server"}) {
    const std::string folder = absl::StrCat(java_home, place);
    if (IsThere(absl::StrCat(folder, "/libjvm.so"))) return folder;
  }
  return "";
}

/// Names the cache entry after everything that the class path depends on.
absl::StatusOr<std::string> CacheKey(const std::string& command,
                                     const core::Environment& environment) {
  struct stat info = {};
  (void)::stat(command.c_str(), &info);  // an upgrade of Hadoop changes the time
  std::error_code error;
  const std::string place = std::filesystem::canonical(command, error).string();
  std::string text = absl::StrCat(place, "\n", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
  for (const auto& [name, value] : environment) {
    // Each container has its tokens in a file of its own, so this variable would make every key
    // different.
    const bool matters = absl::StartsWith(name, "HADOOP_") && name != "HADOOP_TOKEN_FILE_LOCATION";
    if (matters || name == "JAVA_HOME") absl::StrAppend(&text, "\n", name, "=", value);
  }
  os::Sha256 digest;
  digest.Update(text.data(), text.size());
  TONY_ASSIGN_OR_RETURN(const std::string digits, digest.Finish());
  return absl::StrCat("hadoop-", digits.substr(0, 16));
}

absl::StatusOr<std::string> ClassPathOfNode(const std::string& command,
                                            const core::Environment& environment,
                                            const std::string& cache_folder, Duration limit) {
  TONY_ASSIGN_OR_RETURN(const std::string key, CacheKey(command, environment));
  const auto fill = [&](const std::string& folder) {
    const auto found = hadoop::ReadClassPath(command, environment, limit);
    // A failure is cached too: if Hadoop's command hangs, that is waited for only once.
    return found.ok()
               ? os::WriteFileAtomically(folder + kFound, *found)
               : os::WriteFileAtomically(folder + kFailure, std::string(found.status().message()));
  };
  TONY_ASSIGN_OR_RETURN(const std::string folder, os::UnpackOnce(cache_folder, key, 2 * limit, fill,
                                                                 os::Durability::kCached));
  if (!IsThere(folder + kFound)) {
    TONY_ASSIGN_OR_RETURN(const std::string failure, os::ReadFile(folder + kFailure));
    return absl::FailedPreconditionError(failure);
  }
  return os::ReadFile(folder + kFound);
}

/// The state of one search.
struct Search {
  const core::Environment& environment;
  core::HadoopInstallation installation;
  std::vector<std::string> notes;

  std::string Value(const std::string& name) const { return ValueIn(environment, name); }
};

void FindHome(const std::string& command, Search& search) {
  for (const char* name : {"HADOOP_HDFS_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME"}) {
    if (search.installation.home.empty()) search.installation.home = search.Value(name);
  }
  if (search.installation.home.empty() && !command.empty()) {
    // A wrapper in /usr/bin is not part of Hadoop's folder, so the home is checked for Hadoop's own
    // folders.
    const std::string home = HomeOf(command);
    if (IsThere(home + "/libexec") && IsThere(home + "/share/hadoop")) {
      search.installation.home = home;
    }
  }
  const std::string configuration = search.installation.home + "/etc/hadoop";
  if (IsThere(configuration + "/core-site.xml")) search.installation.configuration = configuration;
}

void FindJava(Search& search) {
  std::string home = search.Value("JAVA_HOME");
  if (home.empty()) home = search.installation.java_home = JavaHomeInPath(search.environment);
  search.installation.jvm_folder = JvmFolder(home);
  if (!search.installation.jvm_folder.empty()) return;
  search.notes.push_back(absl::StrCat(
      "there is no libjvm.so ",
      home.empty() ? "since neither JAVA_HOME nor PATH has a Java" : absl::StrCat("in ", home),
      "; a program that reads hdfs:// by libhdfs needs JAVA_HOME (tony.execution.envs)"));
}

void FindLibrary(const std::string& working_folder, Search& search) {
  search.installation.libhdfs_of_job = IsThere(working_folder + "/libhdfs.so");
  if (search.installation.libhdfs_of_job) {
    search.installation.libhdfs_folder = working_folder;
    return;
  }
  for (const std::string& home : {search.installation.home, search.Value("HADOOP_HOME"),
                                  search.Value("HADOOP_COMMON_HOME")}) {
    const std::string folder = home + "/lib/native";
    if (home.empty() || !IsThere(folder + "/libhdfs.so")) continue;
    search.installation.libhdfs_folder = folder;
    return;
  }
}

void FindClassPath(const std::string& command, const std::string& cache_folder, Duration limit,
                   Search& search) {
  if (!search.Value("CLASSPATH").empty()) return;
  constexpr char kAdvice[] =
      "; a program that reads hdfs:// by libhdfs needs a CLASSPATH of its own "
      "(tony.execution.envs)";
  if (command.empty()) {
    search.notes.push_back(
        absl::StrCat("there is no command hadoop in PATH, nor below HADOOP_HDFS_HOME", kAdvice));
    return;
  }
  auto class_path = ClassPathOfNode(command, search.environment, cache_folder, limit);
  if (class_path.ok()) {
    search.installation.class_path = *std::move(class_path);
  } else {
    search.notes.push_back(absl::StrCat(
        "Hadoop's class path is not known: ", std::string(class_path.status().message()), kAdvice));
  }
}

}  // namespace

// The class path comes last: it is the only step that runs a program.
HadoopEnvironment FindHadoop(const core::Environment& environment, const std::string& cache_folder,
                             const std::string& working_folder, Duration limit) {
  if (!core::IsHadoopConfigured(environment) || core::SkipsHadoop(environment)) return {};
  Search search{.environment = environment, .installation = {}, .notes = {}};
  const std::string command = hadoop::FindHadoopCommand(environment);
  FindHome(command, search);
  FindJava(search);
  FindLibrary(working_folder, search);
  FindClassPath(command, cache_folder, limit, search);
  return {core::HadoopVariables(environment, search.installation), std::move(search.notes)};
}

}  // namespace tony::executor
