// What is constructed last is destroyed first: the thread, then the server, then what both use.
#include "portal/portal.h"

#include <unistd.h>

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "jobfile/values/bearer_token.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "os/files/user_names.h"
#include "os/network/peer_user.h"
#include "portal/login/header_access.h"
#include "portal/login/own_access.h"
#include "portal/login/users_access.h"
#include "portal/shared_use.h"
#include "rpc/security/credentials.h"
#include "storage/job_folder.h"

namespace tony::portal {
namespace {

absl::Status CannotShow(const std::string& location, const absl::Status& why) {
  return absl::Status(why.code(), absl::StrCat("the portal cannot show the jobs of ", location,
                                               ": ", std::string(why.message())));
}

/// What is in a location is shown as this user's own: nobody else may put it there.
absl::Status CheckLocations(const std::vector<std::string>& locations) {
  for (const std::string& location : locations) {
    absl::Status opened = os::OpenOwnFolder(location).status();
    if (opened.ok()) {
      opened = os::OpenOwnFolder(storage::JobsFolder(location)).status();
      if (absl::IsNotFound(opened)) continue;  // the first job makes it
    }
    if (!opened.ok()) return CannotShow(location, opened);
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

/// What is copied, each once, in the order in which the folders of copies become locations.
std::vector<MirrorSource> SourcesOf(const Options& options) {
  std::vector<MirrorSource> sources;
  if (options.with_cluster) {
    sources.push_back(ClusterSource(options.index_folder, options.cluster, EnvironmentVariable));
  }
  std::set<std::string> seen;
  for (const HdfsLocation& location : options.hdfs_locations) {
    if (!seen.insert(location.ToString()).second) continue;
    sources.push_back(
        LocationSource(options.index_folder, location, options.cluster, EnvironmentVariable));
  }
  return sources;
}

LogClusters LogClustersOf(const std::vector<MirrorSource>& sources) {
  LogClusters clusters;
  for (const MirrorSource& source : sources) {
    if (source.find_cluster != nullptr) clusters.emplace(source.folder, source.find_cluster);
  }
  return clusters;
}

/// Limits of a portal of several users, whose browsers hold up to six connections each.
constexpr size_t kSharedConnections = 512;
/// Also where a program reads the metrics of all running jobs.
constexpr size_t kSharedOpenJobs = 64;

/// Null: no file is given. The codes of rpc::ReadSecretFile() and jobfile::ParseBearerToken().
absl::StatusOr<std::unique_ptr<web::MetricsToken>> ReadMetricsToken(const Clock& clock,
                                                                    const Options& options) {
  const std::string& file = options.metrics_token_file;
  if (file.empty()) return nullptr;
  TONY_ASSIGN_OR_RETURN(const std::string text, rpc::ReadSecretFile(file));
  TONY_ASSIGN_OR_RETURN(std::string token, jobfile::ParseBearerToken(text, file));
  return std::make_unique<web::MetricsToken>(clock, std::move(token));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Portal>> Portal::Start(EventLoop& loop, const Clock& clock,
                                                      const Options& given) {
  std::unique_ptr<Portal> portal(new Portal);
  Options options = given;
  TONY_ASSIGN_OR_RETURN(portal->lock_, LockIndex(options.index_folder));
  const std::vector<MirrorSource> sources = SourcesOf(options);
  for (const MirrorSource& source : sources) {
    TONY_RETURN_IF_ERROR(os::OpenOrMakeOwnFolder(source.folder).status());
    options.locations.push_back(source.folder);
  }
  TONY_RETURN_IF_ERROR(CheckLocations(options.locations));
  for (const std::string& folder : options.tony_histories) {
    const absl::Status opened = os::OpenOwnFolder(folder).status();
    if (!opened.ok()) return CannotShow(folder, opened);
  }
  TONY_ASSIGN_OR_RETURN(portal->index_, JobIndex::Open(options.index_folder));
  portal->indexer_ =
      std::make_unique<Indexer>(options.locations, *portal->index_, clock, options.tony_histories);
  TONY_ASSIGN_OR_RETURN(portal->metrics_token_, ReadMetricsToken(clock, options));
  TONY_RETURN_IF_ERROR(portal->StartServer(loop, options));
  TONY_RETURN_IF_ERROR(portal->MakeAccess(loop, clock, options));
  const bool many = options.shared.wanted() || portal->metrics_token_ != nullptr;
  portal->site_ = std::make_unique<PortalSite>(PortalSite::Parts{
      loop, clock, *portal->access_, *portal->index_, *portal->indexer_, options.locations,
      options.tony_histories, many ? kSharedOpenJobs : OpenJobs::kMost,
      portal->metrics_token_.get(), LogClustersOf(sources)});
  portal->thread_ = std::make_unique<IndexerThread>(*portal->indexer_);
  portal->StartMirrors(sources, clock);
  return portal;
}

// All are told before one is waited for.
Portal::~Portal() {
  for (const auto& mirror : mirrors_) mirror->RequestStop();
}

void Portal::StartMirrors(const std::vector<MirrorSource>& sources, const Clock& clock) {
  for (const MirrorSource& source : sources) {
    mirrors_.push_back(std::make_unique<MirrorThread>(
        source, clock,
        [indexer = indexer_.get(), folder = source.folder](const std::string& trouble) {
          indexer->SetSourceTrouble(folder, trouble);
        }));
  }
}

// No request is read before Start() has returned to the loop, and the site is there by then.
absl::Status Portal::StartServer(EventLoop& loop, const Options& options) {
  const SharedUse& shared = options.shared;
  web::HttpServer::Limits limits;
  web::HttpServer::Extras extras;
  if (shared.wanted()) limits.connections = kSharedConnections;
  if (!shared.certificate.empty()) {
    TONY_ASSIGN_OR_RETURN(tls_, RenewedTls::Open(loop, shared.certificate, shared.key));
    extras.wrap = [this](int descriptor) { return tls_->Wrap(descriptor); };
  }
  extras.user_header = shared.proxy_header;
  PeerCheck peers = os::LoopbackPeerCheck();
  if (shared.wanted()) {
    TONY_ASSIGN_OR_RETURN(peers, SharedPeerCheck(shared));
  }
  TONY_ASSIGN_OR_RETURN(
      server_,
      web::HttpServer::Start(
          loop, shared.wanted() ? shared.address : "127.0.0.1",
          shared.wanted() ? shared.port : options.port, std::move(peers),
          [this](const web::HttpRequest& request, const web::HttpServer::Respond& respond) {
            site_->Handle(request, respond);
          },
          limits, [this](const std::string& path) { return site_->Allowed(path); },
          std::move(extras)));
  return absl::OkStatus();
}

absl::Status Portal::MakeAccess(EventLoop& loop, const Clock& clock, const Options& options) {
  const SharedUse& shared = options.shared;
  if (!shared.wanted()) {
    auto own = std::make_unique<OwnAccess>(clock, server_->port(), os::UserName(::geteuid()));
    invite_ = [own = own.get()] { return own->Invite(); };
    access_ = std::move(own);
    return absl::OkStatus();
  }
  invite_ = [url = AddressOf(shared)] { return url; };
  if (shared.users.empty()) {
    access_ = std::make_unique<HeaderAccess>(HeaderAccess::Options{
        shared.proxy_header, shared.proxy_from, shared.control, CalledNames(shared)});
    return absl::OkStatus();
  }
  TONY_ASSIGN_OR_RETURN(access_,
                        UsersAccess::Create({loop, clock, shared.users, CalledNames(shared)}));
  return absl::OkStatus();
}

}  // namespace tony::portal
