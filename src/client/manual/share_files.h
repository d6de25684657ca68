// The files that an installation shares with other programs: manual pages and completion.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// One file. Plain data.
struct ShareFile {
  std::string path;  ///< below the folder "share", where man and the shells look for it
  std::string text;
};

/// All files: the pages of ManualPages(), and the scripts of all CompletionShells().
std::vector<ShareFile> ShareFiles();

}  // namespace tony::client
