// A shared library that is opened at run time, by those who need it.
#pragma once

#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// Stays open until the process ends: what it has started may still run. Not thread safe.
class SharedLibrary {
 public:
  /// `file`: a path, or a name for the loader to look for.
  /// FailedPrecondition: it cannot be opened; the message is the loader's.
  static Result<SharedLibrary> Open(const std::string& file);

  /// Sets `*function` to what the library calls `name`; to null when there is none.
  template <typename Function>
  void Find(const char* name, Function** function) const {
    *function = reinterpret_cast<Function*>(Address(name));
  }

  /// As the loader has found it.
  std::string PathOf(const char* name) const;

 private:
  SharedLibrary(std::string file, void* handle) : file_(std::move(file)), handle_(handle) {}
  void* Address(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace tony::collective
