// Packs with libarchive's pax writer and zstd filter, and computes the digest of the bytes on their
// way to the file.
#include "os/archives/archive_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/archives/archive_names.h"
#include "os/files/archive_digest.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

constexpr size_t kReadBlockBytes = 256 * 1024;
// Modification time of folders and links. It is not zero because Python's zipfile refuses files
// from before 1980.
constexpr time_t kFixedTime = 946684800;  // 2000-01-01 UTC

struct WriteFreer {
  void operator()(archive* handle) const { archive_write_free(handle); }
};
struct EntryFreer {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using EntryHandle = std::unique_ptr<archive_entry, EntryFreer>;

/// The archive file being written; it is removed again unless Finish() succeeds. Not thread safe.
class ArchiveWriter {
 public:
  /// `folder`: as in PackOptions::archive_folder.
  ArchiveWriter(std::string path, int folder)
      : path_(std::move(path)),
        folder_(folder < 0 ? AT_FDCWD : folder),
        name_(folder < 0 ? path_ : path_.substr(path_.rfind('/') + 1)),
        buffer_(kReadBlockBytes, '\0') {}
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;
  ~ArchiveWriter() {
    handle_.reset();  // this may still write
    if (file_.valid()) unlinkat(folder_, name_.c_str(), 0);
  }

  absl::Status Open(int compression_level) {
    file_.Reset(openat(folder_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file_.valid() || fchmod(file_.get(), 0600) != 0 || fstat(file_.get(), &own_) != 0) {
      return ErrnoError(errno, absl::StrCat("cannot create the archive ", Quoted(path_)));
    }
    handle_.reset(archive_write_new());
    archive* handle = handle_.get();
    const std::string level = absl::StrCat(compression_level);
    const bool prepared =
        handle != nullptr && archive_write_set_format_pax_restricted(handle) == ARCHIVE_OK &&
        // Names are bytes: without this option libarchive would convert them from the locale's
        // character set.
        archive_write_set_format_option(handle, "pax", "hdrcharset", "BINARY") == ARCHIVE_OK &&
        archive_write_add_filter_zstd(handle) == ARCHIVE_OK &&
        archive_write_set_filter_option(handle, "zstd", "compression-level", level.c_str()) ==
            ARCHIVE_OK &&
        archive_write_set_bytes_per_block(handle, 0) == ARCHIVE_OK &&
        archive_write_open(handle, this, nullptr, &ArchiveWriter::Write, nullptr) == ARCHIVE_OK;
    return prepared ? absl::OkStatus() : LibraryError();
  }

  /// Whether `info` describes the archive itself.
  bool IsArchive(const struct stat& info) const {
    return info.st_dev == own_.st_dev && info.st_ino == own_.st_ino;
  }

  absl::Status AddFolder(const std::string& name, const struct stat& info) {
    return AddHeader(NewEntry(name, AE_IFDIR, info.st_mode, kFixedTime).get());
  }

  absl::Status AddLink(const std::string& name, const std::string& target) {
    const EntryHandle entry = NewEntry(name, AE_IFLNK, 0777, kFixedTime);
    archive_entry_set_symlink(entry.get(), target.c_str());
    return AddHeader(entry.get());
  }

  absl::Status AddFile(const std::string& name, int file, const struct stat& info) {
    const EntryHandle entry = NewEntry(name, AE_IFREG, info.st_mode, info.st_mtime);
    archive_entry_set_size(entry.get(), info.st_size);
    TONY_RETURN_IF_ERROR(AddHeader(entry.get()));
    // Exactly as many bytes as the header says are packed; bytes appended meanwhile stay out.
    int64_t left = info.st_size;
    while (left > 0) {
      const size_t wanted = static_cast<size_t>(std::min<int64_t>(left, kReadBlockBytes));
      const ssize_t count = read(file, buffer_.data(), wanted);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoError(errno, "cannot read");
      if (count == 0) return absl::AbortedError("shrank while it was packed; try again");
      if (archive_write_data(handle_.get(), buffer_.data(), static_cast<size_t>(count)) != count) {
        return LibraryError();
      }
      left -= count;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PackSummary> Finish() {
    if (archive_write_close(handle_.get()) != ARCHIVE_OK) return LibraryError();
    TONY_ASSIGN_OR_RETURN(const std::string digest, digest_.Finish());
    file_.Reset();
    return PackSummary{entries_, bytes_, digest};
  }

 private:
  // Callback of libarchive for finished blocks. The original error is kept in write_status_,
  // because libarchive reports only its own message.
  static la_ssize_t Write(archive* handle, void* self, const void* data, size_t size) {
    auto* writer = static_cast<ArchiveWriter*>(self);
    const absl::Status status = WriteAll(writer->file_.get(), data, size, writer->path_);
    if (!status.ok()) {
      archive_set_error(handle, EIO, "write failed");
      writer->write_status_.Update(status);
      return -1;
    }
    writer->digest_.Update(data, size);
    writer->bytes_ += static_cast<int64_t>(size);
    return static_cast<la_ssize_t>(size);
  }

  // No owner, inode or device is set, so that the archive's bytes depend on the contents alone.
  static EntryHandle NewEntry(const std::string& name, unsigned type, mode_t mode, time_t time) {
    EntryHandle entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), type);
    archive_entry_set_perm(entry.get(), mode & 0777);
    archive_entry_set_mtime(entry.get(), time, 0);
    return entry;
  }

  absl::Status AddHeader(archive_entry* entry) {
    ++entries_;
    return archive_write_header(handle_.get(), entry) == ARCHIVE_OK ? absl::OkStatus()
                                                                    : LibraryError();
  }

  absl::Status LibraryError() const {
    if (!write_status_.ok()) return write_status_;
    const char* text = handle_ == nullptr ? nullptr : archive_error_string(handle_.get());
    return absl::InternalError(
        absl::StrCat("libarchive: ", text == nullptr ? "unknown error" : text));
  }

  const std::string path_;
  const int folder_;
  const std::string name_;
  std::string buffer_;
  UniqueFd file_;
  struct stat own_ = {};
  Sha256 digest_;
  absl::Status write_status_;
  int64_t entries_ = 0;
  int64_t bytes_ = 0;
  std::unique_ptr<archive, WriteFreer> handle_;
};

/// Feeds a folder's contents, sorted by name, to a writer. Not thread safe.
class FolderPacker {
 public:
  FolderPacker(std::string folder, const PackOptions& options, ArchiveWriter* writer)
      : folder_(std::move(folder)), options_(options), writer_(writer) {}

  absl::Status AddContents(const std::string& below) {
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, List(below));
    for (const std::string& name : names) {
      const auto& skipped = options_.skip_names;
      if (std::find(skipped.begin(), skipped.end(), name) != skipped.end()) continue;
      TONY_RETURN_IF_ERROR(Add(below.empty() ? name : absl::StrCat(below, "/", name)));
    }
    return absl::OkStatus();
  }

 private:
  std::string OnDisk(const std::string& path) const { return absl::StrCat(folder_, "/", path); }

  // Names are sorted so that the same contents give the same bytes on any file system.
  absl::StatusOr<std::vector<std::string>> List(const std::string& below) const {
    const std::string path = OnDisk(below);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(path.c_str()), &closedir);
    if (!stream) return ErrnoError(errno, absl::StrCat("cannot list the folder ", Quoted(path)));
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      errno = 0;
    }
    if (errno != 0) return ErrnoError(errno, absl::StrCat("cannot list the folder ", Quoted(path)));
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status Add(const std::string& path) {
    const std::string on_disk = OnDisk(path);
    struct stat info;
    if (lstat(on_disk.c_str(), &info) != 0) return ErrnoError(errno, Quoted(on_disk));
    if (S_ISDIR(info.st_mode)) {
      TONY_RETURN_IF_ERROR(Annotate(writer_->AddFolder(path, info), Quoted(on_disk)));
      return AddContents(path);
    }
    if (writer_->IsArchive(info)) return absl::OkStatus();
    return Annotate(AddLeaf(path, on_disk, info.st_mode), Quoted(on_disk));
  }

  // The file is opened with O_NOFOLLOW and O_NONBLOCK: it may have been replaced by a link or a
  // pipe since lstat(). Size and mode come from the open descriptor.
  absl::Status AddLeaf(const std::string& path, const std::string& on_disk, mode_t mode) {
    if (S_ISLNK(mode)) return AddLink(path);
    if (!S_ISREG(mode)) {
      return absl::InvalidArgumentError(
          "a device, pipe or socket; only files, folders and links are packed");
    }
    const UniqueFd file(open(on_disk.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info;
    if (!file.valid() || fstat(file.get(), &info) != 0) return ErrnoError(errno, "cannot open");
    return writer_->AddFile(path, file.get(), info);
  }

  absl::Status AddLink(const std::string& path) {
    const std::optional<std::string> target = ReadLink(path);
    if (!target.has_value()) return ErrnoError(errno, "cannot read the link");
    TONY_ASSIGN_OR_RETURN(const PathParts place, SplitEntryName(path));
    const bool inside = TargetStaysInside(
        place, *target, [this](const std::string& link) { return ReadLink(link); });
    if (!inside && !(options_.keep_escaping_link && options_.keep_escaping_link(path, *target))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "symbolic link to ", Quoted(*target), ", which leads out of the packed folder ",
          Quoted(folder_), "; replace it by what it leads to, or by a relative link"));
    }
    return writer_->AddLink(path, *target);
  }

  std::optional<std::string> ReadLink(const std::string& path) const {
    char target[PATH_MAX];
    const ssize_t length = readlink(OnDisk(path).c_str(), target, sizeof(target));
    if (length < 0) return std::nullopt;
    return std::string(target, static_cast<size_t>(length));
  }

  const std::string folder_;
  const PackOptions& options_;
  ArchiveWriter* const writer_;
};

}  // namespace

absl::StatusOr<PackSummary> PackFolder(const std::string& folder, const std::string& archive_path,
                                       const PackOptions& options) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot pack the folder ", Quoted(folder)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot pack ", Quoted(folder), ": it is no folder"));
  }
  ArchiveWriter writer(archive_path, options.archive_folder);
  TONY_RETURN_IF_ERROR(writer.Open(options.compression_level));
  TONY_RETURN_IF_ERROR(FolderPacker(folder, options, &writer).AddContents(""));
  return writer.Finish();
}

absl::StatusOr<PackSummary> PackFile(const std::string& file, const std::string& archive_path,
                                     const PackOptions& options) {
  const UniqueFd source(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!source.valid() || fstat(source.get(), &info) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot pack ", Quoted(file)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot pack ", Quoted(file), ": it is no plain file"));
  }
  ArchiveWriter writer(archive_path, options.archive_folder);
  TONY_RETURN_IF_ERROR(writer.Open(options.compression_level));
  const size_t slash = file.find_last_of('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  TONY_RETURN_IF_ERROR(Annotate(writer.AddFile(name, source.get(), info), Quoted(file)));
  return writer.Finish();
}

}  // namespace tony::os
