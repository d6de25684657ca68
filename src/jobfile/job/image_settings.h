// The images that a job's containers are made from.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// The values of the keys `tony.docker.…`; docs/images.md describes them. A plain value.
struct ImageSettings {
  /// Images by task type, the ApplicationMaster's as "am". Empty: the job's containers have no
  /// image. A type without an image has an empty one.
  std::map<std::string, std::string> by_type;
  std::vector<std::string> mounts;            ///< "source:destination:mode"
  bool rdma = false;                          ///< containers get the adapters for RDMA
  std::string engine;                         ///< "auto", "podman" or "docker"
  std::chrono::milliseconds pull_timeout{0};  ///< for the download of one image

  bool operator==(const ImageSettings&) const = default;
};

/// One entry of ImageSettings::mounts. A plain value.
struct ImageMount {
  std::string source;       ///< on the machine
  std::string destination;  ///< in the container
  bool writable = false;
  std::string propagation;  ///< "rslave", say; empty: the engine's default

  bool operator==(const ImageMount&) const = default;
};

/// Builds the settings from the keys. `types`: the names of the job's task types. On this machine
/// the ApplicationMaster runs without an image, so "am" has one there only in a job without task
/// types, whose only task is the ApplicationMaster's.
ImageSettings BuildImageSettings(const Configuration& configuration,
                                 const std::vector<std::string>& types, bool on_yarn);

/// Splits an entry of ImageSettings::mounts, which CheckImages() has accepted.
ImageMount ParseImageMount(const std::string& mount);

}  // namespace tony::jobfile
