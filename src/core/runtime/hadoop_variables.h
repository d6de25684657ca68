// What a program needs in its environment to read and write HDFS by itself.
#pragma once

#include <string>

#include "core/runtime/runtime.h"

namespace tony::core {

/// What was found of Hadoop where the task runs; what was not found is empty. A plain value.
struct HadoopInstallation {
  std::string home;             ///< the folder of bin/hadoop
  std::string configuration;    ///< the folder of core-site.xml below `home`
  std::string java_home;        ///< of a Java that lies in PATH
  std::string jvm_folder;       ///< where libjvm.so lies
  std::string libhdfs_folder;   ///< where libhdfs.so lies
  bool libhdfs_of_job = false;  ///< it is a file of the job, and is to be found by its name
  std::string class_path;       ///< of Hadoop's client, without wildcards
};

/// Whether `environment` says that there is a Hadoop: its configuration, one of its homes, or a
/// file of tokens.
bool IsHadoopConfigured(const Environment& environment);

/// Whether the user wants none of it: TonY's SKIP_HADOOP_PATH, with whatever value.
bool SkipsHadoop(const Environment& environment);

/// The variables that are to be laid over `environment`, the container's with the job's own laid
/// over it. What is there already stays as it is; but LD_LIBRARY_PATH gets libjvm.so's folder,
/// which libhdfs.so needs, at its end. In a container of YARN the program acts as the job's owner,
/// not as the user who runs the NodeManager; where there is Kerberos, tokens say who it is and this
/// is of no meaning.
Environment HadoopVariables(const Environment& environment, const HadoopInstallation& installation);

}  // namespace tony::core
