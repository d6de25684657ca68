// The files by which tony-executor runs in an image that has none of them.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::backend {

/// An unpacked runtime bundle (docs/design/runtime-bundle.md). A plain value.
struct ImageRuntime {
  std::string folder;  ///< has bin/, lib/ and python/
  std::string loader;  ///< the dynamic loader in lib/
};

/// The bundle from which this program runs; otherwise the one that was built beside it, unpacked
/// into `local_dir`/runtime. A bundle is unpacked once for all jobs, and removed when no job has
/// been submitted with it for a month and another one is unpacked. Blocks, a second for a new
/// bundle. NotFound – there is no bundle; the message says how to get one. Otherwise the codes of
/// os::UnpackOnce().
absl::StatusOr<ImageRuntime> PrepareRuntime(const std::string& local_dir);

}  // namespace tony::backend
