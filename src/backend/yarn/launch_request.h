// Builds the request by which a NodeManager starts a container's process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/launch.pb.h"

namespace tony::backend {

/// A file that a node fetches for a container before the container starts.
struct LocalResource {
  enum class Type { kFile, kArchive };  ///< an archive is unpacked into a folder
  enum class Visibility {
    kPrivate,      ///< kept for all applications of the user
    kApplication,  ///< kept for this application only
  };
  std::string name;  ///< in the container's working folder
  // The parts of its URL; `host` is not needed if the scheme has a default.
  std::string scheme;  ///< "hdfs", "file", …
  std::string host;
  int port = 0;
  std::string path;
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< must equal the file's time; 0 for http
  Type type = Type::kFile;
  Visibility visibility = Visibility::kApplication;
};

/// The parameters with which all containers of a job are started. A plain value.
struct LaunchTemplate {
  /// Precedes the executor's own arguments; used as it is, without a shell.
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< "NAME=value"; a LaunchContext's variables win
  std::vector<LocalResource> resources;
  /// Makes the container's credentials, the bytes of a token file, from a LaunchContext's secret.
  /// Empty function: no credentials.
  std::function<absl::StatusOr<std::string>(const std::string& secret)> tokens;
  std::string log = "executor.log";  ///< name of the output file among the container's logs
  /// Users who may see the logs and who may modify the application: "users groups", each separated
  /// by commas; or "*".
  std::string view_acl;
  std::string modify_acl;
};

/// The variables by which a NodeManager runs a container of the Docker image `image`, with `mounts`
/// ("source:destination:mode").
std::vector<std::string> DockerEnvironment(const std::string& image,
                                           const std::vector<std::string>& mounts);

/// `text` quoted as one word of a NodeManager's command line. YARN replaces its own marks in the
/// line and passes it, in double quotes, to one shell, which passes it to another.
std::string LaunchWord(const std::string& text);

/// `text` quoted as a variable's value; YARN replaces its marks there, too, and adds double quotes.
std::string LaunchValue(const std::string& text);

/// Fails with the errors of `launch.tokens`.
absl::StatusOr<::hadoop::yarn::ContainerLaunchContextProto> MakeLaunchContext(
    const LaunchTemplate& launch, const core::LaunchContext& context);

}  // namespace tony::backend
