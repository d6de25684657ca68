// What of a container's token file is not for the user's program.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hadoop/auth/token_file.h"

namespace tony::executor {

/// `store` without tony's own secrets, the one called `credentials_secret` among them, and without
/// the tokens that speak for an ApplicationMaster. What is left is the job's: rights to files, and
/// secrets that its owner has given along.
hadoop::TokenStore ForProgram(const hadoop::TokenStore& store,
                              const std::string& credentials_secret);

/// Replaces the token file at `path` by what is for the program, which runs as the same user as the
/// executor, and finds the file where HADOOP_TOKEN_FILE_LOCATION says. Mode 0600. The codes of
/// hadoop::ReadTokenFile and WriteTokenFile; the messages say that the program would see secrets.
absl::Status RemoveOwnSecrets(const std::string& path, const std::string& credentials_secret);

}  // namespace tony::executor
