// Keeps track of the containers that were asked of YARN and have not come yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/yarn/capability.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/master_protocol.pb.h"

namespace tony::backend {

/// Each type of a request becomes an ask of its own with two properties: an id, which comes back
/// with each container, and a priority of its own, so that the scheduler never takes two sizes for
/// one. The ResourceManager is told an ask once and counts down by itself; this class counts down
/// in the same way. All asks are ResourceRequests. If any type of the job has tags or a placement
/// constraint, all are SchedulingRequests instead: the CapacityScheduler ignores these when they
/// come together with ResourceRequests. Not thread safe.
class Asks {
 public:
  explicit Asks(AllocationOptions options) : options_(std::move(options)) {}

  void Add(const std::vector<core::ContainerRequest>& requests);
  /// Drops everything that was asked for.
  void Cancel();
  /// The ResourceManager was restarted and has lost all asks.
  void Forgotten();

  /// The ResourceManager has given up `count` containers of an ask. Returns the job type of the
  /// ask; nullopt if it is not wanted any more.
  std::optional<std::string> Rejected(int64_t allocation_request_id, int count);
  /// Marks the rejected asks to be told again.
  void Retry();

  /// Adds what the ResourceManager must be told now; it then counts as told. Mostly adds nothing.
  void Tell(::hadoop::yarn::AllocateRequestProto* request);
  /// The ResourceManager took nothing of what Tell() added last, and never will: drops that. False
  /// if Tell() had added nothing.
  bool Refused();
  /// Whether Tell() would add something.
  bool untold() const;

  /// The job type that a container with this id is for; nullopt if no such container is wanted.
  std::optional<std::string> Take(int64_t allocation_request_id);

  /// Number of containers that have not come yet.
  int missing() const;
  /// Example: "2 worker (2048 MiB, 1 core, 1 yarn.io/gpu, label gpu), 1 ps (512 MiB, 1 core, placed
  /// notin,node,ps)".
  std::string DescribeMissing() const;

 private:
  struct Ask {
    int64_t id = 0;
    std::string type;
    int missing = 0;  ///< 0: cancelled, but the ResourceManager has not been told
    ::hadoop::yarn::ResourceProto capability;
    std::string label;
    jobfile::TypePlacement placement;
    int rejected = 0;    ///< part of the missing ones
    bool told = false;   ///< nothing has changed since the ResourceManager was told
    bool known = false;  ///< the ResourceManager was told once, and may still hold a part of it
  };

  static ::hadoop::yarn::ResourceRequestProto ResourceRequest(const Ask& ask);
  static ::hadoop::yarn::SchedulingRequestProto SchedulingRequest(const Ask& ask);

  const AllocationOptions options_;
  int64_t last_id_ = 0;
  std::vector<Ask> asks_;
  std::vector<int64_t> last_told_;
};

}  // namespace tony::backend
