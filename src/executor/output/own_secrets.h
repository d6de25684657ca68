// Removes from a container's token file what the user's program must not see.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hadoop/auth/token_file.h"

namespace tony::executor {

/// Returns `store` without tony's own secrets (`credentials_secret` among them) and without the
/// tokens that speak for an ApplicationMaster. The rest belongs to the job: rights to files, and
/// secrets that its owner added.
hadoop::TokenStore ForProgram(const hadoop::TokenStore& store,
                              const std::string& credentials_secret);

/// Replaces the token file at `path` by the part for the program. The program runs as the same user
/// as the executor and finds the file by HADOOP_TOKEN_FILE_LOCATION. Mode 0600. The codes of
/// hadoop::ReadTokenFile and WriteTokenFile; the messages say that the program would see secrets.
absl::Status RemoveOwnSecrets(const std::string& path, const std::string& credentials_secret);

}  // namespace tony::executor
