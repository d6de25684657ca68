// Loads CUDA's driver library on demand.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/cuda_types.h"

namespace tony::collective {

/// The functions of libcuda. It is part of the machine's driver, and one libcuda serves all
/// versions of CUDA's runtime that frameworks bring along. Thread safe.
class CudaDriver {
 public:
  /// Loads `file`, a path or a name for the loader. FailedPrecondition – there is no such library,
  /// it lacks a function, or the process sees no GPU.
  static Result<std::shared_ptr<const CudaDriver>> Load(const std::string& file);

  /// Turns a result into a status; its message is "cannot `what`" and CUDA's own text.
  /// ResourceExhausted – CUDA has no memory. Internal – any other error.
  Status Check(CudaResult result, const std::string& what) const;
  std::string NameOf(CudaResult result) const;

  int devices() const { return devices_; }
  /// The newest CUDA version that the driver supports, like "13.0".
  std::string version() const;

#define TONY_MEMBER(member, symbol, ...) CudaResult (*member)(__VA_ARGS__) = nullptr;
  TONY_CUDA_FUNCTIONS(TONY_MEMBER)
#undef TONY_MEMBER

 private:
  Status FindGpus();

  int devices_ = 0;
  int version_ = 0;
};

}  // namespace tony::collective
