// Downloads an image by the engine.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "backend/image/engine.h"
#include "common/clock.h"

namespace tony::backend {

/// How a download goes on. Not thread safe: both are called on the caller's thread.
struct PullProgress {
  /// A line that the engine has printed.
  std::function<void(const std::string& line)> on_line;
  /// The engine has printed nothing for `pause`; `elapsed` is the time since the start.
  std::function<void(Duration elapsed)> on_silence;
  Duration pause = std::chrono::seconds(10);
};

/// Runs `pull`. Blocks, at most `limit`. A signal from the terminal reaches the engine too.
/// FailedPrecondition – the engine refuses, with its reason. DeadlineExceeded – it took longer than
/// `limit` and was killed. Otherwise the codes of os::Subprocess::Start().
absl::Status PullImage(const Engine& engine, const std::string& image, Duration limit,
                       const PullProgress& progress);

}  // namespace tony::backend
