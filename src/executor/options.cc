// The table of tony-executor's options. The launcher is part of tony, so anything unknown is an
// error, not a warning.
#include "executor/options.h"

#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/command_line.h"
#include "common/option_store.h"
#include "common/overlay_variables.h"
#include "common/status_macros.h"
#include "executor/setup/container_folders.h"
#include "hadoop/auth/token_file.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::executor {
namespace {

constexpr char kUsage[] =
    "tony-executor is started by tony, with --container-id=, --master=, and --credentials=, "
    "--credentials-secret= or --credentials-fd=; or by a launcher, with --voucher-fd= and --host=";

absl::StatusOr<os::ContainmentWay> ParseContainment(const std::string& name) {
  const std::optional<os::ContainmentWay> way = os::ParseContainmentWay(name);
  if (way) return *way;
  return absl::InvalidArgumentError("not a way of containment that is known");
}

/// Converts MiB to bytes. The upper limit keeps the number of bytes within int64_t.
absl::StatusOr<int64_t> ParseMegabytes(const std::string& text) {
  constexpr int64_t kMostMegabytes = int64_t{1} << 40;
  TONY_ASSIGN_OR_RETURN(const int64_t megabytes,
                        ParseNumber<int64_t>(text, "a number of MiB", 0, kMostMegabytes));
  return megabytes << 20;
}

absl::StatusOr<std::vector<int>> ParseGpus(const std::string& text) {
  std::vector<int> gpus;
  for (const absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    TONY_ASSIGN_OR_RETURN(gpus.emplace_back(),
                          ParseNumber<int>(std::string(item), "the index of a GPU"));
  }
  return gpus;
}

/// Whether the options are those of one of the two ways to start an executor.
bool AreComplete(const Options& options) {
  const int credentials = static_cast<int>(!options.credentials_file.empty()) +
                          static_cast<int>(!options.credentials_secret.empty()) +
                          static_cast<int>(options.credentials_fd >= 0);
  if ((options.tied_to_pid > 0) != (options.tied_to_start > 0)) return false;
  if (options.voucher_fd >= 0) return credentials == 0 && !options.host.empty();
  return credentials == 1 && !options.container_id.empty() && !options.master_address.empty();
}

// Longer than 60 lines because it is a table with a row for each option.
OptionTable TableOf(Options& options) {
  return {
      {.name = "container-id",
       .value = "ID",
       .meaning = "the id of the container that this process runs",
       .store = StoreText(options.container_id)},
      {.name = "master",
       .value = "HOST:PORT",
       .meaning = "the address of the ApplicationMaster",
       .store = StoreText(options.master_address)},
      {.name = "address-file",
       .value = "FILE",
       .meaning = "will contain the next ApplicationMaster's address, if this one is lost",
       .store = StoreText(options.address_file)},
      {.name = "address-command",
       .value = "COMMAND",
       .meaning = "prints the next ApplicationMaster's address; split at blanks",
       .store = StoreList(options.address_command, ' ')},
      {.name = "credentials",
       .value = "FILE",
       .meaning = "the executor's own credentials",
       .store = StoreText(options.credentials_file)},
      {.name = "credentials-secret",
       .value = "NAME",
       .meaning = "the secret of Hadoop's token file that holds the credentials",
       .store = StoreText(options.credentials_secret)},
      {.name = "credentials-fd",
       .value = "NUMBER",
       .meaning = "a pipe that holds the executor's own credentials",
       .store = StoreNumber(options.credentials_fd, "a descriptor")},
      {.name = "voucher-fd",
       .value = "NUMBER",
       .meaning = "a descriptor with the voucher that a launcher was given for this executor",
       .store = StoreNumber(options.voucher_fd, "a descriptor")},
      {.name = "host",
       .value = "ADDRESS",
       .meaning = "with --voucher-fd: the address at which other tasks reach this container",
       .store = StoreText(options.host)},
      {.name = "gpus",
       .value = "NUMBERS",
       .meaning = "with --voucher-fd: the indices of the container's GPUs, separated by commas",
       .store = StoreParsed(options.gpus, &ParseGpus)},
      {.name = "tied-to-pid",
       .value = "PID",
       .meaning = "end when this process ends",
       .store = StoreNumber(options.tied_to_pid, "a process id", 1)},
      {.name = "tied-to-start",
       .value = "TICKS",
       .meaning = "when that process was started: field 22 of /proc/PID/stat",
       .store = StoreNumber(options.tied_to_start, "a number of clock ticks")},
      {.name = "tells-its-end",
       .meaning =
           "tell the ApplicationMaster that this executor ends, since nobody else may see it",
       .store = StoreFlag(options.tells_its_end)},
      {.name = "environment-file",
       .value = "FILE",
       .meaning =
           "variables that replace those of this process: NAME=value, each with a NUL behind",
       .store = StoreText(options.environment_file)},
      {.name = "registry-timeout-ms",
       .value = "NUMBER",
       .meaning = "the limit in milliseconds for the ApplicationMaster's first answer; 0: none",
       .store = StoreMilliseconds(options.registry_timeout, 0)},
      {.name = "containment",
       .value = "WAY",
       .meaning = "how the program is contained: auto, cgroup, namespace or process-tree",
       .store = StoreParsed(options.containment.way, &ParseContainment)},
      {.name = "memory-mb",
       .value = "NUMBER",
       .meaning = "the limit in MiB for the program and everything that it starts; 0: none",
       .store = StoreParsed(options.containment.memory_bytes, &ParseMegabytes)},
      {.name = "open-files",
       .value = "NUMBER",
       .meaning = "the program's soft limit on open files; 0: this process's own",
       .store = StoreNumber(options.open_files, "a number of open files")},
      {.name = "silence-note-ms",
       .value = "NUMBER",
       .meaning = "report it when the program writes nothing for this many milliseconds; 0: never",
       .store = StoreMilliseconds(options.silence_note, 0)},
      {.name = "log-level",
       .value = "LEVEL",
       .meaning = "the lowest level that is logged",
       .store = StoreParsed(options.log_level, &ParseLogLevel)},
      {.name = "collective-package",
       .meaning = "add the folder of tony.collective to the program's PYTHONPATH",
       .store = StoreFlag(options.collective_package)},
      {.name = "stacks",
       .meaning = "let the program's Python processes write their stacks when they are asked to",
       .store = StoreFlag(options.stacks)},
  };
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment) {
  Options options;
  options.token_file = Variable(environment, "HADOOP_TOKEN_FILE_LOCATION");
  TONY_RETURN_IF_ERROR(tony::ParseOptions(TableOf(options),
                                          {std::next(arguments.begin()), arguments.end()}, kUsage));
  if (!AreComplete(options)) return absl::InvalidArgumentError(kUsage);
  return options;
}

absl::Status AddVariables(const Options& options, std::vector<std::string>& environment) {
  if (options.environment_file.empty()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(options.environment_file));
  environment = OverlaidVariables(environment, absl::StrSplit(text, '\0', absl::SkipEmpty()));
  return absl::OkStatus();
}

absl::StatusOr<rpc::Credentials> ReadCredentials(const Options& options) {
  if (!options.credentials_file.empty()) return rpc::LoadCredentials(options.credentials_file);
  if (options.credentials_fd >= 0) {
    const os::UniqueFd pipe(options.credentials_fd);
    TONY_ASSIGN_OR_RETURN(std::string text,
                          os::ReadFile(absl::StrCat("/proc/self/fd/", options.credentials_fd)));
    return rpc::ParseCredentials(std::move(text), "--credentials-fd");
  }
  TONY_ASSIGN_OR_RETURN(const hadoop::TokenStore store, hadoop::ReadTokenFile(options.token_file));
  for (const auto& [name, secret] : store.secrets) {
    if (name == options.credentials_secret) return rpc::ParseCredentials(secret, name);
  }
  return absl::NotFoundError(
      absl::StrCat(options.token_file, " has no secret ", options.credentials_secret));
}

}  // namespace tony::executor
