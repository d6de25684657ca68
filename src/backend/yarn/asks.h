// What was asked of YARN and is still to come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/yarn/capability.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/scheduling.pb.h"

namespace tony::backend {

/// Each type of a request is an ask of its own: with an id, which comes back with each container,
/// and a priority, so that the scheduler never takes two sizes for one. The ResourceManager is told
/// an ask once and counts down by itself, as is done here.
/// Not thread safe.
class Asks {
 public:
  explicit Asks(AllocationOptions options) : options_(std::move(options)) {}

  void Add(const std::vector<core::ContainerRequest>& requests);
  /// Nothing of it is wanted any more.
  void Cancel();
  /// The ResourceManager was restarted and knows of none.
  void Forgotten();

  /// What the ResourceManager is to be told now, and then was. Empty mostly.
  std::vector<::hadoop::yarn::ResourceRequestProto> Tell();
  /// The ResourceManager took nothing of what Tell() gave last, and never will: that is dropped.
  /// False when that was nothing.
  bool Refused();
  /// Whether Tell() would say something.
  bool untold() const;

  /// The type of job that a container with this id is for; nothing when nobody wants it.
  std::optional<std::string> Take(int64_t allocation_request_id);

  /// Containers that are to come.
  int missing() const;
  /// "2 worker (2048 MiB, 1 core, 1 yarn.io/gpu, label gpu), 1 ps (512 MiB, 1 core)".
  std::string DescribeMissing() const;

 private:
  struct Ask {
    int64_t id = 0;
    std::string type;
    int missing = 0;  ///< 0: it was cancelled, which is still to be told
    ::hadoop::yarn::ResourceProto capability;
    std::string label;
    bool told = false;
  };

  ::hadoop::yarn::ResourceRequestProto Message(const Ask& ask) const;

  const AllocationOptions options_;
  int64_t last_id_ = 0;
  std::vector<Ask> asks_;
  std::vector<int64_t> last_told_;
};

}  // namespace tony::backend
