// The command line of tony-portal, as `tony portal` fills it in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/logging.h"
#include "portal/mirror/hdfs_location.h"
#include "portal/shared_use.h"

namespace tony::portal {

/// Plain data.
struct Options {
  std::vector<std::string> locations;        ///< folders of this machine that hold `jobs`
  std::vector<HdfsLocation> hdfs_locations;  ///< such folders in an HDFS
  std::vector<std::string> tony_histories;   ///< folders of TonY's histories
  std::string index_folder;                  ///< made if it is missing
  int port = 0;                              ///< 0: any free one
  bool json = false;                         ///< the address is printed as JSON
  LogLevel log_level = LogLevel::kWarning;
  /// Hadoop's configuration, and the user there; `conf_dir` is empty where there is none.
  backend::YarnClusterOptions cluster;
  bool with_cluster = false;  ///< the jobs of `cluster` are shown, too
  SharedUse shared;
  std::string metrics_token_file;  ///< empty: no program reads metrics with a token
  std::string add_user;            ///< "NAME:ROLE": only a line for a file of users is printed
};

/// The value of a variable of this process, which Hadoop's configuration refers to as ${env.NAME}.
std::optional<std::string> EnvironmentVariable(const std::string& name);

/// `arguments` begins with the program's name. InvalidArgument – a flag is missing or unknown, or
/// its value is invalid, or what is given for several users does not fit together.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tony::portal
