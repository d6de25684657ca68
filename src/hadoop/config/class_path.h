// The class path of Hadoop's Java client, for programs that run it in their own JVM (libhdfs).
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::hadoop {

/// The path of the command `hadoop`: the one in the installation that HADOOP_HDFS_HOME, HADOOP_HOME
/// or HADOOP_COMMON_HOME names, else the first one in PATH; empty if there is none. `environment`
/// maps names of variables to values.
std::string FindHadoopCommand(const std::map<std::string, std::string>& environment);

/// `class_path` with each entry FOLDER/* replaced by the jars in FOLDER, sorted by name. The java
/// command expands wildcards itself; a JVM inside another program does not. Empty entries are left
/// out.
std::string ExpandClassPath(const std::string& class_path);

/// The output of `command classpath`, with its wildcards expanded. The command is a shell script of
/// Hadoop; it starts no JVM, because it is not asked to expand wildcards. A result that is too long
/// for an environment variable keeps its wildcards: libhdfs expands them itself since Hadoop 3.3.
/// Blocks.
///
/// DeadlineExceeded – the command did not end within `limit` and was killed together with its
/// children; FailedPrecondition – the command failed, or its output names no existing jar;
/// otherwise the codes of os::Subprocess::Start().
absl::StatusOr<std::string> ReadClassPath(const std::string& command,
                                          const std::map<std::string, std::string>& environment,
                                          Duration limit);

}  // namespace tony::hadoop
