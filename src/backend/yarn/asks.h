// What was asked of YARN and is still to come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/yarn/capability.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/master_protocol.pb.h"

namespace tony::backend {

/// Each type of a request is an ask of its own: with an id, which comes back with each container,
/// and a priority, so that the scheduler never takes two sizes for one. The ResourceManager is told
/// an ask once and counts down by itself, as is done here. Asks are ResourceRequests, or in a job
/// of which any type has tags or a placement constraint SchedulingRequests, all of them: the
/// CapacityScheduler passes those over that come together with others.
/// Not thread safe.
class Asks {
 public:
  explicit Asks(AllocationOptions options) : options_(std::move(options)) {}

  void Add(const std::vector<core::ContainerRequest>& requests);
  /// Nothing of it is wanted any more.
  void Cancel();
  /// The ResourceManager was restarted and knows of none.
  void Forgotten();

  /// The ResourceManager does not go on looking for so many of an ask. What it is for; nothing when
  /// nobody wants them.
  std::optional<std::string> Rejected(int64_t allocation_request_id, int count);
  /// Those that were rejected are to be told again.
  void Retry();

  /// Adds what the ResourceManager is to be told now, and then was. Nothing mostly.
  void Tell(::hadoop::yarn::AllocateRequestProto* request);
  /// The ResourceManager took nothing of what Tell() gave last, and never will: that is dropped.
  /// False when that was nothing.
  bool Refused();
  /// Whether Tell() would say something.
  bool untold() const;

  /// The type of job that a container with this id is for; nothing when nobody wants it.
  std::optional<std::string> Take(int64_t allocation_request_id);

  /// Containers that are to come.
  int missing() const;
  /// "2 worker (2048 MiB, 1 core, 1 yarn.io/gpu, label gpu), 1 ps (512 MiB, 1 core, placed
  /// notin,node,ps)".
  std::string DescribeMissing() const;

 private:
  struct Ask {
    int64_t id = 0;
    std::string type;
    int missing = 0;  ///< 0: it was cancelled, which is still to be told
    ::hadoop::yarn::ResourceProto capability;
    std::string label;
    jobfile::TypePlacement placement;
    int rejected = 0;  ///< of the missing ones
    bool told = false;
  };

  static ::hadoop::yarn::ResourceRequestProto ResourceRequest(const Ask& ask);
  static ::hadoop::yarn::SchedulingRequestProto SchedulingRequest(const Ask& ask);

  const AllocationOptions options_;
  int64_t last_id_ = 0;
  std::vector<Ask> asks_;
  std::vector<int64_t> last_told_;
};

}  // namespace tony::backend
