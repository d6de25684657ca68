// The table of tony-portal's options.
#include "portal/options.h"

#include <chrono>
#include <cstdlib>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command_line.h"
#include "common/option_store.h"
#include "common/port_number.h"
#include "common/status_macros.h"

namespace tony::portal {
namespace {

constexpr char kUsage[] =
    "tony-portal is started by `tony portal`, with --location= for each folder of jobs and with "
    "--index=";

/// Of a call to a cluster.
constexpr std::chrono::seconds kDefaultTimeout{10};

/// An absolute path without a slash at its end, so that two spellings of one folder are equal.
absl::StatusOr<std::string> ParseFolder(const std::string& text) {
  if (!absl::StartsWith(text, "/")) {
    return absl::InvalidArgumentError("not an absolute path of this machine");
  }
  std::string folder = text;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

OptionTable TableOf(Options& options, std::chrono::milliseconds& timeout) {
  return {
      {.name = "location",
       .value = "FOLDER",
       .repeatable = true,
       .meaning = "a folder that holds `jobs`, like that of tony.local.dir",
       .required = true,
       .store = StoreItem(options.locations, &ParseFolder)},
      {.name = "index",
       .value = "FOLDER",
       .meaning = "the folder for the index",
       .required = true,
       .store = StoreParsed(options.index_folder, &ParseFolder)},
      {.name = "port",
       .value = "PORT",
       .meaning = "the port on 127.0.0.1; any free one unless given",
       .store = StoreNumber(options.port, "a port", 1, kLargestPort)},
      {.name = "hadoop-conf",
       .value = "FOLDER",
       .meaning = "the configuration of a cluster whose jobs are shown, too",
       .store = StoreParsed(options.cluster.conf_dir, &ParseFolder)},
      {.name = "hadoop-staging",
       .value = "PLACE",
       .meaning = "tony.yarn.staging-dir",
       .store = StoreText(options.cluster.staging_dir)},
      {.name = "hadoop-user",
       .value = "NAME",
       .meaning = "the user there",
       .store = StoreText(options.cluster.user)},
      {.name = "hadoop-home",
       .value = "FOLDER",
       .meaning = "the user's home on this machine",
       .store = StoreText(options.cluster.home)},
      {.name = "hadoop-tokens",
       .value = "FILE",
       .meaning = "tokens to authenticate with",
       .store = StoreText(options.cluster.token_file)},
      {.name = "hadoop-timeout-ms",
       .value = "MILLISECONDS",
       .meaning = "for each call to the cluster",
       .store = StoreMilliseconds(timeout, 1)},
      {.name = "json", .meaning = "print the address as JSON", .store = StoreFlag(options.json)},
      {.name = "log-level",
       .value = "LEVEL",
       .meaning = "the lowest level that is logged",
       .store = StoreParsed(options.log_level, &ParseLogLevel)},
  };
}

}  // namespace

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::make_optional<std::string>(value);
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  std::chrono::milliseconds timeout = kDefaultTimeout;
  TONY_RETURN_IF_ERROR(tony::ParseOptions(TableOf(options, timeout),
                                          {std::next(arguments.begin()), arguments.end()}, kUsage));
  options.cluster.timeout = timeout;
  return options;
}

}  // namespace tony::portal
