// The functions of libcurl that tony uses, looked up at run time.
#pragma once

#include <curl/curl.h>

#include "absl/status/statusor.h"

namespace tony::http {

/// Function pointers with the types of the library's header. The library is loaded on first use,
/// since it brings some thirty others, which would slow the start of programs that make no request.
/// It is never unloaded. Thread safe.
struct CurlLibrary {
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_version_info) version_info;
  decltype(&curl_global_init) global_init;

  /// FailedPrecondition – the library is not installed, lacks a function, or does not start.
  static absl::StatusOr<const CurlLibrary*> Load();
};

}  // namespace tony::http
