// CUDA's driver, loaded when it is asked for.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/cuda_types.h"

namespace tony::collective {

/// The functions of libcuda, which is part of the machine's driver: there is one for all versions
/// of CUDA's runtime that frameworks bring along. Thread safe.
class CudaDriver {
 public:
  /// FailedPrecondition: no library, a function is missing, no GPU.
  static Result<std::shared_ptr<const CudaDriver>> Load(const std::string& file);

  /// Ok, or "cannot `what`: " and what CUDA says. ResourceExhausted: of memory; Internal.
  Status Check(CudaResult result, const std::string& what) const;
  std::string NameOf(CudaResult result) const;

  int devices() const { return devices_; }
  /// The newest version of CUDA that it runs: "13.0".
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
