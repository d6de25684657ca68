// What tony-executor is told on its command line by whoever launches it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/containment/containment_choice.h"
#include "rpc/security/credentials.h"

namespace tony::executor {

struct Options {
  std::string container_id;
  std::string master_address;  ///< "host:port"
  // Where the next one's is found should this one be lost; both may be empty.
  std::string address_file;
  std::vector<std::string> address_command;  ///< see AddressCommand
  // The executor's own credentials, of the role executor/<container id>: one of the two.
  std::string credentials_file;
  std::string credentials_secret;  ///< a secret's name in `token_file`
  std::string token_file;          ///< Hadoop's, by HADOOP_TOKEN_FILE_LOCATION; may be empty
  std::chrono::milliseconds registry_timeout{
      0};                              ///< for the ApplicationMaster's first answer; 0: none
  os::ContainmentOptions containment;  ///< how the program is held, and to how much memory
  uint64_t open_files = 0;             ///< the program's soft limit; 0: this process's own
  bool collective_package = false;     ///< it finds tony.collective by PYTHONPATH
};

/// `arguments` begins with the program's name; `environment` is "NAME=value". InvalidArgument – a
/// flag is missing, unknown, no number or no way of containment.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment);

/// What the executor proves itself by. The codes of rpc::LoadCredentials; NotFound – there is no
/// such secret.
absl::StatusOr<rpc::Credentials> ReadCredentials(const Options& options);

}  // namespace tony::executor
