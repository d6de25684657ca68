// Containers that are given back to YARN.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// Each is told to the ResourceManager once, and again to one that was restarted, until it says
/// that the container is over. Not thread safe.
class Releases {
 public:
  /// Nothing where it was given back before.
  void Add(const ::hadoop::yarn::ContainerIdProto& id);
  /// The container is over.
  void Over(const std::string& container_id) { releases_.erase(container_id); }
  /// The ResourceManager was restarted and knows of none.
  void Forgotten();

  /// What the ResourceManager is to be told now, and then was.
  std::vector<::hadoop::yarn::ContainerIdProto> Tell();
  /// Whether Tell() would say something.
  bool untold() const;

 private:
  struct Release {
    ::hadoop::yarn::ContainerIdProto id;
    bool told = false;
  };
  std::map<std::string, Release> releases_;
};

}  // namespace tony::backend
