// Parsing of the executor's flags, each "--name=value".
#include "executor/options.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tony::executor {

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  std::string registry_timeout = "0";
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    auto take = [&](const std::string& name, std::string& target) {
      const std::string prefix = absl::StrCat("--", name, "=");
      if (!absl::StartsWith(argument, prefix)) return false;
      target = argument.substr(prefix.size());
      return true;
    };
    if (!take("container-id", options.container_id) && !take("master", options.master_address) &&
        !take("address-file", options.address_file) &&
        !take("credentials", options.credentials_file) &&
        !take("registry-timeout-ms", registry_timeout)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument ", argument));
    }
  }
  if (options.container_id.empty() || options.master_address.empty() ||
      options.credentials_file.empty()) {
    return absl::InvalidArgumentError(
        "tony-executor is started by tony, with --container-id=, --master= and --credentials=");
  }
  int64_t millis = 0;
  if (!absl::SimpleAtoi(registry_timeout, &millis) || millis < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--registry-timeout-ms=", registry_timeout, ": not a number of milliseconds"));
  }
  options.registry_timeout = std::chrono::milliseconds(millis);
  return options;
}

}  // namespace tony::executor
