// Paths in a configuration: `~`, relative ones, and URIs. Plain text work; the file system is asked
// in files.h.
#pragma once

#include <string>

namespace tony::jobfile {

/// `hdfs` of `hdfs://host/file`, in lower case; empty for a path, and for `file:` which means a
/// path.
std::string UriScheme(const std::string& path);

/// The absolute form of `path`: `~` stands for `home_folder` (and stays when that is empty), a
/// relative path belongs to `folder`, `file:` is taken away, a trailing slash too. A URI of another
/// scheme and an empty path stay as they are.
std::string ResolvePath(const std::string& path, const std::string& folder,
                        const std::string& home_folder);

}  // namespace tony::jobfile
