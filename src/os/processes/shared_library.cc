// A library stays open until the process ends, since its functions may run at any time until then.
#include "os/processes/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace tony::os {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(std::initializer_list<const char*> files,
                                                  const std::string& need,
                                                  const std::string& package) {
  std::string reasons;
  for (const char* const file : files) {
    // RTLD_NOW reports an incomplete installation here, and not in the middle of a call.
    void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(file, handle);
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", dlerror());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      need, ", and that cannot be loaded; install it (package ", package, "): ", reasons));
}

void* SharedLibrary::Address(const char* name) {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) {
    status_.Update(absl::FailedPreconditionError(absl::StrCat(file_, " has no function ", name)));
  }
  return address;
}

}  // namespace tony::os
