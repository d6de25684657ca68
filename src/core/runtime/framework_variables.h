// The variables by which the tasks of each framework find each other.
#pragma once

#include "core/runtime/task_context.h"

namespace tony::core {

/// TF_CONFIG and CLUSTER_SPEC, which TensorFlow's distribution strategies read. Sidecars never
/// stand in the cluster; an evaluator sees itself in it, the others do not see it.
void AddTensorFlowVariables(const TaskContext& context, Environment& environment);

/// The variables of torch.distributed's env:// rendezvous, and TonY's older names for them. RANK is
/// the index among the workers; worker:0's reserved port is the master's. Other types get no rank.
void AddPyTorchVariables(const TaskContext& context, Environment& environment);

/// What Horovod's launcher sets for the processes that it starts (horovod/runner/gloo_run.py). The
/// driver gets CLUSTER_WORKER_LIST, as TonY calls it: "host:2,other:1".
void AddHorovodVariables(const TaskContext& context, Environment& environment);

/// The variables of the context's framework; a standalone program has none.
void AddFrameworkVariables(const TaskContext& context, Environment& environment);

}  // namespace tony::core
