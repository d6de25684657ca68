// What HDFS knows of a file.
#pragma once

#include <cstdint>
#include <string>

namespace tony::hadoop {

struct HdfsFileStatus {
  std::string name;  ///< without its folder; empty where the file itself was asked for
  bool folder = false;
  int64_t bytes = 0;
  int64_t modified_millis = 0;  ///< since 1970: what a LocalResource has to carry
  int mode = 0;
  std::string owner;
};

}  // namespace tony::hadoop
