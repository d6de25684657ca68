// The metadata of a file or folder in HDFS.
#pragma once

#include <cstdint>
#include <string>

namespace tony::hadoop {

/// The metadata of one file or folder, out of HDFS' FileStatus. A plain value.
struct HdfsFileStatus {
  std::string name;  ///< without the folder; empty in the answer for the file itself
  bool folder = false;
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< since 1970; YARN compares it with a LocalResource's timestamp
  int mode = 0;
  std::string owner;
};

}  // namespace tony::hadoop
