// A folder may change while it is listed or read: files that vanish are left out, and files that
// have become shorter are errors.
#include "hadoop/hdfs/file_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::hadoop {
namespace {

void SortByName(std::vector<FolderEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
}

}  // namespace

absl::StatusOr<std::vector<FolderEntry>> HdfsStore::List(const std::string& folder) {
  TONY_ASSIGN_OR_RETURN(const std::vector<HdfsFileStatus> statuses, hdfs_.List(folder));
  std::vector<FolderEntry> entries;
  for (const HdfsFileStatus& status : statuses) {
    // LISTSTATUS of a file answers with one entry for the file itself, whose name is empty.
    if (!status.name.empty()) entries.push_back({status.name, status.folder, status.bytes});
  }
  SortByName(entries);
  return entries;
}

absl::StatusOr<std::string> HdfsStore::Read(const std::string& path, int64_t offset, size_t size) {
  return hdfs_.ReadRange(path, offset, size);
}

absl::StatusOr<std::vector<FolderEntry>> DiskStore::List(const std::string& folder) {
  std::vector<FolderEntry> entries;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    // An entry that was deleted since the folder was read is skipped.
    std::error_code gone;
    FolderEntry found{entry->path().filename().string(), entry->is_directory(gone), 0};
    const uintmax_t bytes = found.folder ? 0 : entry->file_size(gone);
    if (!gone) {
      found.bytes = static_cast<int64_t>(bytes);
      entries.push_back(std::move(found));
    }
    entry.increment(error);
  }
  if (error) return os::ErrnoError(error.value(), folder);
  SortByName(entries);
  return entries;
}

absl::StatusOr<std::string> DiskStore::Read(const std::string& path, int64_t offset, size_t size) {
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return os::ErrnoError(errno, path);
  // pread() may give fewer bytes than it is asked for, so it is repeated until it gives none.
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    const ssize_t count = pread(fd.get(), bytes.data() + have, size - have,
                                static_cast<off_t>(offset) + static_cast<off_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::ErrnoError(errno, path);
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

absl::StatusOr<StoredFile> StoredFile::Open(FileStore& store, std::string path, int64_t bytes) {
  StoredFile file(store, std::move(path), bytes);
  const auto size =
      static_cast<size_t>(std::clamp<int64_t>(bytes, 0, static_cast<int64_t>(kTailBytes)));
  // One request fetches the trailer and, in most files, the index in front of it.
  if (size > 0) {
    TONY_ASSIGN_OR_RETURN(file.tail_, file.Read(bytes - static_cast<int64_t>(size), size));
  }
  return file;
}

absl::StatusOr<std::string> StoredFile::Read(int64_t offset, size_t size) const {
  if (offset < 0 || offset > bytes_ || static_cast<uint64_t>(bytes_ - offset) < size) {
    return absl::DataLossError(
        absl::StrCat("there are no ", size, " bytes at byte ", offset, " of a file of ", bytes_));
  }
  if (size == 0) return std::string();
  const int64_t tail = bytes_ - static_cast<int64_t>(tail_.size());
  if (offset >= tail) return tail_.substr(static_cast<size_t>(offset - tail), size);
  TONY_ASSIGN_OR_RETURN(std::string bytes, store_->Read(path_, offset, size));
  if (bytes.size() == size) return bytes;
  return absl::DataLossError(
      absl::StrCat("of ", size, " bytes at byte ", offset, " there are only ", bytes.size()));
}

}  // namespace tony::hadoop
