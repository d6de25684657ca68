// Splits URIs of Hadoop's file systems, and plain paths.
#pragma once

#include <string>

namespace tony::backend {

/// Whether `text` names a file system: "hdfs://name/path", "file:/path".
bool IsUri(const std::string& text);

/// The path in a URI, or the text itself, without slashes at its end; empty for the root and for a
/// URI without a path.
std::string PathOfUri(const std::string& uri);

}  // namespace tony::backend
