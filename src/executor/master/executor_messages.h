// The messages of an executor to its ApplicationMaster, built from plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/job/job_input.h"
#include "core/stacks/stack_report.h"
#include "core/tasks/task_exit.h"
#include "core/tasks/task_usage.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// One run of the task's program, which all messages about it name.
struct TaskRun {
  int epoch = 0;
  int attempt = 0;
};

/// The first message of a stream.
struct HelloContents {
  std::string container_id;
  std::string containment;                    ///< name of the keeper's containment
  std::string boot_id;                        ///< boot id of the machine
  std::optional<core::input::HeldTask> held;  ///< empty on the first stream
};

v1::ExecutorMessage HelloMessage(const HelloContents& contents);
v1::ExecutorMessage RegisteredMessage(TaskRun run, int task_port, int visualization_port);
v1::ExecutorMessage StartedMessage(TaskRun run, int64_t pid);
v1::ExecutorMessage EndedMessage(TaskRun run, const core::TaskExit& exit);
/// A heartbeat that is to be answered. The answer repeats `sent`, and renews the lease from it.
v1::ExecutorMessage HeartbeatMessage(TimePoint sent);
/// `holder`: description of the process that listens on the task's reserved `port`. Text that is
/// not UTF-8 is made so.
v1::ExecutorMessage PortTakenMessage(int epoch, int port, const std::string& holder);
v1::ExecutorMessage TaskNoteMessage(const std::string& sentence);
/// `silent_millis`: how long the program has printed nothing; 0: it has printed something again.
v1::ExecutorMessage SilentMessage(TaskRun run, int64_t silent_millis, double cpu_share);
/// Whether anything listens on the task's visualization port.
v1::ExecutorMessage VisualizationMessage(TaskRun run, bool listens);
/// The ranks of the task's program say that they wait for each other; empty: they go on. Text that
/// is not UTF-8 is made so.
v1::ExecutorMessage StallMessage(TaskRun run, const std::string& sentence);
/// The stacks of the program's processes, for request `request`. `trouble`: why there are none;
/// empty: there are.
v1::ExecutorMessage StacksMessage(TaskRun run, int64_t request,
                                  const std::vector<core::ProcessDump>& dumps,
                                  const std::string& trouble);
/// The last message. `lost`: the executor was not told to end. Text that is not UTF-8 is made so.
v1::ExecutorMessage LeavingMessage(bool lost, const std::string& sentence);

}  // namespace tony::executor
