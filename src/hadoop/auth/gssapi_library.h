// The functions of libgssapi_krb5 that tony uses, looked up at run time.
#pragma once

#include <gssapi/gssapi.h>

#include "absl/status/statusor.h"

namespace tony::hadoop {

/// Function pointers with the types of the library's header. The library is never unloaded. Thread
/// safe.
struct GssapiLibrary {
  decltype(&gss_import_name) import_name;
  decltype(&gss_release_name) release_name;
  decltype(&gss_init_sec_context) init_sec_context;
  decltype(&gss_delete_sec_context) delete_sec_context;
  decltype(&gss_release_buffer) release_buffer;
  decltype(&gss_display_status) display_status;
  decltype(&gss_wrap) wrap;
  decltype(&gss_unwrap) unwrap;
  decltype(&gss_wrap_size_limit) wrap_size_limit;

  /// FailedPrecondition – the library is not installed, or lacks a function.
  static absl::StatusOr<const GssapiLibrary*> Load();
};

}  // namespace tony::hadoop
