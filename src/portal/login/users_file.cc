// The mark is taken of the open file, so that it is that of the bytes that are read.
#include "portal/login/users_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/record_file.h"
#include "os/files/files.h"
#include "os/files/password_hash.h"

namespace tony::portal {
namespace {

constexpr size_t kLongestName = 64;
constexpr char kHelp[] = "; `tony portal --add-user NAME:ROLE` prints a line";

absl::Status WrongLine(const std::string& path, size_t number, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what, kHelp));
}

}  // namespace

std::string RoleName(Role role) { return role == Role::kControl ? "control" : "view"; }

absl::StatusOr<Role> ParseRole(const std::string& text) {
  if (text == "view") return Role::kView;
  if (text == "control") return Role::kControl;
  return absl::InvalidArgumentError(
      absl::StrCat("the role is 'view' or 'control', not ", os::Quoted(text)));
}

bool IsUserName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return absl::ascii_isalnum(letter) || letter == '.' || letter == '_' || letter == '@' ||
                  letter == '-';
         });
}

absl::StatusOr<Users> ParseUsers(const std::string& text, const std::string& path) {
  Users users;
  size_t number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ':');
    if (parts.size() != 3) return WrongLine(path, number, "the line is not NAME:ROLE:HASH");
    if (!IsUserName(parts[0])) {
      return WrongLine(path, number, absl::StrCat(os::Quoted(parts[0]), " is no user's name"));
    }
    const absl::StatusOr<Role> role = ParseRole(parts[1]);
    if (!role.ok()) return WrongLine(path, number, std::string(role.status().message()));
    // The hash is not quoted: it may be a password.
    if (!os::IsPasswordHash(parts[2])) {
      return WrongLine(path, number, "the third part is no hash of a password");
    }
    if (!users.emplace(parts[0], User{*role, parts[2]}).second) {
      return WrongLine(path, number, absl::StrCat("the user ", parts[0], " is there twice"));
    }
  }
  if (users.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": there is no user in it", kHelp));
  }
  return users;
}

UsersFile::Mark UsersFile::MarkOf(const struct stat& info) {
  return {info.st_dev,          info.st_ino,         info.st_size,        info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

absl::Status UsersFile::Read() {
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd file, history::OpenRecordFile(path_));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return os::ErrnoError(errno, path_);
  mark_ = MarkOf(info);
  if ((info.st_mode & 077) != 0 || (info.st_uid != ::geteuid() && info.st_uid != 0)) {
    return absl::PermissionDeniedError(
        absl::StrCat(path_,
                     " lets people in, so it belongs to the portal's user or root and is readable "
                     "for nobody else; run: chmod 600 ",
                     os::Quoted(path_)));
  }
  TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadAtMost(file.get(), kMostBytes, path_));
  TONY_ASSIGN_OR_RETURN(users_, ParseUsers(text, path_));
  return absl::OkStatus();
}

std::optional<User> UsersFile::Find(const std::string& name) {
  const TimePoint now = clock_.Now();
  struct stat info {};
  if (looked_ == TimePoint{} || now - looked_ >= kPause) {
    looked_ = now;
    const bool there = ::stat(path_.c_str(), &info) == 0;
    const Mark mark = there ? MarkOf(info) : Mark{};
    if (mark != mark_) {
      if (const absl::Status read = Read(); !read.ok()) {
        // Who was taken out must not stay for want of the file, so nobody does.
        users_.clear();
        // What the file itself is not to blame for may pass, so it is read again then.
        const bool files_fault = absl::IsPermissionDenied(read) || absl::IsInvalidArgument(read) ||
                                 absl::IsOutOfRange(read);
        mark_ = files_fault ? mark : Mark{};
        Log(LogLevel::kError, "the portal lets nobody in", {{"why", read.message()}});
      }
    }
  }
  const auto found = users_.find(name);
  return found == users_.end() ? std::nullopt : std::optional<User>(found->second);
}

}  // namespace tony::portal
