// Fills the table of functions by name, and checks the version before them.
#include "collective/gpu/nccl_library.h"

#include "collective/gpu/shared_library.h"

namespace tony::collective {

std::string NcclVersionText(int version) {
  // Version numbers have two more digits from 2.9 on.
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

Result<std::shared_ptr<const NcclLibrary>> NcclLibrary::Load(const std::string& file) {
  auto library = SharedLibrary::Open(file);
  if (!library.ok()) {
    return Status(Code::kFailedPrecondition,
                  "GPUs cannot be reduced on, there is no NCCL: " + library.status().message() +
                      "; install it (the Python package nvidia-nccl-cu12 or -cu13), or set "
                      "TONY_NCCL_LIBRARY to its libnccl.so.2");
  }
  const auto nccl = std::make_shared<NcclLibrary>();
  const std::string path = library->PathOf("ncclGetVersion");
  const char* missing = nullptr;
  const auto find = [&](const char* symbol, auto* function) {
    library->Find(symbol, function);
    if (*function == nullptr && missing == nullptr) missing = symbol;
  };
  // The version comes first: an NCCL that is too old lacks functions, and the message should name
  // its version and not a function.
  find("ncclGetVersion", &nccl->get_version_);
  const bool answers = missing == nullptr && nccl->get_version_(&nccl->version_) == kNcclSuccess;
  if (answers && nccl->version_ < kNcclOldest) {
    return Status(Code::kFailedPrecondition, path + " is NCCL " + nccl->version() +
                                                 ", but at least " + NcclVersionText(kNcclOldest) +
                                                 " is needed: install a newer one, or set "
                                                 "TONY_NCCL_LIBRARY to its libnccl.so.2");
  }
  find("ncclGetErrorString", &nccl->get_error_string_);
  find("ncclGetLastError", &nccl->get_last_error_);
#define TONY_FIND(member, symbol, ...) find(#symbol, &nccl->member);
  TONY_NCCL_FUNCTIONS(TONY_FIND)
#undef TONY_FIND
  if (missing != nullptr || !answers) {
    return Status(Code::kFailedPrecondition,
                  path +
                      (missing != nullptr ? std::string(" has no function ") + missing
                                          : std::string(" does not say its version")) +
                      ": it is no NCCL; set TONY_NCCL_LIBRARY to a libnccl.so.2");
  }
  return std::shared_ptr<const NcclLibrary>(nccl);
}

Result<std::string> NcclLibrary::CreateUniqueId() const {
  NcclUniqueId id = {};
  const NcclResult result = GetUniqueId(&id);
  if (result != kNcclSuccess) {
    return Status(Code::kInternal,
                  "NCCL cannot listen for the other ranks: " + NameOf(result, nullptr) +
                      "; NCCL_SOCKET_IFNAME chooses another network");
  }
  return std::string(id.bytes, sizeof(id.bytes));
}

std::string NcclLibrary::NameOf(NcclResult result, NcclComm comm) const {
  const char* const text = get_error_string_(result);
  std::string name = text != nullptr ? text : "NCCL error " + std::to_string(result);
  const char* const last = get_last_error_(comm);
  if (last != nullptr && *last != '\0') name += std::string(" (") + last + ")";
  return name;
}

std::string NcclLibrary::version() const { return NcclVersionText(version_); }

}  // namespace tony::collective
