// Builds archives for tests by libarchive directly, also such as no honest program would write.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace tony::os {

enum class Format { kTar, kTarGz, kTarZst, kZip };

/// Writes one archive file; every step must succeed. Not thread safe.
class ArchiveBuilder {
 public:
  ArchiveBuilder(const std::string& path, Format format) : handle_(archive_write_new()) {
    if (format == Format::kZip) {
      EXPECT_EQ(archive_write_set_format_zip(handle_), ARCHIVE_OK);
    } else {
      EXPECT_EQ(archive_write_set_format_pax_restricted(handle_), ARCHIVE_OK);
      Expect(archive_write_set_format_option(handle_, "pax", "hdrcharset", "BINARY"));
    }
    if (format == Format::kTarGz) Expect(archive_write_add_filter_gzip(handle_));
    if (format == Format::kTarZst) Expect(archive_write_add_filter_zstd(handle_));
    Expect(archive_write_open_filename(handle_, path.c_str()));
  }
  ArchiveBuilder(const ArchiveBuilder&) = delete;
  ArchiveBuilder& operator=(const ArchiveBuilder&) = delete;
  ~ArchiveBuilder() { Expect(archive_write_free(handle_)); }

  ArchiveBuilder& File(const std::string& name, const std::string& contents, mode_t mode = 0644) {
    archive_entry* entry = New(name, AE_IFREG, mode);
    archive_entry_set_size(entry, static_cast<int64_t>(contents.size()));
    Write(entry);
    EXPECT_EQ(archive_write_data(handle_, contents.data(), contents.size()),
              static_cast<la_ssize_t>(contents.size()));
    return *this;
  }

  ArchiveBuilder& Folder(const std::string& name, mode_t mode = 0755) {
    return Write(New(name, AE_IFDIR, mode));
  }

  ArchiveBuilder& Link(const std::string& name, const std::string& target) {
    archive_entry* entry = New(name, AE_IFLNK, 0777);
    archive_entry_set_symlink(entry, target.c_str());
    return Write(entry);
  }

  ArchiveBuilder& HardLink(const std::string& name, const std::string& target) {
    archive_entry* entry = New(name, AE_IFREG, 0644);
    archive_entry_set_hardlink(entry, target.c_str());
    return Write(entry);
  }

  /// A device, pipe or whatever else `type`, one of AE_IF…, stands for.
  ArchiveBuilder& Special(const std::string& name, unsigned type) {
    return Write(New(name, type, 0644));
  }

 private:
  void Expect(int result) { EXPECT_EQ(result, ARCHIVE_OK) << archive_error_string(handle_); }

  static archive_entry* New(const std::string& name, unsigned type, mode_t mode) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_mtime(entry, 1'600'000'000, 0);
    return entry;
  }

  ArchiveBuilder& Write(archive_entry* entry) {
    Expect(archive_write_header(handle_, entry));
    archive_entry_free(entry);
    return *this;
  }

  archive* handle_;
};

}  // namespace tony::os
