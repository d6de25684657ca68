// Reads the variables; an empty one counts as unset.
#include "collective/gpu/options.h"

#include <cstdlib>

namespace tony::collective {
namespace {

void Replace(const char* variable, std::string* value) {
  const char* const set = std::getenv(variable);
  if (set != nullptr && *set != '\0') *value = set;
}

}  // namespace

GpuOptions GpuOptionsFromEnvironment() {
  GpuOptions options;
  Replace("TONY_CUDA_LIBRARY", &options.cuda_library);
  Replace("TONY_NCCL_LIBRARY", &options.nccl_library);
  return options;
}

}  // namespace tony::collective
