// dlopen once, for the life of the process.
#include "hadoop/curl_library.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace tony::hadoop {
namespace {

// The same library over OpenSSL and over GnuTLS.
constexpr const char* kFiles[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

absl::StatusOr<CurlLibrary> LoadOnce() {
  void* library = nullptr;
  for (const char* const file : kFiles) {
    if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("HDFS is spoken with libcurl, and that cannot be loaded; install it (package "
                     "libcurl4): ",
                     dlerror()));
  }
  CurlLibrary functions;
  const char* missing = nullptr;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find(&functions.easy_init, "curl_easy_init");
  find(&functions.easy_setopt, "curl_easy_setopt");
  find(&functions.easy_perform, "curl_easy_perform");
  find(&functions.easy_getinfo, "curl_easy_getinfo");
  find(&functions.easy_cleanup, "curl_easy_cleanup");
  find(&functions.easy_strerror, "curl_easy_strerror");
  find(&functions.slist_append, "curl_slist_append");
  find(&functions.slist_free_all, "curl_slist_free_all");
  find(&functions.version_info, "curl_version_info");
  find(&functions.global_init, "curl_global_init");
  if (missing != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("libcurl has no function ", missing));
  }
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

}  // namespace tony::hadoop
