// The command line of tony-portal, as `tony portal` fills it in.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"
#include "portal/shared_use.h"

namespace tony::portal {

/// Plain data.
struct Options {
  std::vector<std::string> locations;  ///< folders that hold `jobs`, the first one the user's own
  std::vector<std::string> tony_histories;  ///< folders of TonY's histories
  std::string index_folder;                 ///< made if it is missing
  int port = 0;                             ///< 0: any free one
  bool json = false;                        ///< the address is printed as JSON
  LogLevel log_level = LogLevel::kWarning;
  SharedUse shared;
  std::string add_user;  ///< "NAME:ROLE": only a line for a file of users is printed
};

/// `arguments` begins with the program's name. InvalidArgument – a flag is missing or unknown, or
/// its value is invalid, or what is given for several users does not fit together.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tony::portal
