// A shared library that is opened at run time, by those who need it.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::hadoop {

/// Open from Open() to the process's end. Not thread safe.
class SharedLibrary {
 public:
  /// Opens the first of `files` that is there. A message begins with `need`, what it is for, and
  /// names `package`, which has it. FailedPrecondition – none can be opened.
  static absl::StatusOr<SharedLibrary> Open(std::initializer_list<const char*> files,
                                            const std::string& need, const std::string& package);

  /// Sets `*function` to what the library calls `name`; to null when there is none, which status()
  /// then says.
  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(Address(name));
  }

  /// FailedPrecondition – a function was not found.
  const absl::Status& status() const { return status_; }

 private:
  SharedLibrary(const char* file, void* handle) : file_(file), handle_(handle) {}
  void* Address(const char* name);

  const char* file_;
  void* handle_;
  absl::Status status_;
};

}  // namespace tony::hadoop
