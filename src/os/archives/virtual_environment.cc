// Interpreter links are held back on unpacking and made again for this machine's Python.
#include "os/archives/virtual_environment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "os/archives/archive_destination.h"
#include "os/files/archive_digest.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

constexpr size_t kCopyBlockBytes = 1024 * 1024;

std::string LastPart(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// "3.11" for a text that begins with "3.11", such as "3.11.2.final.0".
std::optional<std::string> MajorMinor(const std::string& text) {
  const std::vector<std::string> numbers = absl::StrSplit(text, absl::MaxSplits('.', 2));
  if (numbers.size() < 2) return std::nullopt;
  std::string minor;
  for (const char c : numbers[1]) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    minor.push_back(c);
  }
  const bool major_is_number = numbers[0].find_first_not_of("0123456789") == std::string::npos;
  if (!major_is_number || numbers[0].empty() || minor.empty()) return std::nullopt;
  return absl::StrCat(numbers[0], ".", minor);
}

/// "3.11" for "/usr/bin/python3.11".
std::optional<std::string> VersionInName(const std::string& interpreter) {
  const std::string name = LastPart(interpreter);
  if (!absl::StartsWith(name, "python")) return std::nullopt;
  return MajorMinor(name.substr(6));
}

/// The Python version of the environment that the interpreter link `path` (…/bin/python) belongs
/// to.
std::optional<std::string> RecordedVersion(const std::string& destination, const std::string& path,
                                           const std::string& target) {
  const std::string environment = path.substr(0, path.rfind("bin/"));
  const auto config = ReadFile(absl::StrCat(destination, "/", environment, "pyvenv.cfg"));
  if (config.ok()) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(*config, '\n'))) {
      const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (halves.size() != 2) continue;
      const std::string key(absl::StripAsciiWhitespace(halves[0]));
      // venv writes "version"; virtualenv and others write "version_info".
      if (key != "version" && key != "version_info") continue;
      return MajorMinor(std::string(absl::StripAsciiWhitespace(halves[1])));
    }
  }
  return VersionInName(target);
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// Whether `interpreter` exists here and, as far as the real file's name tells, has this version.
bool Fits(const std::string& interpreter, const std::optional<std::string>& version) {
  if (!IsExecutableFile(interpreter)) return false;
  const std::unique_ptr<char, void (*)(void*)> real(realpath(interpreter.c_str(), nullptr), &free);
  const auto real_version = real ? VersionInName(real.get()) : std::nullopt;
  return !version.has_value() || !real_version.has_value() || *version == *real_version;
}

absl::StatusOr<std::string> FindInterpreter(const std::string& target,
                                            const std::optional<std::string>& version,
                                            const std::vector<std::string>& folders) {
  if (Fits(target, version)) return target;
  const std::string problem = absl::StrCat(
      "the interpreter ", Quoted(target), " that it was made with is not on this machine",
      version.has_value() ? absl::StrCat(" as Python ", *version) : "");
  if (!version.has_value()) {
    return absl::NotFoundError(absl::StrCat(
        problem, ", and neither pyvenv.cfg nor the name says which Python version would do"));
  }
  const std::string name = absl::StrCat("python", *version);
  for (const std::string& folder : folders) {
    const std::string candidate = absl::StrCat(folder, "/", name);
    if (absl::StartsWith(folder, "/") && IsExecutableFile(candidate)) return candidate;
  }
  return absl::NotFoundError(absl::StrCat(
      problem, ", nor is there a ", name, " in ", Quoted(absl::StrJoin(folders, ":")),
      "; install Python ", *version, " or make the environment with a version that is there"));
}

/// Copies `source` to the new file `copy` (mode 0600), which is removed on failure. `copy_folder`:
/// as PackOptions::archive_folder.
absl::StatusOr<PackSummary> CopyArchive(const std::string& source, const std::string& copy,
                                        int copy_folder) {
  const int folder = copy_folder < 0 ? AT_FDCWD : copy_folder;
  const std::string name = copy_folder < 0 ? copy : LastPart(copy);
  const UniqueFd in(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(source)));
  const UniqueFd out(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid())
    return ErrnoError(errno, absl::StrCat("cannot create the archive ", Quoted(copy)));
  const auto copy_all = [&]() -> absl::StatusOr<PackSummary> {
    if (fchmod(out.get(), 0600) != 0) return ErrnoError(errno, Quoted(copy));
    PackSummary summary;
    Sha256 digest;
    std::string buffer(kCopyBlockBytes, '\0');
    while (true) {
      const ssize_t count = read(in.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoError(errno, absl::StrCat("cannot read ", Quoted(source)));
      if (count == 0) break;
      digest.Update(buffer.data(), static_cast<size_t>(count));
      TONY_RETURN_IF_ERROR(WriteAll(out.get(), buffer.data(), static_cast<size_t>(count), copy));
      summary.bytes += count;
    }
    TONY_ASSIGN_OR_RETURN(summary.digest, digest.Finish());
    return summary;
  };
  absl::StatusOr<PackSummary> summary = copy_all();
  if (!summary.ok()) unlinkat(folder, name.c_str(), 0);
  return summary;
}

}  // namespace

bool IsInterpreterLink(const std::string& path, const std::string& target) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return false;
  const std::string folder = LastPart(path.substr(0, slash));
  return folder == "bin" && absl::StartsWith(LastPart(path), "python") &&
         absl::StartsWith(target, "/") && absl::StartsWith(LastPart(target), "python");
}

absl::StatusOr<PackSummary> PackVirtualEnvironment(const std::string& source,
                                                   const std::string& archive_path,
                                                   int archive_folder) {
  struct stat info;
  if (stat(source.c_str(), &info) != 0) {
    return ErrnoError(errno, absl::StrCat("virtual environment ", Quoted(source)));
  }
  if (S_ISDIR(info.st_mode)) {
    PackOptions options;
    options.skip_names.clear();  // compiled modules make the first import faster
    options.keep_escaping_link = IsInterpreterLink;
    options.archive_folder = archive_folder;
    return PackFolder(source, archive_path, options);
  }
  // A ready archive is checked now, so that a bad one is refused at submission and not on every
  // host. It is copied as it is, without repacking.
  UnpackOptions options;
  options.hold_back_link = IsInterpreterLink;
  TONY_ASSIGN_OR_RETURN(const UnpackSummary checked, CheckArchive(source, options));
  TONY_ASSIGN_OR_RETURN(PackSummary summary, CopyArchive(source, archive_path, archive_folder));
  summary.entries = checked.entries;
  return summary;
}

absl::StatusOr<VirtualEnvironment> UnpackVirtualEnvironment(
    const std::string& archive, const std::string& destination,
    const std::vector<std::string>& interpreter_folders, const UnpackLimits& limits) {
  VirtualEnvironment environment;
  TONY_ASSIGN_OR_RETURN(environment.unpacked,
                        UnpackArchive(archive, destination, {limits, IsInterpreterLink}));
  TONY_ASSIGN_OR_RETURN(ArchiveDestination folder, ArchiveDestination::Open(destination));
  for (const auto& [path, target] : environment.unpacked.held_links) {
    const std::string context =
        absl::StrCat("virtual environment ", Quoted(archive), ": entry ", Quoted(path));
    const auto interpreter =
        FindInterpreter(target, RecordedVersion(destination, path, target), interpreter_folders);
    if (!interpreter.ok()) return Annotate(interpreter.status(), context);
    TONY_ASSIGN_OR_RETURN(const PathParts place, SplitEntryName(path));
    TONY_RETURN_IF_ERROR(Annotate(folder.MakeSymbolicLink(place, *interpreter), context));
    environment.interpreters[path] = *interpreter;
  }
  return environment;
}

}  // namespace tony::os
