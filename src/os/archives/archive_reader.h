// Unpacks archives that nobody has reason to trust: tar, tar.gz, tar.zst and zip.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "os/archives/archive_checker.h"

namespace tony::os {

/// What was unpacked, or would be.
struct UnpackSummary {
  int64_t entries = 0;
  int64_t bytes = 0;  ///< of the files' contents
  std::map<std::string, std::string>
      held_links;  ///< path to target, see UnpackOptions::hold_back_link
};

/// Unpacks into `destination`, which is made (mode 0700) if missing. The format is recognised by
/// its contents, whatever the file is called. Nothing outside the destination is ever written, made
/// or changed, and nothing in it that was there before: folders are shared, any other clash is an
/// error. Owners and special bits are dropped; permissions are kept but for write permission of
/// group and others; one's own folders and files stay readable to oneself.
///
/// Names keep their bytes, but that libarchive composes accented letters (Unicode NFC) where a
/// foreign archive says that its names are UTF-8.
///
/// InvalidArgument – no archive of these kinds, truncated or corrupt, or an entry that is not
/// allowed: absolute or ".." in its name, through or out by a link, device, pipe, socket;
/// ResourceExhausted – beyond the limits, or no space; AlreadyExists – an entry would replace
/// something; FailedPrecondition – something that is no folder is in the way; other errno codes.
/// Messages name the archive and the entry. After an error what was unpacked until then remains.
absl::StatusOr<UnpackSummary> UnpackArchive(const std::string& archive,
                                            const std::string& destination,
                                            const UnpackOptions& options = {});

/// Applies the checks of UnpackArchive that need no destination, without writing anything. For a
/// zip this reads only the directory; a compressed tar is decompressed. Damage inside a file's
/// contents is not seen. Codes as UnpackArchive.
absl::StatusOr<UnpackSummary> CheckArchive(const std::string& archive,
                                           const UnpackOptions& options = {});

}  // namespace tony::os
