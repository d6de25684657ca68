// What is constructed last is destroyed first: the thread, then the server, then what both use.
#include "portal/portal.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "os/files/folder_trust.h"
#include "os/network/peer_user.h"
#include "storage/job_folder.h"

namespace tony::portal {
namespace {

/// What is in a location is shown as this user's own: nobody else may put it there.
absl::Status CheckLocations(const std::vector<std::string>& locations) {
  for (const std::string& location : locations) {
    absl::Status opened = os::OpenOwnFolder(location).status();
    if (opened.ok()) {
      opened = os::OpenOwnFolder(storage::JobsFolder(location)).status();
      if (absl::IsNotFound(opened)) continue;  // the first job makes it
    }
    if (opened.ok()) continue;
    return absl::Status(opened.code(), absl::StrCat("the portal cannot show the jobs of ", location,
                                                    ": ", std::string(opened.message())));
  }
  return absl::OkStatus();
}

absl::StatusOr<os::UniqueFd> LockIndex(const std::string& folder) {
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle handle, os::OpenOrMakeOwnFolder(folder));
  absl::StatusOr<os::UniqueFd> lock = os::LockFile(handle, "portal.lock");
  if (!absl::IsAlreadyExists(lock.status())) return lock;
  return absl::AlreadyExistsError(
      absl::StrCat("another portal of yours runs with the index in ", folder,
                   "; Enter in its terminal prints another address, or end it with Ctrl-C there"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Portal>> Portal::Start(EventLoop& loop, const Clock& clock,
                                                      const Options& given) {
  std::unique_ptr<Portal> portal(new Portal);
  Options options = given;
  TONY_ASSIGN_OR_RETURN(portal->lock_, LockIndex(options.index_folder));
  const bool has_cluster = !options.cluster.conf_dir.empty();
  const std::string mirror = MirrorFolder(options.index_folder, options.cluster);
  if (has_cluster) {
    TONY_RETURN_IF_ERROR(os::OpenOrMakeOwnFolder(mirror).status());
    options.locations.push_back(mirror);
  }
  TONY_RETURN_IF_ERROR(CheckLocations(options.locations));
  TONY_ASSIGN_OR_RETURN(portal->index_, JobIndex::Open(options.index_folder));
  portal->indexer_ = std::make_unique<Indexer>(options.locations, *portal->index_, clock);
  TONY_ASSIGN_OR_RETURN(portal->server_,
                        web::HttpServer::Start(
                            loop, "127.0.0.1", options.port, os::LoopbackPeerCheck(),
                            [portal = portal.get()](const web::HttpRequest& request,
                                                    const web::HttpServer::Respond& respond) {
                              portal->site_->Handle(request, respond);
                            },
                            web::HttpServer::Limits{},
                            [portal = portal.get()](const std::string& path) {
                              return portal->site_->Allowed(path);
                            }));
  web::CodeAccess::Options access;
  access.port = portal->server_->port();
  access.what = "tony's portal";
  access.remedy = "Enter in the terminal of  tony portal  prints another address.";
  portal->access_ = std::make_unique<web::CodeAccess>(clock, std::move(access));
  portal->site_ = std::make_unique<PortalSite>(PortalSite::Parts{
      loop, clock, *portal->access_, *portal->index_, *portal->indexer_, options.locations});
  portal->thread_ = std::make_unique<IndexerThread>(*portal->indexer_);
  if (has_cluster) {
    portal->mirror_ = std::make_unique<MirrorThread>(
        mirror, options.cluster, EnvironmentVariable, clock,
        [indexer = portal->indexer_.get()](const std::string& trouble) {
          indexer->SetSourceTrouble(trouble);
        });
  }
  return portal;
}

}  // namespace tony::portal
