// What a NodeManager is told to start in a container.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/launch.pb.h"

namespace tony::backend {

/// A file that a node fetches for a container before it is started.
struct LocalResource {
  enum class Type { kFile, kArchive };  ///< an archive is unpacked into a folder
  enum class Visibility {
    kPrivate,      ///< kept for all applications of the user
    kApplication,  ///< for this one
    kPublic,       ///< for everybody; all may read it where it comes from
  };
  std::string name;  ///< in the container's working folder
  // Its URL; a host is not needed where the scheme has a default.
  std::string scheme;  ///< "hdfs", "file", …
  std::string host;
  int port = 0;
  std::string path;
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< has to be the file's; 0 for http
  Type type = Type::kFile;
  Visibility visibility = Visibility::kApplication;
};

/// What all containers of a job are started with. A plain value.
struct LaunchTemplate {
  std::vector<std::string> command;  ///< before the executor's own arguments, as it is: no shell
  std::vector<std::string> environment;  ///< "NAME=value"; a LaunchContext's own come before
  std::vector<LocalResource> resources;
  /// The container's credentials, a token file's bytes, from a LaunchContext's secret; no function:
  /// none.
  std::function<absl::StatusOr<std::string>(const std::string& secret)> tokens;
  std::string log = "executor.log";  ///< where its output goes, among the container's logs
  /// Who may see the logs, and who may change something: "users groups", each with commas; "*".
  std::string view_acl;
  std::string modify_acl;
};

/// The variables by which a NodeManager makes a container of `image`, with `mounts`
/// ("source:destination:mode").
std::vector<std::string> DockerEnvironment(const std::string& image,
                                           const std::vector<std::string>& mounts);

/// `text` as one word of a NodeManager's command line, which YARN searches for its own variables
/// and gives, in double quotes, to one shell that gives it to another.
std::string LaunchWord(const std::string& text);

/// `text` as the value of a variable, which YARN searches too and puts in double quotes.
std::string LaunchValue(const std::string& text);

/// The errors of `tokens`.
absl::StatusOr<::hadoop::yarn::ContainerLaunchContextProto> MakeLaunchContext(
    const LaunchTemplate& launch, const core::LaunchContext& context);

}  // namespace tony::backend
