// A look at the file that each ApplicationMaster replaces, and the last one removes.
#include "appmaster/look_up.h"

#include <memory>

#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"
#include "hadoop/token_file.h"

namespace tony::appmaster {

absl::StatusOr<std::string> LookUpMaster(const Options::Yarn& yarn) {
  TONY_ASSIGN_OR_RETURN(const hadoop::TokenStore tokens, hadoop::ReadTokenFile(yarn.token_file));
  TONY_ASSIGN_OR_RETURN(const v1::YarnJob job, backend::ReadYarnJob(tokens));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<backend::JobFiles> files,
                        backend::OpenJobFolder(job, tokens));
  return files->Read(backend::kAddressFile);
}

}  // namespace tony::appmaster
