// libarchive reads the archive, ArchiveChecker decides about each entry, and ArchiveDestination
// places it.
#include "os/archives/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/archives/archive_destination.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

constexpr size_t kReadBlockBytes = 256 * 1024;

/// libarchive converts names between the archive's character set and the thread's; in the C locale
/// it would replace every non-ASCII letter by a question mark. Not thread safe: applies to the
/// thread that it was made on.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) previous_ = uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    uselocale(previous_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t previous_ = nullptr;
};

struct ReadFreer {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ReadHandle = std::unique_ptr<archive, ReadFreer>;

std::string LibraryError(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : text;
}

absl::Status Damaged(archive* handle) {
  return absl::InvalidArgumentError(
      absl::StrCat("truncated, corrupt or of an unknown kind (", LibraryError(handle),
                   "); a tar, tar.gz, tar.zst or zip archive is needed"));
}

ArchiveEntry Describe(archive_entry* entry) {
  const auto text = [](const char* value) { return value == nullptr ? std::string() : value; };
  ArchiveEntry described;
  described.name = text(archive_entry_pathname(entry));
  if (archive_entry_hardlink(entry) != nullptr) {
    described.kind = ArchiveEntry::Kind::kHardLink;
    described.target = archive_entry_hardlink(entry);
    return described;
  }
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      described.kind = ArchiveEntry::Kind::kFile;
      if (archive_entry_size_is_set(entry)) described.size = archive_entry_size(entry);
      break;
    case AE_IFDIR:
      described.kind = ArchiveEntry::Kind::kFolder;
      break;
    case AE_IFLNK:
      described.kind = ArchiveEntry::Kind::kSymbolicLink;
      described.target = text(archive_entry_symlink(entry));
      break;
    default:
      described.kind = ArchiveEntry::Kind::kOther;
  }
  return described;
}

/// One pass over one archive; without a destination it only checks. Not thread safe.
class Unpacker {
 public:
  Unpacker(const UnpackOptions& options, int64_t archive_bytes, ArchiveDestination* destination)
      : checker_(options, archive_bytes), destination_(destination) {}

  absl::StatusOr<UnpackSummary> Run(const std::string& path) {
    const Utf8Locale locale;
    TONY_RETURN_IF_ERROR(Open(path));
    while (true) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(handle_.get(), &entry);
      if (result == ARCHIVE_EOF) break;
      // A warning means that libarchive could not understand a name or an attribute, so the
      // unpacked file would differ from the packed one.
      if (result != ARCHIVE_OK) return Damaged(handle_.get());
      const ArchiveEntry described = Describe(entry);
      TONY_RETURN_IF_ERROR(
          Annotate(Take(described, entry), absl::StrCat("entry ", Quoted(described.name))));
    }
    TONY_RETURN_IF_ERROR(CheckEnd());
    TONY_RETURN_IF_ERROR(MakeLinks());
    return UnpackSummary{checker_.entries(), bytes_, checker_.held_links()};
  }

 private:
  absl::Status Open(const std::string& path) {
    handle_.reset(archive_read_new());
    archive* handle = handle_.get();
    // Only single formats and filters are enabled: "all" would need libraries that are not
    // available for linking.
    const bool prepared = handle != nullptr &&
                          archive_read_support_filter_gzip(handle) == ARCHIVE_OK &&
                          archive_read_support_filter_zstd(handle) == ARCHIVE_OK &&
                          archive_read_support_format_tar(handle) == ARCHIVE_OK &&
                          archive_read_support_format_zip(handle) == ARCHIVE_OK;
    if (!prepared) return absl::InternalError("libarchive lacks tar, zip, gzip or zstd");
    if (archive_read_open_filename(handle, path.c_str(), kReadBlockBytes) != ARCHIVE_OK) {
      return Damaged(handle);
    }
    return absl::OkStatus();
  }

  absl::Status Take(const ArchiveEntry& described, archive_entry* entry) {
    TONY_ASSIGN_OR_RETURN(const PathParts place, checker_.Check(described));
    // Decompressed bytes that are not unpacked, such as headers and padding, count too.
    TONY_RETURN_IF_ERROR(checker_.CheckTotal(archive_filter_bytes(handle_.get(), 0)));
    if (destination_ == nullptr) {
      bytes_ += described.size;
      return absl::OkStatus();
    }
    switch (described.kind) {
      case ArchiveEntry::Kind::kFolder:
        return destination_->MakeFolder(place, archive_entry_perm(entry));
      case ArchiveEntry::Kind::kFile:
        return TakeFile(place, entry);
      case ArchiveEntry::Kind::kHardLink: {
        TONY_ASSIGN_OR_RETURN(const PathParts existing, SplitEntryName(described.target));
        return destination_->MakeHardLink(place, existing);
      }
      case ArchiveEntry::Kind::kSymbolicLink:  // made at the end, when all links are known
      case ArchiveEntry::Kind::kOther:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status TakeFile(const PathParts& place, archive_entry* entry) {
    TONY_ASSIGN_OR_RETURN(const UniqueFd file, destination_->MakeFile(place));
    TONY_ASSIGN_OR_RETURN(const int64_t size, CopyContents(file.get()));
    bytes_ += size;
    std::optional<timespec> time;
    if (archive_entry_mtime_is_set(entry)) {
      time = timespec{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    }
    return destination_->SetFile(file.get(), place, archive_entry_perm(entry), time);
  }

  /// Returns the size of the file in bytes, holes included.
  absl::StatusOr<int64_t> CopyContents(int file) {
    int64_t size = 0;
    while (true) {
      const void* data = nullptr;
      size_t count = 0;
      la_int64_t offset = 0;
      const int result = archive_read_data_block(handle_.get(), &data, &count, &offset);
      if (result != ARCHIVE_OK && result != ARCHIVE_EOF) return Damaged(handle_.get());
      // The size that a header declares is not trusted: the bytes that really come are counted
      // against the limits before they are written.
      const bool backwards = result == ARCHIVE_OK && offset < size;
      if (backwards || offset > std::numeric_limits<int64_t>::max() - static_cast<int64_t>(count)) {
        return absl::InvalidArgumentError("corrupt: its pieces overlap");
      }
      // At the end, `offset` is the file's size, which exceeds the written bytes if the file ends
      // with a hole.
      const int64_t end = std::max<int64_t>(size, offset + static_cast<int64_t>(count));
      TONY_RETURN_IF_ERROR(checker_.CheckTotal(end));
      TONY_RETURN_IF_ERROR(checker_.CheckTotal(bytes_ + end));
      if (result == ARCHIVE_EOF) {
        if (end > size && ftruncate(file, end) != 0) return ErrnoError(errno, "cannot write");
        return end;
      }
      if (offset > size && lseek(file, offset, SEEK_SET) < 0) {
        return ErrnoError(errno, "cannot write");
      }
      TONY_RETURN_IF_ERROR(WriteAll(file, data, count, "its contents"));
      size = end;
    }
  }

  /// libarchive takes a tar that was cut between two entries for complete; only the end mark is
  /// missing.
  absl::Status CheckEnd() {
    const bool is_tar =
        (archive_format(handle_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    const bool end_mark =
        archive_filter_bytes(handle_.get(), 0) > archive_read_header_position(handle_.get());
    if (!is_tar || end_mark) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("truncated after ", checker_.entries(), " entries: the end mark is missing"));
  }

  // Links are made after all files, so that no file can be written through a link of this archive.
  absl::Status MakeLinks() {
    if (destination_ == nullptr) {
      return checker_.CheckLinks([](const std::string&) { return std::nullopt; });
    }
    TONY_RETURN_IF_ERROR(checker_.CheckLinks(
        [this](const std::string& path) { return destination_->ReadLink(path); }));
    for (const auto& [path, target] : checker_.links()) {
      TONY_ASSIGN_OR_RETURN(const PathParts place, SplitEntryName(path));
      TONY_RETURN_IF_ERROR(Annotate(destination_->MakeSymbolicLink(place, target),
                                    absl::StrCat("entry ", Quoted(path))));
    }
    return absl::OkStatus();
  }

  ArchiveChecker checker_;
  ArchiveDestination* const destination_;
  ReadHandle handle_;
  int64_t bytes_ = 0;
};

// A missing or unreadable archive gets its errno code here; libarchive would report it as damaged.
absl::StatusOr<int64_t> SizeOfArchive(const std::string& archive) {
  struct stat info;
  if (stat(archive.c_str(), &info) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot open the archive ", Quoted(archive)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("the archive ", Quoted(archive), " is no file"));
  }
  if (access(archive.c_str(), R_OK) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot open the archive ", Quoted(archive)));
  }
  return info.st_size;
}

absl::StatusOr<UnpackSummary> InContext(const std::string& archive,
                                        absl::StatusOr<UnpackSummary> result) {
  if (result.ok()) return result;
  return Annotate(result.status(), absl::StrCat("archive ", Quoted(archive)));
}

}  // namespace

absl::StatusOr<UnpackSummary> UnpackArchive(const std::string& archive,
                                            const std::string& destination,
                                            const UnpackOptions& options) {
  TONY_ASSIGN_OR_RETURN(const int64_t size, SizeOfArchive(archive));
  TONY_ASSIGN_OR_RETURN(ArchiveDestination folder, ArchiveDestination::Open(destination));
  return InContext(archive, Unpacker(options, size, &folder).Run(archive));
}

absl::StatusOr<UnpackSummary> CheckArchive(const std::string& archive,
                                           const UnpackOptions& options) {
  TONY_ASSIGN_OR_RETURN(const int64_t size, SizeOfArchive(archive));
  return InContext(archive, Unpacker(options, size, nullptr).Run(archive));
}

}  // namespace tony::os
