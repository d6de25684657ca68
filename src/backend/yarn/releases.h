// Containers that are given back to YARN.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// Tells the ResourceManager each release once, and again after its restart, until it reports that
/// the container is over. Not thread safe.
class Releases {
 public:
  /// Adds a release; does nothing if the container was given back before.
  void Add(const ::hadoop::yarn::ContainerIdProto& id);
  /// The ResourceManager has reported that the container is over.
  void Over(const std::string& container_id) { releases_.erase(container_id); }
  /// The ResourceManager was restarted and has lost all releases.
  void Forgotten();

  /// The ids that the ResourceManager must be told now; they then count as told.
  std::vector<::hadoop::yarn::ContainerIdProto> Tell();
  /// Whether Tell() would return something.
  bool untold() const;

 private:
  struct Release {
    ::hadoop::yarn::ContainerIdProto id;
    bool told = false;
  };
  std::map<std::string, Release> releases_;
};

}  // namespace tony::backend
