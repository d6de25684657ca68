// Opens a shared library at run time and finds its functions.
#pragma once

#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// A library that stays open until the process ends, since threads that it has started may still
/// run. Not thread safe.
class SharedLibrary {
 public:
  /// Opens `file`: a path, or a name for the loader to search. FailedPrecondition – it cannot be
  /// opened; the message is the loader's.
  static Result<SharedLibrary> Open(const std::string& file);

  /// Sets `*function` to the library's function `name`; to null if there is none.
  template <typename Function>
  void Find(const char* name, Function** function) const {
    *function = reinterpret_cast<Function*>(Address(name));
  }

  /// The path of the file in which the loader found `name`.
  std::string PathOf(const char* name) const;

 private:
  SharedLibrary(std::string file, void* handle) : file_(std::move(file)), handle_(handle) {}
  void* Address(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace tony::collective
