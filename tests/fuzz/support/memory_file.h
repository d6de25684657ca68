// A file that code under test reads by its path, without a disk.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "os/files/unique_fd.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace tony::fuzz {

/// Not thread safe.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view contents) : fd_(memfd_create("tony-fuzz", MFD_CLOEXEC)) {
    Require(fd_.valid(), "a file in memory can be made");
    for (size_t at = 0; at < contents.size();) {
      const ssize_t count = write(fd_.get(), contents.data() + at, contents.size() - at);
      Require(count > 0, "a file in memory takes all");
      at += static_cast<size_t>(count);
    }
  }

  /// Names it as long as this object lives.
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_.get()); }

 private:
  os::UniqueFd fd_;
};

}  // namespace tony::fuzz
