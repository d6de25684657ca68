// A shared library that is opened at run time, so that programs start fast and without it
// installed.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::os {

/// A library that stays open from Open() to the end of the process. Not thread safe.
class SharedLibrary {
 public:
  /// Opens the first of `files` that can be opened. An error message begins with `need`, the reason
  /// why the library is needed, and names `package`, which contains it. FailedPrecondition – none
  /// can be opened.
  static absl::StatusOr<SharedLibrary> Open(std::initializer_list<const char*> files,
                                            const std::string& need, const std::string& package);

  /// Sets `*function` to the library's function `name`. If the library has no such function,
  /// `*function` is null and status() is an error.
  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(Address(name));
  }

  /// The result of all calls of Find(). FailedPrecondition – a function was not found.
  const absl::Status& status() const { return status_; }

 private:
  SharedLibrary(std::string file, void* handle) : file_(std::move(file)), handle_(handle) {}
  void* Address(const char* name);

  std::string file_;
  void* handle_;
  absl::Status status_;
};

}  // namespace tony::os
