// Reads the stacks of the task's processes without blocking the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/stacks/stack_report.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// One reading at a time runs on a thread of its own (stack_reader.h). Not thread safe: owned by
/// the event loop.
class TaskStacks {
 public:
  using Done = std::function<void(std::vector<core::ProcessDump> dumps)>;

  /// `loop` and `keeper` (the program's) must outlive this.
  TaskStacks(EventLoop& loop, const os::Keeper& keeper) : loop_(loop), keeper_(keeper) {}
  /// Waits for a reading, which has a time limit. Its `done` is not called any more.
  ~TaskStacks();

  /// A program starts: makes `folder` anew for the files of its processes (TONY_STACKS_DIR), and
  /// returns it. Empty if that fails; then only /proc and tools tell of the program.
  std::string BeginRun(const std::string& folder);
  /// The program and all it has started have ended: removes the folder.
  void EndRun();

  /// Reads all processes of the program's tree within `limit`, and calls `done` on the loop. The
  /// texts have at most `limit_bytes` together. During a reading another one takes its result.
  /// `tools`: folders where py-spy and eu-stack are looked for.
  void Read(std::vector<std::string> tools, Duration limit, size_t limit_bytes, Done done);

  /// To be called now and then: removes files of ended processes, if there are many.
  void Sweep();

 private:
  struct Wish {
    size_t limit_bytes;
    int64_t run_number;
    Done done;
  };

  /// `run`: the number of the run that was read.
  void OnRead(int64_t run, const std::vector<core::ProcessDump>& dumps);

  EventLoop& loop_;
  const os::Keeper& keeper_;
  std::string folder_;
  int64_t run_number_ = 0;            ///< of the runs of this executor's program
  std::vector<std::string> orphans_;  ///< see SweepStacks()
  std::vector<Wish> wishes_;          ///< those that the reading is for; none: there is no reading
  std::thread reader_;
  Lifetime lifetime_;
};

}  // namespace tony::executor
