// The small files of a job that outlive its ApplicationMaster, wherever they are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::storage {

/// What the storage says of a file. A plain value.
struct StoredFile {
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< since 1970
};

/// Names are relative to the job's own place, "journal/00000001.json"; the folders in them are made
/// when needed. Files are for their owner alone. Calls may block for as long as the storage likes:
/// not for an event loop, unless the implementation says so. Not thread safe.
///
/// All calls: Unavailable – the storage cannot be reached; PermissionDenied, ResourceExhausted (no
/// room, a quota); messages name the file.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// NotFound – there is no such file.
  virtual absl::StatusOr<std::string> Read(const std::string& name) = 0;
  /// A new file: whole, or not at all. Of several callers one succeeds. AlreadyExists – something
  /// has that name.
  virtual absl::Status Create(const std::string& name, const std::string& contents) = 0;
  /// A reader sees the old contents or the new, never a part.
  virtual absl::Status Replace(const std::string& name, const std::string& contents) = 0;
  /// The names of the files in a folder, without it, sorted; none where there is no folder.
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder);
  /// The same of those that are being written, or whose writer was killed meanwhile; they have
  /// names of their own until they are whole.
  absl::StatusOr<std::vector<std::string>> ListUnfinished(const std::string& folder);
  /// As Create(), with the contents of the file `path` of this machine, of any size. Its errno
  /// codes, too.
  virtual absl::Status CreateFrom(const std::string& name, const std::string& path) = 0;
  /// NotFound – there is no such file.
  virtual absl::StatusOr<StoredFile> Describe(const std::string& name) = 0;
  /// A file, or a folder with all below it; nothing there is fine.
  virtual absl::Status Remove(const std::string& name) = 0;

 protected:
  /// What names of files begin with that are not whole yet, as os/files/files.h has it.
  static constexpr char kUnfinished[] = ".tony-";

 private:
  /// Of all files in a folder, in any order; none where there is no folder.
  virtual absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) = 0;
  absl::StatusOr<std::vector<std::string>> ListThose(const std::string& folder, bool unfinished);
};

}  // namespace tony::storage
