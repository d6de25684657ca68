// Parses flags of the form "--name=value". The launcher is part of tony, so anything unknown is an
// error, not a warning.
#include "executor/options.h"

#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "executor/setup/container_folders.h"
#include "hadoop/auth/token_file.h"

namespace tony::executor {
namespace {

constexpr int64_t kMostMegabytes = int64_t{1}
                                   << 40;  // largest value whose number of bytes fits into int64_t

absl::Status CheckNothingIsMissing(const Options& options) {
  if (!options.container_id.empty() && !options.master_address.empty() &&
      options.credentials_file.empty() != options.credentials_secret.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "tony-executor is started by tony, with --container-id=, --master=, and --credentials= or "
      "--credentials-secret=");
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment) {
  Options options;
  options.token_file = Variable(environment, "HADOOP_TOKEN_FILE_LOCATION");
  std::string address_command;
  std::string registry_timeout = "0";
  std::string containment = "auto";
  std::string memory = "0";
  std::string open_files = "0";
  std::string log_level = LogLevelName(options.log_level);
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--collective-package") {
      options.collective_package = true;
      continue;
    }
    auto take = [&](const std::string& name, std::string& target) {
      const std::string prefix = absl::StrCat("--", name, "=");
      if (!absl::StartsWith(argument, prefix)) return false;
      target = argument.substr(prefix.size());
      return true;
    };
    if (!take("container-id", options.container_id) && !take("master", options.master_address) &&
        !take("address-file", options.address_file) && !take("address-command", address_command) &&
        !take("credentials", options.credentials_file) &&
        !take("credentials-secret", options.credentials_secret) &&
        !take("registry-timeout-ms", registry_timeout) && !take("containment", containment) &&
        !take("memory-mb", memory) && !take("open-files", open_files) &&
        !take("log-level", log_level)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument ", argument));
    }
  }
  TONY_RETURN_IF_ERROR(CheckNothingIsMissing(options));
  TONY_ASSIGN_OR_RETURN(options.log_level, ParseLogLevel(log_level));
  options.address_command = absl::StrSplit(address_command, ' ', absl::SkipEmpty());
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
  if (!absl::SimpleAtoi(open_files, &options.open_files)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--open-files=", open_files, ": not a number of open files"));
  }
  return options;
}

absl::StatusOr<rpc::Credentials> ReadCredentials(const Options& options) {
  if (!options.credentials_file.empty()) return rpc::LoadCredentials(options.credentials_file);
  TONY_ASSIGN_OR_RETURN(const hadoop::TokenStore store, hadoop::ReadTokenFile(options.token_file));
  for (const auto& [name, secret] : store.secrets) {
    if (name == options.credentials_secret) return rpc::ParseCredentials(secret, name);
  }
  return absl::NotFoundError(
      absl::StrCat(options.token_file, " has no secret ", options.credentials_secret));
}

}  // namespace tony::executor
