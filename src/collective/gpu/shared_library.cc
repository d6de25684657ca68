// Uses dlopen, dlsym and dladdr. RTLD_LOCAL keeps the library's symbols out of the user's program.
#include "collective/gpu/shared_library.h"

#include <dlfcn.h>

namespace tony::collective {

Result<SharedLibrary> SharedLibrary::Open(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(file, handle);
  return Status(Code::kFailedPrecondition, dlerror());
}

void* SharedLibrary::Address(const char* name) const { return dlsym(handle_, name); }

std::string SharedLibrary::PathOf(const char* name) const {
  void* const address = Address(name);
  Dl_info info;
  const bool known = address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : file_;
}

}  // namespace tony::collective
