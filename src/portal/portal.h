// The portal: the index, the thread that keeps it new, and the server of its pages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "os/files/unique_fd.h"
#include "portal/index/indexer.h"
#include "portal/index/job_index.h"
#include "portal/login/portal_access.h"
#include "portal/mirror/mirror_thread.h"
#include "portal/options.h"
#include "portal/renewed_tls.h"
#include "portal/site/portal_site.h"
#include "web/access/metrics_token.h"
#include "web/http/http_server.h"

namespace tony::portal {

/// Serves from construction on: on 127.0.0.1 to programs of this user alone, or with
/// Options::shared to those who log in. The index grows meanwhile. Not thread safe: owned by the
/// event loop.
class Portal {
 public:
  /// Both references must outlive the portal. AlreadyExists – another portal uses the index.
  /// PermissionDenied – a folder is not this user's own, or others may write to it, or the file of
  /// users, of the key or of the token is readable for others. NotFound – a location or a file does
  /// not exist. InvalidArgument – certificate, key, users or token cannot be read. The codes of
  /// JobIndex::Open() and TcpListener::Listen().
  static absl::StatusOr<std::unique_ptr<Portal>> Start(EventLoop& loop, const Clock& clock,
                                                       const Options& options);

  ~Portal();

  /// The URL to visit; if the portal is its user's alone, good for one visit.
  std::string Invite() { return invite_(); }

 private:
  Portal() = default;

  /// Each copies on a thread.
  void StartMirrors(const std::vector<MirrorSource>& sources, const Clock& clock);
  absl::Status StartServer(EventLoop& loop, const Options& options);
  absl::Status MakeAccess(EventLoop& loop, const Clock& clock, const Options& options);

  os::UniqueFd lock_;  ///< held as long as the index is used
  std::unique_ptr<JobIndex> index_;
  std::unique_ptr<Indexer> indexer_;
  std::unique_ptr<PortalAccess> access_;
  std::function<std::string()> invite_;
  std::unique_ptr<web::MetricsToken> metrics_token_;  ///< null: there is none
  std::unique_ptr<PortalSite> site_;
  std::unique_ptr<RenewedTls> tls_;  ///< null: plain HTTP
  std::unique_ptr<web::HttpServer> server_;
  std::unique_ptr<IndexerThread> thread_;
  std::vector<std::unique_ptr<MirrorThread>> mirrors_;  ///< of clusters and of locations in HDFS
};

}  // namespace tony::portal
