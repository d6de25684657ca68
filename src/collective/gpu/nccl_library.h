// NCCL, loaded when it is asked for.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/nccl_types.h"

namespace tony::collective {

/// The functions of libnccl. Thread safe.
class NcclLibrary {
 public:
  /// FailedPrecondition: no library, older than 2.14, a function is missing.
  static Result<std::shared_ptr<const NcclLibrary>> Load(const std::string& file);

  /// For one rank of a communicator, which hands it to all others: a secret, since whoever has it
  /// can join. From then on this process listens for them.
  Result<std::string> CreateUniqueId() const;

  /// What NCCL says of a result, and of the communicator, if any.
  std::string NameOf(NcclResult result, NcclComm comm) const;
  /// "2.28.9".
  std::string version() const;
  /// As NCCL's headers have it: 22809.
  int version_code() const { return version_; }

#define TONY_MEMBER(member, symbol, ...) NcclResult (*member)(__VA_ARGS__) = nullptr;
  TONY_NCCL_FUNCTIONS(TONY_MEMBER)
#undef TONY_MEMBER

 private:
  NcclResult (*get_version_)(int* version) = nullptr;
  const char* (*get_error_string_)(NcclResult result) = nullptr;
  const char* (*get_last_error_)(NcclComm comm) = nullptr;
  int version_ = 0;
};

/// "2.14.0" of 21400.
std::string NcclVersionText(int version);

}  // namespace tony::collective
