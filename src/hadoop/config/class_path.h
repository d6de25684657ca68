// The class path of Hadoop's Java client, for programs that run it in a JVM of their own (libhdfs).
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::hadoop {

/// The path of Hadoop's command, `hadoop`: in the installation that HADOOP_HDFS_HOME, HADOOP_HOME
/// or HADOOP_COMMON_HOME names, else in PATH. `environment` is by name. Empty: there is none.
std::string FindHadoopCommand(const std::map<std::string, std::string>& environment);

/// Each entry FOLDER/* replaced by the jars in FOLDER, in the order of their names, as the java
/// command does and a JVM inside of another program does not; empty entries are left out.
std::string ExpandClassPath(const std::string& class_path);

/// What `command classpath` prints, expanded. That is a shell script of Hadoop, which starts no JVM
/// as long as it need not expand anything. Where the result is too long for an environment variable
/// the wildcards stay: libhdfs expands them itself from Hadoop 3.3 on. Blocks.
///
/// DeadlineExceeded – it did not end within `limit` and was killed, with what it has started;
/// FailedPrecondition – it failed, or what it printed names no jar; else the codes of
/// os::Subprocess::Start().
absl::StatusOr<std::string> ReadClassPath(const std::string& command,
                                          const std::map<std::string, std::string>& environment,
                                          Duration limit);

}  // namespace tony::hadoop
