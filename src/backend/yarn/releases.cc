// A map by container id as text; the flag `told` separates what still has to be told.
#include "backend/yarn/releases.h"

#include <algorithm>

#include "backend/yarn/container_id.h"

namespace tony::backend {

void Releases::Add(const ::hadoop::yarn::ContainerIdProto& id) {
  releases_.emplace(ContainerIdText(id), Release{.id = id});
}

void Releases::Forgotten() {
  for (auto& [text, release] : releases_) release.told = false;
}

std::vector<::hadoop::yarn::ContainerIdProto> Releases::Tell() {
  std::vector<::hadoop::yarn::ContainerIdProto> ids;
  for (auto& [text, release] : releases_) {
    if (release.told) continue;
    ids.push_back(release.id);
    release.told = true;
  }
  return ids;
}

bool Releases::untold() const {
  return std::any_of(releases_.begin(), releases_.end(),
                     [](const auto& entry) { return !entry.second.told; });
}

}  // namespace tony::backend
