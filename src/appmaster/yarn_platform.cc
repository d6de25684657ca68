// Assembles the YARN backend's parts: the token file's secrets, the cluster's file system, the page
// behind YARN's proxy.
#include "appmaster/yarn_platform.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "web/access/proxy_access.h"
#include "web/log_source.h"

namespace tony::appmaster {
namespace {

backend::YarnBackend::FinalStatus FinalStatusOf(core::Outcome outcome) {
  using FinalStatus = backend::YarnBackend::FinalStatus;
  switch (outcome) {
    case core::Outcome::kSucceeded:
      return FinalStatus::kSucceeded;
    case core::Outcome::kKilled:
      return FinalStatus::kKilled;
    case core::Outcome::kFailed:
      break;
  }
  return FinalStatus::kFailed;
}

/// The page listens on all addresses, because the proxy runs on other hosts. Connections of all
/// other peers are closed at once.
constexpr char kAllAddresses[] = "0.0.0.0";

std::string OriginOf(const v1::YarnJob::Proxy& proxy, const v1::YarnJob::Endpoint& server) {
  return absl::StrCat(proxy.https() ? "https://" : "http://",
                      hadoop::ToString(backend::EndpointOf(server)));
}

/// The URL under which a person finds the job's page; empty: the proxy is not known.
std::string PageUrl(const v1::YarnJob& job) {
  if (job.proxy().servers().empty()) return "";
  return absl::StrCat(OriginOf(job.proxy(), job.proxy().servers(0)), "/proxy/", job.job_id(), "/");
}

/// The page's URL, or words for where it is.
std::string PlaceOfPage(const v1::YarnJob& job) {
  const std::string url = PageUrl(job);
  return url.empty() ? "the ResourceManager's page of the application" : url;
}

/// An entry to a page that is served from the start.
class ProxyPageEntry : public PageEntry {
 public:
  ProxyPageEntry(std::unique_ptr<JobPage> page, std::string url)
      : page_(std::move(page)), url_(std::move(url)) {}
  absl::StatusOr<std::string> Invite() override { return url_; }
  void Finish(std::function<void()> done) override { page_->Finish(std::move(done)); }

 private:
  const std::unique_ptr<JobPage> page_;
  const std::string url_;
};

/// Serves no logs: the page links to the nodes' own log pages instead.
class NodesLogs : public web::LogSource {
 public:
  void ReadTail(const core::TaskId& /*task*/, int /*attempt*/, Stream /*stream*/, size_t /*most*/,
                Take take) override {
    take(absl::NotFoundError("the node shows it"));
  }
};

/// The last successful run of the name among the newest jobs of the user.
std::optional<web::PreviousRun> FindRunOnCluster(const v1::YarnJob& job,
                                                 const hadoop::TokenStore& tokens,
                                                 const pagedata::RunWish& wish,
                                                 const std::function<bool()>& stop) {
  const absl::StatusOr<std::unique_ptr<storage::JobFiles>> jobs =
      backend::OpenJobsFolder(job, tokens, std::chrono::seconds(5));
  if (!jobs.ok()) return std::nullopt;
  absl::StatusOr<std::vector<std::string>> names = (*jobs)->List("");
  if (!names.ok()) {
    LogInfo("the jobs before this one are not known", {{"why", names.status().message()}});
    return std::nullopt;
  }
  return pagedata::FindStoredRun(wish, **jobs, backend::NewestApplications(*std::move(names)),
                                 stop);
}

}  // namespace

YarnPlatform::YarnPlatform(Options::Yarn yarn, v1::YarnJob job, hadoop::TokenStore tokens,
                           EventLoop& loop)
    : yarn_(std::move(yarn)),
      job_(std::move(job)),
      tokens_(std::move(tokens)),
      loop_(loop),
      folder_(yarn_.working_folder) {}

absl::StatusOr<std::unique_ptr<YarnPlatform>> YarnPlatform::Create(const Options& options,
                                                                   EventLoop& loop) {
  const Options::Yarn& yarn = *options.yarn;
  TONY_ASSIGN_OR_RETURN(hadoop::TokenStore tokens, hadoop::ReadTokenFile(yarn.token_file));
  TONY_ASSIGN_OR_RETURN(v1::YarnJob job, backend::ReadYarnJob(tokens));
  return std::unique_ptr<YarnPlatform>(
      new YarnPlatform(yarn, std::move(job), std::move(tokens), loop));
}

absl::Status YarnPlatform::Claim() {
  // No lock is needed: YARN ends the other attempt, and the attempt that writes the next journal
  // entry first is the one that counts.
  TONY_ASSIGN_OR_RETURN(const std::string configuration,
                        backend::FindSecret(tokens_, backend::kConfigurationSecret));
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder_.job_xml(), configuration));
  TONY_ASSIGN_OR_RETURN(const std::string staged,
                        backend::FindSecret(tokens_, backend::kStagedSecret));
  return os::WriteFileAtomically(folder_.staged(), staged);
}

absl::Status YarnPlatform::ClaimStep() {
  if (!job_.step()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, OpenFiles());
  const absl::Status created = files->Create(backend::kStepClaim, backend::kStepRuns);
  if (!absl::IsAlreadyExists(created)) return created;
  TONY_ASSIGN_OR_RETURN(const std::string claim, files->Read(backend::kStepClaim));
  if (claim == backend::kStepRuns) return absl::OkStatus();
  return absl::AbortedError("Another attempt of the step has taken this job's place");
}

TaskFolders YarnPlatform::folders() const {
  return {"", absl::StrCat(backend::UrlOfFolder(job_), "/", backend::kCheckpointFolder), ""};
}

std::string YarnPlatform::own_log_url() const {
  if (yarn_.node_http_port.empty() || yarn_.container_id.empty()) return "";
  return backend::ContainerLogUrl(absl::StrCat(yarn_.node_host, ":", yarn_.node_http_port),
                                  yarn_.container_id, job_.user());
}

absl::StatusOr<std::unique_ptr<storage::JobFiles>> YarnPlatform::OpenFiles() {
  return backend::OpenJobFolder(job_, tokens_);
}

absl::StatusOr<std::string> YarnPlatform::ReadAuthority() {
  return backend::FindSecret(tokens_, backend::kAuthoritySecret);
}

absl::StatusOr<std::string> YarnPlatform::TokensFor(const std::string& secret) const {
  hadoop::TokenStore store;
  // Executors do not get the AMRMToken, which is the ApplicationMaster's own right.
  for (const auto& [name, token] : tokens_.tokens) {
    if (token.kind != hadoop::kAmRmToken) store.tokens.emplace_back(name, token);
  }
  store.secrets.emplace_back(backend::kCredentialsSecret, secret);
  TONY_ASSIGN_OR_RETURN(std::string job, backend::FindSecret(tokens_, backend::kYarnJobSecret));
  store.secrets.emplace_back(backend::kYarnJobSecret, std::move(job));
  return hadoop::FormatTokens(store, hadoop::TokenFormat::kWritable);
}

absl::StatusOr<std::unique_ptr<core::ClusterBackend>> YarnPlatform::MakeBackend(
    core::ClusterBackend::Listener& listener, const jobfile::BuildResult& built,
    BackendSetup setup) {
  const hadoop::Token* const token = tokens_.Find(hadoop::kAmRmToken);
  if (token == nullptr) {
    return absl::NotFoundError(absl::StrCat(yarn_.token_file, " lacks an AMRMToken"));
  }
  backend::YarnBackendOptions options;
  for (const v1::YarnJob::Endpoint& server : job_.scheduler()) {
    options.scheduler.push_back(backend::EndpointOf(server));
  }
  options.token = *token;
  options.protection = backend::RequiredProtectionOf(job_);
  options.host = yarn_.node_host;
  options.user = job_.user();
  options.tracking_url = page_url_;
  if (!absl::SimpleAtoi(setup.address.substr(setup.address.rfind(':') + 1), &options.rpc_port)) {
    return absl::InternalError(absl::StrCat(setup.address, " has no port"));
  }
  options.launch = backend::ExecutorTemplate(job_);
  options.launch.tokens = [this](const std::string& secret) { return TokensFor(secret); };
  options.allocation.gpu_resource = built.yarn.gpu_resource;
  options.allocation.other_resources = built.yarn.other_resources;
  options.allocation.node_labels = built.yarn.node_labels;
  options.allocation.placements = built.yarn.placements;
  for (const auto& [type, image] : built.images.by_type) {
    options.environment[type] = backend::DockerEnvironment(image, built.images.mounts);
  }
  // Two periods, one for the node's stop and one for giving back to the ResourceManager, plus a
  // reserve.
  options.kill_timeout = built.job.timeouts.container_kill * 2 / 5;
  options.waiting_notice = built.job.timeouts.waiting_notice;
  backend::YarnBackend::Events events;
  events.deposed = std::move(setup.deposed);
  events.failed = [&listener](const absl::Status& why) {
    listener.OnAllocationRefused(/*never_fits=*/false, std::string(why.message()));
  };
  events.warning = [](const std::string& sentence) { LogWarning(sentence); };
  auto made = std::make_unique<backend::YarnBackend>(loop_, std::move(options), listener,
                                                     std::move(events));
  backend_ = made.get();
  return made;
}

std::vector<std::string> YarnPlatform::ProxyAddresses() const {
  std::vector<std::string> numbers;
  for (const v1::YarnJob::Endpoint& server : job_.proxy().servers()) {
    const auto addresses = hadoop::NumericAddresses(server.host());
    if (!addresses.ok()) {
      LogWarning("a proxy of the job's page is not known",
                 {{"peer", server.host()}, {"why", addresses.status().message()}});
      continue;
    }
    numbers.insert(numbers.end(), addresses->begin(), addresses->end());
  }
  return numbers;
}

std::unique_ptr<web::Access> YarnPlatform::MakeAccess(int port,
                                                      std::vector<std::string> proxy_addresses,
                                                      const std::string& viewers) const {
  const v1::YarnJob::Proxy& proxy = job_.proxy();
  web::ProxyAccess::Options options;
  options.proxy_addresses = std::move(proxy_addresses);
  options.hosts = {absl::StrCat(yarn_.node_host, ":", port)};
  options.page_url = PlaceOfPage(job_);
  options.lists_apply = proxy.lists_apply();
  options.owner = job_.user();
  options.job_id = job_.job_id();
  options.administrators = web::AccessList::Parse(proxy.administrators());
  options.viewers = web::AccessList::Parse(viewers);
  if (options.lists_apply && !options.viewers.groups.empty()) {
    LogWarning(absl::StrCat("the job's page is not shown to the groups of tony.yarn.view-acl (",
                            absl::StrJoin(options.viewers.groups, ","),
                            "), whose members are not known here; name users"));
  }
  for (const v1::YarnJob::Endpoint& server : proxy.servers()) {
    options.origins.push_back(OriginOf(proxy, server));
  }
  return std::make_unique<web::ProxyAccess>(std::move(options));
}

absl::StatusOr<std::unique_ptr<PageEntry>> YarnPlatform::MakePageEntry(
    const PageParts& parts, const jobfile::BuildResult& built) {
  const std::vector<std::string> proxies = ProxyAddresses();
  previous_runs_ = std::make_unique<pagedata::PreviousRuns>(
      parts.loop, parts.clock,
      [job = job_, tokens = tokens_,
       wish = pagedata::RunWish{yarn_.working_folder, job_id(), built.job.name}](
          const std::function<bool()>& stop) { return FindRunOnCluster(job, tokens, wish, stop); });
  PageParts with_past = parts;
  with_past.previous = [this](web::JobSource::TakePrevious take) {
    previous_runs_->Find(std::move(take));
  };
  TONY_ASSIGN_OR_RETURN(
      std::unique_ptr<JobPage> page,
      JobPage::Start(with_past, kAllAddresses, web::ProxyPeerCheck(proxies),
                     PageLogs{std::make_unique<NodesLogs>(), nullptr},
                     [&](int port) { return MakeAccess(port, proxies, built.yarn.view_acl); }));
  page_url_ = absl::StrCat("http://", yarn_.node_host, ":", page->port(), "/");
  return std::make_unique<ProxyPageEntry>(std::move(page), PlaceOfPage(job_));
}

std::string YarnPlatform::public_page_url() const { return PageUrl(job_); }

absl::Status YarnPlatform::Publish(const std::string& address) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, OpenFiles());
  TONY_RETURN_IF_ERROR(files->Replace(backend::kAddressFile, address));
  // The client credentials are published so that clients on any machine can connect.
  TONY_ASSIGN_OR_RETURN(const std::string client,
                        backend::FindSecret(tokens_, backend::kClientSecret));
  TONY_RETURN_IF_ERROR(files->Replace(backend::kClientFile, client));
  backend_->Start();
  return absl::OkStatus();
}

std::vector<std::string> YarnPlatform::executor_arguments() const {
  std::string look_up;
  for (const std::string& word : backend::RuntimeCommand("tony-am")) {
    absl::StrAppend(&look_up, word, " ");
  }
  return {absl::StrCat("--credentials-secret=", backend::kCredentialsSecret),
          absl::StrCat("--address-command=", look_up, "--on-yarn --look-up")};
}

void YarnPlatform::Conclude(const core::Verdict& verdict, std::function<void()> done) {
  backend_->Finish(FinalStatusOf(verdict.outcome), verdict.sentence, "",
                   [done = std::move(done)](const absl::Status& status) {
                     if (!status.ok()) {
                       LogWarning("the job's end is not told to YARN", {{"why", status.message()}});
                     }
                     done();
                   });
}

void YarnPlatform::CleanUp() {
  const absl::StatusOr<std::unique_ptr<storage::JobFiles>> files = OpenFiles();
  if (!files.ok()) return LogWarning(std::string(files.status().message()));
  for (const char* name : backend::kTransientFiles) {
    const absl::Status removed = (*files)->Remove(name);
    if (!removed.ok()) LogWarning(std::string(removed.message()));
  }
}

}  // namespace tony::appmaster
