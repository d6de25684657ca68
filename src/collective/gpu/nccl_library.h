// Loads NCCL's library on demand.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/nccl_types.h"

namespace tony::collective {

/// The functions of libnccl. Thread safe.
class NcclLibrary {
 public:
  /// Loads `file`, a path or a name for the loader. FailedPrecondition – there is no such library,
  /// it is older than 2.14, or it lacks a function.
  static Result<std::shared_ptr<const NcclLibrary>> Load(const std::string& file);

  /// Makes the unique id of a communicator. One rank calls it and hands the id to all others. The
  /// id is a secret, since whoever has it can join. From the call on, this process listens for the
  /// other ranks. Internal – NCCL cannot listen.
  Result<std::string> CreateUniqueId() const;

  /// NCCL's text for `result`, and its last error for `comm`, which may be null.
  std::string NameOf(NcclResult result, NcclComm comm) const;
  /// The version, like "2.28.9".
  std::string version() const;
  /// The version as in NCCL's headers, like 22809.
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

/// The text of a version number: "2.14.0" for 21400.
std::string NcclVersionText(int version);

}  // namespace tony::collective
