// What is found of Hadoop on this node, so that the user's program can read HDFS by itself.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "core/runtime/runtime.h"

namespace tony::executor {

/// The result of a search. A plain value.
struct HadoopEnvironment {
  core::Environment variables;     ///< to be laid over the task's
  std::vector<std::string> notes;  ///< sentences for the executor's log
};

/// `environment` is the container's with the job's own variables laid over it; without a sign of
/// Hadoop in it, or with SKIP_HADOOP_PATH, nothing is looked for (core/runtime/hadoop_variables.h).
///
/// Hadoop's class path is asked for once, by the first of the job's containers on this node; the
/// others wait for that and read it below `cache_folder`, as they do the sentence where it was not
/// to be had within `limit`. A libhdfs.so in `working_folder`, a file of the job, is preferred to
/// the node's. What is missing is a note, never an error: the program may not need it. Blocks.
HadoopEnvironment FindHadoop(const core::Environment& environment, const std::string& cache_folder,
                             const std::string& working_folder, Duration limit);

}  // namespace tony::executor
