// dlopen once, for the life of the process.
#include "hadoop/gssapi_library.h"

#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace tony::hadoop {
namespace {

constexpr char kFile[] = "libgssapi_krb5.so.2";

absl::StatusOr<GssapiLibrary> LoadOnce() {
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("this cluster wants Kerberos, and ", kFile,
                     " cannot be loaded; install it (package libgssapi-krb5-2): ", dlerror()));
  }
  GssapiLibrary functions;
  const char* missing = nullptr;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find(&functions.import_name, "gss_import_name");
  find(&functions.release_name, "gss_release_name");
  find(&functions.init_sec_context, "gss_init_sec_context");
  find(&functions.delete_sec_context, "gss_delete_sec_context");
  find(&functions.release_buffer, "gss_release_buffer");
  find(&functions.display_status, "gss_display_status");
  find(&functions.wrap, "gss_wrap");
  find(&functions.unwrap, "gss_unwrap");
  find(&functions.wrap_size_limit, "gss_wrap_size_limit");
  if (missing == nullptr) return functions;
  return absl::FailedPreconditionError(absl::StrCat(kFile, " has no function ", missing));
}

}  // namespace

absl::StatusOr<const GssapiLibrary*> GssapiLibrary::Load() {
  static const auto* const loaded = new absl::StatusOr<GssapiLibrary>(LoadOnce());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace tony::hadoop
