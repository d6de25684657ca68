// Interface for the small files of a job that outlive its ApplicationMaster, wherever they are
// stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::storage {

/// Size and time of a file in the storage. A plain value.
struct StoredFile {
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< since 1970
};

/// A job's files. Names are relative to the job's own place, "journal/00000001.json"; the folders
/// in them are made when needed. Files are accessible only to their owner. Calls may block for as
/// long as the storage takes: do not call them on an event loop, unless the implementation allows
/// it. Not thread safe.
///
/// All calls: Unavailable – the storage cannot be reached; PermissionDenied; ResourceExhausted – no
/// room, or a quota. Messages name the file.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// The contents of a file. NotFound – there is no such file.
  virtual absl::StatusOr<std::string> Read(const std::string& name) = 0;
  /// Makes a new file: whole, or not at all. Of several concurrent callers one succeeds.
  /// AlreadyExists – something has that name.
  virtual absl::Status Create(const std::string& name, const std::string& contents) = 0;
  /// Makes or replaces a file. A reader sees the old contents or the new ones, never a part.
  virtual absl::Status Replace(const std::string& name, const std::string& contents) = 0;
  /// The names of the files in a folder, without the folder's name, sorted; none where there is no
  /// folder.
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder);
  /// Like List(), for the files that are being written, or whose writer was killed meanwhile. Such
  /// a file has a name of its own until it is whole.
  absl::StatusOr<std::vector<std::string>> ListUnfinished(const std::string& folder);
  /// Like Create(), with the contents of the file `path` of this machine, of any size. Also the
  /// errno codes of reading that file.
  virtual absl::Status CreateFrom(const std::string& name, const std::string& path) = 0;
  /// Size and time of a file. NotFound – there is no such file.
  virtual absl::StatusOr<StoredFile> Describe(const std::string& name) = 0;
  /// Removes a file, or a folder with everything below it. A missing file is no error.
  virtual absl::Status Remove(const std::string& name) = 0;

 protected:
  /// Prefix of the names of files that are not whole yet, as in os/files/files.h.
  static constexpr char kUnfinished[] = ".tony-";

 private:
  /// The names of all files in a folder, in any order; none where there is no folder.
  virtual absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) = 0;
  absl::StatusOr<std::vector<std::string>> ListThose(const std::string& folder, bool unfinished);
};

}  // namespace tony::storage
