// Accounts of people are told from those of the system by their number, by the range that useradd
// and systemd use.
#include "os/processes/process_owners.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "os/files/user_names.h"

namespace tony::os {
namespace {

/// UID_MIN in login.defs(5), and the largest number that Debian's and systemd's tables give to
/// people.
constexpr uid_t kFirstPerson = 1000;
constexpr uid_t kLastPerson = 60000;

}  // namespace

std::string AnotherPerson() {
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", unreadable)) {
    const std::string name = entry.path().filename();
    struct stat info {};
    if (name.find_first_not_of("0123456789") != std::string::npos ||
        stat(entry.path().c_str(), &info) != 0) {
      continue;
    }
    const bool is_person = info.st_uid >= kFirstPerson && info.st_uid <= kLastPerson;
    if (is_person && info.st_uid != geteuid()) return UserName(info.st_uid);
  }
  return "";
}

}  // namespace tony::os
