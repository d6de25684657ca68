// One interface for listing and reading files, with implementations for HDFS and for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/webhdfs.h"

namespace tony::hadoop {

/// A file or folder in a listed folder. A plain value.
struct FolderEntry {
  std::string name;
  bool folder = false;
  int64_t bytes = 0;
};

/// Lists folders and reads pieces of files. Paths are absolute. Blocks. Not thread safe.
class FileStore {
 public:
  virtual ~FileStore() = default;

  /// The entries of `folder`, sorted by name. NotFound – there is no such folder; PermissionDenied
  /// – it is not readable; otherwise errno codes (DiskStore) or the codes of WebHdfs (HdfsStore).
  virtual absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) = 0;
  /// `size` bytes from `offset` on, fewer at the end of the file. The codes of List.
  virtual absl::StatusOr<std::string> Read(const std::string& path, int64_t offset,
                                           size_t size) = 0;
};

/// Files in an HDFS, over WebHDFS. Not thread safe.
class HdfsStore : public FileStore {
 public:
  explicit HdfsStore(WebHdfs hdfs) : hdfs_(std::move(hdfs)) {}
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override;
  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset, size_t size) override;

 private:
  WebHdfs hdfs_;
};

/// Files on this machine. Not thread safe.
class DiskStore : public FileStore {
 public:
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override;
  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset, size_t size) override;
};

/// One file, whose last 64 KiB are kept in memory: log files have their trailers and indexes there,
/// which are read in several small pieces. Not thread safe.
class StoredFile {
 public:
  static constexpr size_t kTailBytes = 64 << 10;

  /// Reads the file's end. `store` must outlive the result; `bytes`: the file's size. The codes of
  /// FileStore::Read; DataLoss – the file is shorter.
  static absl::StatusOr<StoredFile> Open(FileStore& store, std::string path, int64_t bytes);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  /// Exactly `size` bytes from `offset` on. DataLoss – the file is too short; otherwise the codes
  /// of FileStore::Read.
  absl::StatusOr<std::string> Read(int64_t offset, size_t size) const;

 private:
  StoredFile(FileStore& store, std::string path, int64_t bytes)
      : store_(&store), path_(std::move(path)), bytes_(bytes) {}

  FileStore* store_;
  std::string path_;
  int64_t bytes_;
  std::string tail_;
};

}  // namespace tony::hadoop
