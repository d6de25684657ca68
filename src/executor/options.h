// What tony-executor is told on its command line by whoever launches it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::executor {

struct Options {
  std::string container_id;
  std::string master_address;    ///< "host:port"
  std::string credentials_file;  ///< of the role executor/<container id>
};

/// InvalidArgument – a flag is missing or unknown.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

}  // namespace tony::executor
