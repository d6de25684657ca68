// The command line of tony-executor, as its launcher fills it in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"
#include "os/containment/containment_choice.h"
#include "rpc/security/credentials.h"

namespace tony::executor {

struct Options {
  std::string container_id;
  std::string master_address;  ///< the ApplicationMaster's "host:port"
  // Sources for the address of the next ApplicationMaster, in case this one is lost; both may be
  // empty.
  std::string address_file;
  std::vector<std::string> address_command;  ///< see AddressCommand
  // The executor's own credentials, with the role executor/<container id>; exactly one of the three
  // is set, and none with a voucher.
  std::string credentials_file;
  std::string credentials_secret;  ///< name of a secret in `token_file`
  int credentials_fd = -1;         ///< a pipe with the text
  std::string token_file;  ///< Hadoop's token file, from HADOOP_TOKEN_FILE_LOCATION; may be empty
  std::string environment_file;  ///< variables in addition to the environment; empty: none
  std::chrono::milliseconds registry_timeout{
      0};                              ///< limit for the ApplicationMaster's first answer; 0: none
  os::ContainmentOptions containment;  ///< how the program is contained, and its memory limit
  uint64_t open_files = 0;             ///< soft limit of the program; 0: the limit of this process
  LogLevel log_level = LogLevel::kInfo;
  /// How long the program may write nothing before that is reported to the ApplicationMaster; 0:
  /// for ever.
  std::chrono::milliseconds silence_note{0};
  // Only for an executor that an external launcher has started; see docs/design/launcher.md.
  int voucher_fd = -1;    ///< has the voucher; the rest comes from the ApplicationMaster; -1: none
  std::string host;       ///< the address at which other tasks reach this container
  std::vector<int> gpus;  ///< indices of its devices
  int tied_to_pid = 0;    ///< the process whose end ends this one; 0: none
  int64_t tied_to_start = 0;        ///< when that was started, in clock ticks since the boot
  bool tells_its_end = false;       ///< nobody else may see it
  bool collective_package = false;  ///< adds the folder of tony.collective to PYTHONPATH
  bool stacks = false;  ///< lets Python programs write their stacks when they are asked to
};

/// `arguments` begins with the program's name; `environment` is "NAME=value". InvalidArgument – a
/// flag is missing, unknown, not a number or not a way of containment.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment);

/// Lays the variables of `options.environment_file` over `environment` ("NAME=value"). The codes of
/// os::ReadFile().
absl::Status AddVariables(const Options& options, std::vector<std::string>& environment);

/// The credentials by which the executor authenticates itself. The codes of rpc::LoadCredentials;
/// NotFound – there is no such secret.
absl::StatusOr<rpc::Credentials> ReadCredentials(const Options& options);

}  // namespace tony::executor
