// Files in an HDFS or on a disk, to be listed and read in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/hdfs/webhdfs.h"

namespace tony::hadoop {

/// What a folder has. A plain value.
struct FolderEntry {
  std::string name;
  bool folder = false;
  int64_t bytes = 0;
};

/// Paths are absolute. Blocks. Not thread safe.
class FileStore {
 public:
  virtual ~FileStore() = default;

  /// In the order of their names. NotFound – there is no such folder; PermissionDenied and the
  /// codes of WebHdfs.
  virtual absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) = 0;
  /// `size` bytes from `offset` on, fewer where the file ends. The codes of List.
  virtual absl::StatusOr<std::string> Read(const std::string& path, int64_t offset,
                                           size_t size) = 0;
};

/// Over WebHDFS. Not thread safe.
class HdfsStore : public FileStore {
 public:
  explicit HdfsStore(WebHdfs hdfs) : hdfs_(std::move(hdfs)) {}
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override;
  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset, size_t size) override;

 private:
  WebHdfs hdfs_;
};

/// The files of this machine. Not thread safe.
class DiskStore : public FileStore {
 public:
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override;
  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset, size_t size) override;
};

/// One file, whose end is kept in memory, since that is where indexes are. Not thread safe.
class StoredFile {
 public:
  static constexpr size_t kTailBytes = 64 << 10;

  /// `store` must outlive it; `bytes` is the file's size. The codes of FileStore::Read; DataLoss –
  /// the file is shorter.
  static absl::StatusOr<StoredFile> Open(FileStore& store, std::string path, int64_t bytes);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  /// Exactly `size` bytes from `offset` on. DataLoss – the file does not have them; otherwise the
  /// codes of FileStore::Read.
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
