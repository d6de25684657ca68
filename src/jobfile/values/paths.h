// Paths in a configuration: home folders (`~`), relative paths, and URIs. Pure functions of the
// text; files.h accesses the file system.
#pragma once

#include <string>

namespace tony::jobfile {

/// The scheme of a URI in lower case: `hdfs` for `hdfs://host/file`. Empty for a path, and for a
/// `file:` URI, which is a path as well.
std::string UriScheme(const std::string& path);

/// The absolute form of `path`. `~` is replaced by `home_folder`, unless that is empty; a relative
/// path is relative to `folder`; `file:` and trailing slashes are removed. A URI of another scheme
/// and an empty path are returned unchanged.
std::string ResolvePath(const std::string& path, const std::string& folder,
                        const std::string& home_folder);

}  // namespace tony::jobfile
