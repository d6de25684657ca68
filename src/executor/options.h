// What tony-executor is told on its command line by whoever launches it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/containment_choice.h"

namespace tony::executor {

struct Options {
  std::string container_id;
  std::string master_address;  ///< "host:port"
  std::string
      address_file;  ///< where the next one's is found should this one be lost; may be empty
  std::string credentials_file;  ///< of the role executor/<container id>
  std::chrono::milliseconds registry_timeout{
      0};                              ///< for the ApplicationMaster's first answer; 0: none
  os::ContainmentOptions containment;  ///< how the program is held, and to how much memory
};

/// `arguments` begins with the program's name. InvalidArgument – a flag is missing, unknown, no
/// number or no way of containment.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tony::executor
