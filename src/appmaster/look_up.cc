// Reads the address file that each ApplicationMaster replaces and the last one removes.
#include "appmaster/look_up.h"

#include <memory>

#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_file.h"

namespace tony::appmaster {
namespace {

/// Converts any error to FailedPrecondition, because NotFound would mean that the job is over.
absl::Status Unknown(const absl::Status& status) {
  return absl::FailedPreconditionError(status.message());
}

}  // namespace

absl::StatusOr<std::string> FindMaster(const Options::Yarn& yarn) {
  const absl::StatusOr<hadoop::TokenStore> tokens = hadoop::ReadTokenFile(yarn.token_file);
  if (!tokens.ok()) return Unknown(tokens.status());
  const absl::StatusOr<v1::YarnJob> job = backend::ReadYarnJob(*tokens);
  if (!job.ok()) return Unknown(job.status());
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files,
                        backend::OpenJobFolder(*job, *tokens));
  return files->Read(backend::kAddressFile);
}

}  // namespace tony::appmaster
