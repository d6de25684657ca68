// The functions of libcurl that we use, found at run time.
#pragma once

#include <curl/curl.h>

#include "absl/status/statusor.h"

namespace tony::hadoop {

/// Function pointers of the library's own types; never unloaded. It is loaded when it is needed
/// since it brings some thirty libraries, which would slow down the start of programs that do
/// without it. Thread safe.
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

  /// FailedPrecondition – it is not installed, lacks a function, or does not start.
  static absl::StatusOr<const CurlLibrary*> Load();
};

}  // namespace tony::hadoop
