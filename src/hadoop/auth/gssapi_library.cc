// The first Load() opens the library; its result, an error too, stays for the life of the process.
#include "hadoop/auth/gssapi_library.h"

#include "common/status_macros.h"
#include "os/processes/shared_library.h"

namespace tony::hadoop {
namespace {

absl::StatusOr<GssapiLibrary> LoadOnce() {
  TONY_ASSIGN_OR_RETURN(
      os::SharedLibrary library,
      os::SharedLibrary::Open({"libgssapi_krb5.so.2"},
                              "this cluster wants Kerberos, which is spoken with libgssapi_krb5",
                              "libgssapi-krb5-2"));
  GssapiLibrary functions;
  library.Find("gss_import_name", &functions.import_name);
  library.Find("gss_release_name", &functions.release_name);
  library.Find("gss_init_sec_context", &functions.init_sec_context);
  library.Find("gss_delete_sec_context", &functions.delete_sec_context);
  library.Find("gss_release_buffer", &functions.release_buffer);
  library.Find("gss_display_status", &functions.display_status);
  library.Find("gss_wrap", &functions.wrap);
  library.Find("gss_unwrap", &functions.unwrap);
  library.Find("gss_wrap_size_limit", &functions.wrap_size_limit);
  TONY_RETURN_IF_ERROR(library.status());
  return functions;
}

}  // namespace

absl::StatusOr<const GssapiLibrary*> GssapiLibrary::Load() {
  static const auto* const loaded = new absl::StatusOr<GssapiLibrary>(LoadOnce());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace tony::hadoop
