// What a task finds in its environment: general variables, and those of the job's framework.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/cluster/cluster_spec.h"
#include "core/model/job_description.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

using Environment = std::map<std::string, std::string>;

/// Where one of Horovod's processes belongs, and where it finds the others.
struct HorovodPlace {
  Slot slot;
  std::string address;     ///< of the rendezvous server: a name, or a number of version 4
  int port = 0;            ///< likewise
  bool elastic = false;    ///< others may come and go
  int round = 0;           ///< of an elastic job's, in which the process begins
  std::string interfaces;  ///< of the network, divided by commas; empty: the process finds one
};

/// Everything that the environment depends on.
struct TaskContext {
  TaskId task;
  Framework framework = Framework::kTensorFlow;
  std::string job_id;
  std::string container_id;
  int epoch = 0;
  int attempt = 1;        ///< starts of this task, this one included
  int tracked_tasks = 0;  ///< TASK_NUM
  bool chief = false;
  int visualization_port = 0;  ///< 0: none
  std::string checkpoint_folder;
  std::string gpus;              ///< "0,1"; empty: the task must see none
  Environment user_environment;  ///< wins over everything but the task's identity
  ClusterSpec cluster;
  std::optional<HorovodPlace> horovod;  ///< of one of Horovod's processes
};

/// The variables of one framework. Stateless, thread safe.
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// Adds the framework's variables.
  virtual void Render(const TaskContext& context, Environment& environment) const = 0;
};

/// The runtime of a framework; lives as long as the program.
const Runtime& RuntimeOf(Framework framework);

/// General variables, the framework's, then the user's own. The base (PATH, HOME, …) is the
/// caller's.
Environment RenderEnvironment(const TaskContext& context);

/// The task that owns TensorBoard's port and whose failure always counts: `chief:0`, else
/// `worker:0`; for a job with neither there is none.
bool IsChief(const TaskId& task, bool job_has_chief_type);

/// "tensorflow", "pytorch", "standalone", "horovod"
std::string FrameworkName(Framework framework);
/// Inverse of FrameworkName; nothing for an unknown name.
std::optional<Framework> ParseFramework(const std::string& name);

}  // namespace tony::core
