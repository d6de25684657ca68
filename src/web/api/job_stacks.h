// The ports through which the API sees where a job's programs are, and where they were.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/record/job_view.h"
#include "core/stacks/stack_report.h"

namespace tony::web {

/// Not thread safe: owned by the event loop.
class JobStacks {
 public:
  using Answer = std::function<void(const absl::StatusOr<core::StackReport>& report)>;

  virtual ~JobStacks() = default;
  /// The newest stacks of all tasks; null: none have been taken.
  virtual const core::StackReport* last() const = 0;
  /// Takes the stacks of all tasks. `answer` follows within seconds and may be called at once.
  /// ResourceExhausted – too many requests are going on.
  virtual void TakeAll(Answer answer) = 0;
};

/// Stacks that were kept as a text: of one attempt before its program was ended, or of all tasks
/// when the job seemed to hang. Plain data.
struct KeptStacksText {
  std::string task;  ///< empty: all tasks
  int attempt = 0;   ///< 0: all tasks
  std::string text;
  bool cut = false;  ///< the text goes on where it is kept
};

/// Those that a page shows. Plain data.
struct KeptStacksPage {
  std::vector<KeptStacksText> texts;
  int left_out = 0;  ///< texts for which there was no room, or that could not be read
};

/// Not thread safe: owned by the event loop.
class KeptStacks {
 public:
  using Take = std::function<void(absl::StatusOr<KeptStacksPage>)>;
  using Abandoned = std::shared_ptr<const std::atomic<bool>>;

  virtual ~KeptStacks() = default;
  /// Reads what was kept of the job's tasks. `take` is called on the loop, perhaps from within the
  /// call, and not after this object is gone. ResourceExhausted – too much is being read.
  virtual void Read(const core::JobView& view, Abandoned abandoned, Take take) = 0;
};

}  // namespace tony::web
