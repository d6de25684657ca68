// An executor that is killed cannot remove its folder, and no other process knows of it; so the
// next one on the machine does.
#include "executor/feed/socket_folder.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "feed/endpoint.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "/.tony-feed";
constexpr char kShared[] = "/tmp";
constexpr char kPrefix[] = "tony-feed-";
constexpr const char* kSockets[] = {feed::kProgramSocket, feed::kProducerSocket};
constexpr size_t kLongestName =
    std::max(sizeof(feed::kProgramSocket), sizeof(feed::kProducerSocket));
constexpr time_t kLeftSeconds = 60;

/// Whether nobody listens on the socket `path`. An executor may be killed before it has made its
/// sockets, and between their removals.
bool IsLeft(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  const os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket.valid() &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
             0 &&
         (errno == ECONNREFUSED || errno == ENOENT);
}

void RemoveLeftFolders() {
  std::error_code error;
  for (fs::directory_iterator entry(kShared, error), end; !error && entry != end;
       entry.increment(error)) {
    if (absl::StartsWith(entry->path().filename().string(), kPrefix)) {
      RemoveLeftSocketFolder(entry->path().string());
    }
  }
}

}  // namespace

void RemoveLeftSocketFolder(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 07777) != 0700 || ::time(nullptr) - info.st_mtime < kLeftSeconds) {
    return;
  }
  // Nobody else can write to the folder, so what is in it now stays what it is.
  for (const char* socket : kSockets) {
    if (!IsLeft(path + socket)) return;
  }
  for (const char* socket : kSockets) ::unlink((path + socket).c_str());
  ::rmdir(path.c_str());
}

SocketFolder::~SocketFolder() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

absl::Status SocketFolder::Make(const std::string& working_folder) {
  std::string folder = working_folder + kFolder;
  if (folder.size() + kLongestName <= sizeof(sockaddr_un::sun_path)) {
    // A container starts in an empty working folder, so a folder of that name is the user's.
    if (::mkdir(folder.c_str(), 0700) != 0) return os::ErrnoError(errno, folder);
  } else {
    RemoveLeftFolders();
    folder = absl::StrCat(kShared, "/", kPrefix, "XXXXXX");
    if (::mkdtemp(folder.data()) == nullptr) return os::ErrnoError(errno, folder);
  }
  path_ = folder;
  return absl::OkStatus();
}

}  // namespace tony::executor
