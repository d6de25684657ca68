// The variables that a program needs to read and write HDFS by itself.
#pragma once

#include <string>

#include "core/runtime/runtime.h"

namespace tony::core {

/// The parts of Hadoop found on the task's machine; a part that was not found is empty. A plain
/// value.
struct HadoopInstallation {
  std::string home;             ///< folder of bin/hadoop
  std::string configuration;    ///< folder of core-site.xml below `home`
  std::string java_home;        ///< home of a Java found in PATH
  std::string jvm_folder;       ///< folder of libjvm.so
  std::string libhdfs_folder;   ///< folder of libhdfs.so
  bool libhdfs_of_job = false;  ///< libhdfs.so is a file of the job, found by its name
  std::string class_path;       ///< class path of Hadoop's client, without wildcards
};

/// True when `environment` names a Hadoop: its configuration, one of its homes, or a token file.
bool IsHadoopConfigured(const Environment& environment);

/// True when the user declines these variables: TonY's SKIP_HADOOP_PATH is set, to any value.
bool SkipsHadoop(const Environment& environment);

/// The variables to add to `environment`, which is the container's with the job's own on top.
/// Existing values stay, except that libjvm.so's folder, which libhdfs.so needs, is appended to
/// LD_LIBRARY_PATH. In a YARN container the program acts as the job's owner, not as the user of the
/// NodeManager; with Kerberos, tokens identify the owner and that setting has no effect.
Environment HadoopVariables(const Environment& environment, const HadoopInstallation& installation);

}  // namespace tony::core
