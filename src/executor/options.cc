// Parsing of the executor's flags, each "--name=value".
#include "executor/options.h"

#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tony::executor {
namespace {

constexpr int64_t kMostMegabytes = int64_t{1} << 40;  // whose bytes can be counted

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  std::string registry_timeout = "0";
  std::string containment = "auto";
  std::string memory = "0";
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
        !take("registry-timeout-ms", registry_timeout) && !take("containment", containment) &&
        !take("memory-mb", memory)) {
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
  const std::optional<os::ContainmentWay> way = os::ParseContainmentWay(containment);
  if (!way) {
    return absl::InvalidArgumentError(
        absl::StrCat("--containment=", containment, ": not a way of containment that is known"));
  }
  options.containment.way = *way;
  int64_t megabytes = 0;
  if (!absl::SimpleAtoi(memory, &megabytes) || megabytes < 0 || megabytes > kMostMegabytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--memory-mb=", memory, ": not a number of MiB"));
  }
  options.containment.memory_bytes = megabytes << 20;
  return options;
}

}  // namespace tony::executor
