// The checks tell the user before submission what would fail later, on another machine and with a
// less clear message. std::filesystem is used without exceptions.
#include "jobfile/xml/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::jobfile {
namespace {

namespace fs = std::filesystem;

// The type of `path`, through symbolic links. NotFound – nothing is there; PermissionDenied – it
// cannot be examined.
absl::StatusOr<fs::file_status> StatusOf(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return absl::NotFoundError("does not exist");
  if (error) return absl::PermissionDeniedError(absl::StrCat("cannot be read: ", error.message()));
  return status;
}

}  // namespace

absl::Status CheckReadable(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const fs::file_status status, StatusOf(path));
  const bool folder = fs::is_directory(status);
  if (!folder && !fs::is_regular_file(status)) {
    return absl::FailedPreconditionError("is neither a file nor a folder");
  }
  // AT_EACCESS checks for the effective user, as open() does; the default is the real user.
  if (::faccessat(AT_FDCWD, path.c_str(), folder ? R_OK | X_OK : R_OK, AT_EACCESS) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit_bytes) {
  TONY_RETURN_IF_ERROR(CheckReadable(path));
  TONY_ASSIGN_OR_RETURN(const fs::file_status status, StatusOf(path));
  if (fs::is_directory(status)) return absl::FailedPreconditionError("is a folder, not a file");
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error && size > static_cast<uintmax_t>(limit_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("is ", size, " bytes large; at most ", limit_bytes, " are read"));
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (size > 0) content << stream.rdbuf();
  if (error || !stream || !content) return absl::PermissionDeniedError("cannot be read to its end");
  return content.str();
}

}  // namespace tony::jobfile
