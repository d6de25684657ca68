// The first Load() opens the library; its result, an error too, stays for the life of the process.
#include "http/curl_library.h"

#include "common/status_macros.h"
#include "os/processes/shared_library.h"

namespace tony::http {
namespace {

absl::StatusOr<CurlLibrary> LoadOnce() {
  // Both files have the same interface; one uses OpenSSL for TLS, the other GnuTLS.
  TONY_ASSIGN_OR_RETURN(os::SharedLibrary library,
                        os::SharedLibrary::Open({"libcurl.so.4", "libcurl-gnutls.so.4"},
                                                "HTTP is spoken with libcurl", "libcurl4"));
  CurlLibrary functions;
  library.Find("curl_easy_init", &functions.easy_init);
  library.Find("curl_easy_setopt", &functions.easy_setopt);
  library.Find("curl_easy_perform", &functions.easy_perform);
  library.Find("curl_easy_getinfo", &functions.easy_getinfo);
  library.Find("curl_easy_cleanup", &functions.easy_cleanup);
  library.Find("curl_easy_strerror", &functions.easy_strerror);
  library.Find("curl_slist_append", &functions.slist_append);
  library.Find("curl_slist_free_all", &functions.slist_free_all);
  library.Find("curl_version_info", &functions.version_info);
  library.Find("curl_global_init", &functions.global_init);
  TONY_RETURN_IF_ERROR(library.status());
  // curl_global_init() is not thread safe in older versions. The static variable in Load() guards
  // it.
  if (functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return absl::FailedPreconditionError("libcurl does not start");
  }
  return functions;
}

}  // namespace

absl::StatusOr<const CurlLibrary*> CurlLibrary::Load() {
  static const auto* const loaded = new absl::StatusOr<CurlLibrary>(LoadOnce());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace tony::http
