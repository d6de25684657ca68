// Plain system calls, since files of /proc report no size and are written in one write().
#include "os/files/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/files/unique_fd.h"

namespace tony::os {

bool ReadProcFile(const std::string& path, std::string& contents) {
  contents.clear();
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return false;
  size_t used = 0;
  while (true) {
    contents.resize(used + 4096);
    const ssize_t count = ::read(file.get(), contents.data() + used, contents.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      contents.resize(used);
      return count == 0;
    }
    used += static_cast<size_t>(count);
  }
}

std::string ReadProcFile(const std::string& path) {
  std::string contents;
  if (!ReadProcFile(path, contents)) contents.clear();
  return contents;
}

int WriteProcFile(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  return ::write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

}  // namespace tony::os
