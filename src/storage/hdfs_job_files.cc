// Write aside, then rename. A rename whose answer was lost is told from a failed one by whether the
// file aside is still there.
#include "storage/hdfs_job_files.h"

#include <cerrno>
#include <fstream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/rpc/remote_exception.h"
#include "os/files/files.h"

namespace tony::storage {
namespace {

constexpr int kFileMode = 0600;
/// Larger than any file that is written here; it bounds the memory that a foreign file could take.
constexpr size_t kMostBytes = 64 << 20;
/// Size of one attribute: a NameNode takes at most 16 KiB, and the encoding in the URL makes a
/// value a third longer.
constexpr size_t kAttributeBytes = 8 << 10;
/// Half of the attributes that a file may have.
constexpr size_t kMostInAttributes = 16 * kAttributeBytes;

/// Whether a NameNode said that it does not support attributes: by an exception of its own kind,
/// or, before Hadoop 3, by one of no particular kind.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnimplemented(status) ||
         (absl::IsUnknown(status) && !hadoop::RemoteExceptionName(status).empty());
}

/// Name of the attribute that holds part `part` of a small file's contents.
std::string AttributeName(int part) { return absl::StrCat("user.tony.", part); }

}  // namespace

absl::StatusOr<std::string> HdfsJobFiles::Read(const std::string& name) {
  using Attributes = std::map<std::string, std::string>;
  const std::string path = PathOf(name);
  const absl::StatusOr<Attributes> attributes = hdfs_.Attributes(path);
  // After any other error the file must not be read: contents that are in attributes would look
  // empty.
  if (!attributes.ok() && !IsRefusal(attributes.status())) return attributes.status();
  if (!attributes.ok() || !attributes->contains(AttributeName(0))) {
    return hdfs_.Read(path, kMostBytes);
  }
  std::string contents;
  for (int part = 0;; ++part) {
    const auto found = attributes->find(AttributeName(part));
    if (found == attributes->end()) return contents;
    contents += found->second;
  }
}

std::string HdfsJobFiles::AsideOf(const std::string& name) const {
  const std::string path = PathOf(name);
  return absl::StrCat(path.substr(0, path.rfind('/') + 1), kUnfinished, std::random_device()());
}

absl::Status HdfsJobFiles::OrRemove(const absl::Status& done, const std::string& aside) {
  if (done.ok()) return done;
  LogDebug("a half-written file in HDFS is removed", {{"path", aside}, {"why", done.message()}});
  (void)hdfs_.Delete(aside, /*recursive=*/false);
  return done;
}

absl::Status HdfsJobFiles::Settled(const absl::Status& renamed, const std::string& aside) {
  if (renamed.ok()) return renamed;
  LogDebug("a rename in HDFS has failed, or its answer was lost", {{"why", renamed.message()}});
  const absl::StatusOr<bool> deleted = hdfs_.Delete(aside, /*recursive=*/false);
  // Nobody else knows the name of the file aside. If it is gone, the rename has happened, and only
  // the answer was lost.
  return deleted.ok() && !*deleted ? absl::OkStatus() : renamed;
}

absl::Status HdfsJobFiles::WriteAttributes(const std::string& aside, const std::string& contents) {
  TONY_RETURN_IF_ERROR(hdfs_.Write(aside, kFileMode, /*overwrite=*/false, ""));
  size_t at = 0;
  for (int part = 0; part == 0 || at < contents.size(); ++part, at += kAttributeBytes) {
    TONY_RETURN_IF_ERROR(
        hdfs_.AddAttribute(aside, AttributeName(part), contents.substr(at, kAttributeBytes)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> HdfsJobFiles::WriteAside(const std::string& name,
                                                     const std::string& contents) {
  const std::string aside = AsideOf(name);
  if (attributes_ && contents.size() <= kMostInAttributes) {
    const absl::Status written = OrRemove(WriteAttributes(aside, contents), aside);
    if (written.ok()) return aside;
    // An unreachable NameNode refuses nothing: attributes stay on for the next write.
    if (absl::IsUnavailable(written)) return written;
    LogInfo("small files go into HDFS as files, not as attributes", {{"why", written.message()}});
    attributes_ = false;
  }
  TONY_RETURN_IF_ERROR(
      OrRemove(hdfs_.Write(aside, kFileMode, /*overwrite=*/false, contents), aside));
  return aside;
}

absl::Status HdfsJobFiles::Create(const std::string& name, const std::string& contents) {
  TONY_ASSIGN_OR_RETURN(const std::string aside, WriteAside(name, contents));
  return Settled(hdfs_.RenameToNew(aside, PathOf(name)), aside);
}

absl::Status HdfsJobFiles::CreateFrom(const std::string& name, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return os::ErrnoError(errno, path);
  const std::string aside = AsideOf(name);
  const auto read = [&](char* data, size_t size) -> absl::StatusOr<size_t> {
    file.read(data, static_cast<std::streamsize>(size));
    if (file.bad()) return os::ErrnoError(errno, path);
    return static_cast<size_t>(file.gcount());
  };
  TONY_RETURN_IF_ERROR(OrRemove(hdfs_.Create(aside, kFileMode, /*overwrite=*/false, read), aside));
  return Settled(hdfs_.RenameToNew(aside, PathOf(name)), aside);
}

absl::Status HdfsJobFiles::Replace(const std::string& name, const std::string& contents) {
  TONY_ASSIGN_OR_RETURN(const std::string aside, WriteAside(name, contents));
  return Settled(hdfs_.Rename(aside, PathOf(name)), aside);
}

absl::StatusOr<StoredFile> HdfsJobFiles::Describe(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const hadoop::HdfsFileStatus status, hdfs_.Status(PathOf(name)));
  return StoredFile{status.bytes, status.modified_millis};
}

absl::StatusOr<std::vector<std::string>> HdfsJobFiles::ListAll(const std::string& folder) {
  std::vector<std::string> names;
  const auto files = hdfs_.List(PathOf(folder));
  if (absl::IsNotFound(files.status())) return names;
  TONY_RETURN_IF_ERROR(files.status());
  for (const hadoop::HdfsFileStatus& file : *files) names.push_back(file.name);
  return names;
}

absl::Status HdfsJobFiles::Remove(const std::string& name) {
  return hdfs_.Delete(PathOf(name), /*recursive=*/true).status();
}

}  // namespace tony::storage
