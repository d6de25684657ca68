// Maps inotify events to paths; when the kernel's queue overflows, every watched folder is
// reported.
#include "os/files/folder_watcher.h"

#include <poll.h>
#include <sys/inotify.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"

namespace tony::os {
namespace {

absl::Status Error(const std::string& what) {
  const int error = errno;
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EMFILE || error == ENOSPC) {
    return absl::ResourceExhaustedError(
        absl::StrCat(message, "; raise fs.inotify.max_user_instances and _watches"));
  }
  return absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderWatcher>> FolderWatcher::Create() {
  UniqueFd fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return Error("cannot watch files");
  return std::unique_ptr<FolderWatcher>(new FolderWatcher(std::move(fd)));
}

absl::Status FolderWatcher::Watch(const std::string& folder) {
  const int watch = inotify_add_watch(
      fd_.get(), folder.c_str(), IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR);
  if (watch < 0) return Error(absl::StrCat("cannot watch ", folder));
  folders_[watch] = folder;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FolderWatcher::Wait(std::chrono::milliseconds timeout,
                                                             int stop_fd) {
  pollfd readable[] = {{fd_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
  const int ready = poll(readable, 2, timeout.count() < 0 ? -1 : static_cast<int>(timeout.count()));
  if (ready < 0 && errno != EINTR) return Error("cannot wait for files");
  std::set<std::string> paths;
  alignas(inotify_event) char buffer[16384];
  ssize_t size = 0;
  while (ready > 0 && (size = read(fd_.get(), buffer, sizeof buffer)) > 0) {
    for (const char* position = buffer; position < buffer + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(position);
      position += sizeof(inotify_event) + event->len;
      if (event->mask & IN_Q_OVERFLOW) {
        for (const auto& [watch, folder] : folders_) paths.insert(folder);
      } else if (event->mask & IN_IGNORED) {
        folders_.erase(event->wd);
      } else if (event->len > 0) {
        paths.insert(absl::StrCat(folders_[event->wd], "/", event->name));
      }
    }
  }
  if (size < 0 && errno != EAGAIN && errno != EINTR)
    return Error("cannot read what happened to files");
  return std::vector<std::string>(paths.begin(), paths.end());
}

}  // namespace tony::os
