// A data set or a home folder would be packed for minutes, and copied to every task, before anybody
// noticed, so the size is checked first.
#include "client/jobs/program_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/jobs/remove_job.h"

namespace tony::client {
namespace {

namespace fs = std::filesystem;

/// Whether the packing leaves `name` out at any depth (os::PackOptions).
bool IsSkipped(const std::string& name) { return name == ".git" || name == "__pycache__"; }

/// Adds what is below `path`, a folder or a file, to `files` and returns its bytes.
int64_t AddTree(const fs::path& path, int64_t& files) {
  std::error_code error;
  if (fs::is_symlink(path, error)) return 0;
  if (!fs::is_directory(path, error)) {
    ++files;
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<int64_t>(size);
  }
  int64_t bytes = 0;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied,
                                         error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    if (bytes > kMostProgramBytes || files > kMostProgramFiles) break;
    std::error_code ignored;
    if (IsSkipped(entry->path().filename().string())) {
      entry.disable_recursion_pending();
    } else if (!entry->is_symlink(ignored) && entry->is_regular_file(ignored)) {
      ++files;
      const auto size = entry->file_size(ignored);
      bytes += ignored ? 0 : static_cast<int64_t>(size);
    }
    entry.increment(error);
  }
  return bytes;
}

}  // namespace

ProgramFolder MeasureProgram(const std::string& folder) {
  ProgramFolder program;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (fs::exists(entry->path() / "pyvenv.cfg", ignored)) {
      program.environments.push_back(name);
    } else if (!IsSkipped(name)) {
      const int64_t bytes = AddTree(entry->path(), program.files);
      program.bytes += bytes;
      if (bytes > program.largest_bytes) {
        program.largest = name;
        program.largest_bytes = bytes;
      }
    }
    if (program.bytes > kMostProgramBytes || program.files > kMostProgramFiles) break;
    entry.increment(error);
  }
  return program;
}

absl::Status CheckProgramSize(const ProgramFolder& program, const std::string& folder) {
  const bool large = program.bytes > kMostProgramBytes;
  if (!large && program.files <= kMostProgramFiles) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      folder, " has more than ",
      large ? FormatBytes(kMostProgramBytes) : absl::StrCat(kMostProgramFiles, " files"),
      ", and each task gets a copy",
      large ? absl::StrCat(" (", program.largest, " is the largest so far: ",
                           FormatBytes(program.largest_bytes), " and more)")
            : "",
      "; go into the program's own folder, or name it with --src_dir, and let the program read its "
      "data by an absolute path; --large packs all of it"));
}

}  // namespace tony::client
