// Finds the Hadoop installation of this node, so that the user's program can read HDFS by itself.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "core/runtime/runtime.h"

namespace tony::executor {

/// The result of a search. A plain value.
struct HadoopEnvironment {
  core::Environment variables;     ///< variables to lay over the task's
  std::vector<std::string> notes;  ///< sentences for the executor's log
};

/// `environment`: the container's environment overlaid with the job's own variables. If it shows no
/// sign of Hadoop, or has SKIP_HADOOP_PATH, nothing is searched (core/runtime/hadoop_variables.h).
///
/// The first of the job's containers on this node runs Hadoop's command for the class path. The
/// others wait for it and read the result below `cache_folder`; if the class path was not obtained
/// within `limit`, they read the error message there. A libhdfs.so in `working_folder` (a file of
/// the job) has precedence over the node's. A missing part becomes a note, never an error: the
/// program may not need it. Blocks.
HadoopEnvironment FindHadoop(const core::Environment& environment, const std::string& cache_folder,
                             const std::string& working_folder, Duration limit);

}  // namespace tony::executor
