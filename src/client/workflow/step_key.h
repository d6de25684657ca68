// The key of a step of a workflow, which all attempts of the step share.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::client {

/// The key of the step that `parts` name: "airflow", DAG, task, run, map index. `%` and `|` in a
/// part are escaped, so that no two steps have one key.
std::string JoinStepKey(const std::vector<std::string>& parts);

/// InvalidArgument – the key is empty, longer than 1,000 bytes, or has characters that no terminal
/// shows; the message says what to give.
absl::Status CheckStepKey(const std::string& key);

/// The name of the step's folder: 32 hexadecimal digits. Internal – OpenSSL has no SHA-256.
absl::StatusOr<std::string> StepDigest(const std::string& key);

}  // namespace tony::client
