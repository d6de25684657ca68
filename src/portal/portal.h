// The portal: the index, the thread that keeps it new, and the server of its pages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "os/files/unique_fd.h"
#include "portal/index/indexer.h"
#include "portal/index/job_index.h"
#include "portal/mirror/mirror_thread.h"
#include "portal/options.h"
#include "portal/site/portal_site.h"
#include "web/access/code_access.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// Serves from construction on, on 127.0.0.1, to programs of this user alone; the index grows
/// meanwhile. Not thread safe: owned by the event loop.
class Portal {
 public:
  /// Both references must outlive the portal. AlreadyExists – another portal uses the index.
  /// PermissionDenied – a folder is not this user's own, or others may write to it. NotFound – a
  /// location does not exist. The codes of JobIndex::Open() and TcpListener::Listen().
  static absl::StatusOr<std::unique_ptr<Portal>> Start(EventLoop& loop, const Clock& clock,
                                                       const Options& options);

  /// The URL to visit, good for one visit.
  std::string Invite() { return access_->Invite(); }

 private:
  Portal() = default;

  os::UniqueFd lock_;  ///< held as long as the index is used
  std::unique_ptr<JobIndex> index_;
  std::unique_ptr<Indexer> indexer_;
  std::unique_ptr<web::CodeAccess> access_;
  std::unique_ptr<PortalSite> site_;
  std::unique_ptr<web::HttpServer> server_;
  std::unique_ptr<IndexerThread> thread_;
  std::unique_ptr<MirrorThread> mirror_;  ///< null: no cluster's jobs are shown
};

}  // namespace tony::portal
