// Unpacks untrusted archives: tar, tar.gz, tar.zst and zip.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "os/archives/archive_checker.h"

namespace tony::os {

/// Summary of the files that were unpacked, or would be.
struct UnpackSummary {
  int64_t entries = 0;
  int64_t bytes = 0;  ///< bytes of the files' contents
  std::map<std::string, std::string>
      held_links;  ///< path to target, see UnpackOptions::hold_back_link
};

/// Unpacks into `destination`, which is made (mode 0700) if missing. The format is recognised by
/// its contents, whatever the file's name. Nothing outside the destination is ever written, made or
/// changed, and nothing in it that was there before: folders are shared, any other clash is an
/// error. Owners and special bits are dropped. Permissions are kept, without write permission for
/// group and others; the user's own folders and files stay readable to the user.
///
/// Names keep their bytes, except that libarchive composes accented letters (Unicode NFC) if a
/// foreign archive says that its names are UTF-8.
///
/// InvalidArgument – the file is no archive of these kinds, is truncated or corrupt, or has an
/// entry that is not allowed: its name is absolute or has "..", it lies below a link or is a link
/// that leads outside, or it is a device, pipe or socket. ResourceExhausted – beyond the limits, or
/// no space. AlreadyExists – an entry would replace something. FailedPrecondition – something that
/// is no folder is in the way. Other errno codes. Messages name the archive and the entry. After an
/// error, the files unpacked until then remain.
absl::StatusOr<UnpackSummary> UnpackArchive(const std::string& archive,
                                            const std::string& destination,
                                            const UnpackOptions& options = {});

/// Applies the checks of UnpackArchive() that need no destination, without writing anything. For a
/// zip this reads only the directory; a compressed tar is decompressed. Damage inside a file's
/// contents is not detected. Codes as for UnpackArchive().
absl::StatusOr<UnpackSummary> CheckArchive(const std::string& archive,
                                           const UnpackOptions& options = {});

}  // namespace tony::os
