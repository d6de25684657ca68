#include "client/submit/local_job.h"

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/exit_status.h"
#include "client/cli/messages.h"
#include "client/jobs/job_remains.h"
#include "client/jobs/seen_time.h"
#include "client/staging/staging.h"
#include "client/submit/checkpoint_folder.h"
#include "client/submit/image_check.h"
#include "client/submit/job_id.h"
#include "common/clock.h"
#include "os/files/file_lock.h"
#include "os/network/bound_socket.h"

namespace tony::client {
namespace {

/// Removes the staged files of a job that has no ApplicationMaster to do it.
void Unstage(const storage::JobFolder& folder) {
  const absl::Status removed = RemoveStaged(folder);
  if (!removed.ok()) PrintError(std::string(removed.message()));
}

/// An id that no job in the folder `jobs` has: another one of this second may have drawn the same
/// random bits.
std::string NewJobId(const std::string& jobs, const Clock& clock) {
  std::random_device random;
  std::error_code ignored;
  std::string id;
  do {
    id = MakeLocalJobId(clock.UnixMillis(), random());
  } while (std::filesystem::exists(absl::StrCat(jobs, "/", id), ignored));
  return id;
}

/// The sockets of the job's page and of its program's page, held until the job ends. None if they
/// cannot be had: an ApplicationMaster that takes over then has other ports.
std::vector<os::UniqueFd> OpenPageSockets() {
  absl::StatusOr<os::UniqueFd> page = os::BindLoopbackSocket();
  absl::StatusOr<os::UniqueFd> gate = os::BindLoopbackSocket();
  std::vector<os::UniqueFd> sockets;
  if (!page.ok() || !gate.ok()) return sockets;
  sockets.push_back(*std::move(page));
  sockets.push_back(*std::move(gate));
  return sockets;
}

std::vector<int> Descriptors(const std::vector<os::UniqueFd>& files) {
  std::vector<int> descriptors;
  for (const os::UniqueFd& file : files) descriptors.push_back(file.get());
  return descriptors;
}

LocalMasterSource::Options LimitsOf(const Environment& environment,
                                    const jobfile::Configuration& conf,
                                    const storage::JobFolder& folder, const LocalLaunch& launch,
                                    std::vector<int> lock_fds,
                                    const std::vector<os::UniqueFd>& page_sockets) {
  return {.folder = folder,
          .start_deadline = conf.GetDuration("tony.client.am-start-timeout-ms"),
          .exit_deadline = conf.GetDuration("tony.client.am-exit-timeout-ms"),
          .restarts = static_cast<int>(conf.GetNumber("tony.am.max-restarts")),
          .open_files = environment.open_files,
          .lock_fds = std::move(lock_fds),
          .page_fds = Descriptors(page_sockets),
          .launcher_fd = launch.launcher_fd,
          .launcher_host =
              launch.launcher_fd >= 0 ? conf.GetText("tony.launcher.host") : std::string()};
}

/// Makes the job's folder and starts its ApplicationMaster; see LaunchLocalJob().
std::unique_ptr<LaunchedJob> StartJob(const Environment& environment, const jobfile::LoadedJob& job,
                                      const LocalLaunch& launch, os::UniqueFd checkpoints,
                                      FailedLaunch& failed) {
  const SystemClock clock;
  const std::string jobs = storage::JobsFolder(job.result.local.dir);
  const std::string id = NewJobId(jobs, clock);
  const storage::JobFolder folder(absl::StrCat(jobs, "/", id));
  const auto fail = [&failed](const absl::Status& why, int exit_code) {
    failed = {.why = why, .exit_code = exit_code};
    return nullptr;
  };
  if (launch.on_id) {
    if (const absl::Status taken = launch.on_id(id); !taken.ok())
      return fail(taken, kInfrastructure);
  }
  absl::StatusOr<os::UniqueFd> guard = StageJob(job, id, folder);
  if (!guard.ok()) {
    const bool full = absl::IsResourceExhausted(guard.status());
    return fail(guard.status(), full ? kInfrastructure : kBadUsage);
  }
  if (launch.go_on) {
    if (const absl::Status wanted = launch.go_on(); !wanted.ok()) {
      Unstage(folder);
      return fail(wanted, ExitOf(wanted));
    }
  }
  std::vector<int> lock_fds = launch.lock_fds;
  if (checkpoints.valid()) lock_fds.push_back(checkpoints.get());
  std::vector<os::UniqueFd> page_sockets = OpenPageSockets();
  const jobfile::Configuration& conf = job.configuration;
  const LocalMasterSource::Options limits =
      LimitsOf(environment, conf, folder, launch, std::move(lock_fds), page_sockets);
  auto sweep = std::make_unique<HistorySweep>(job.result.local.dir, job.result.local.history_days,
                                              ReadClocks(clock.UnixMillis()));
  absl::StatusOr<MasterProcess> master =
      MasterProcess::Start(folder, {.detached = launch.detached,
                                    .leased = launch.leased,
                                    .guard_fd = guard->get(),
                                    .lock_fds = limits.lock_fds,
                                    .page_fds = limits.page_fds,
                                    .launcher_fd = limits.launcher_fd,
                                    .launcher_host = limits.launcher_host,
                                    .restarts = limits.restarts,
                                    .deadline = limits.start_deadline,
                                    .open_files = limits.open_files});
  if (!master.ok()) {
    Unstage(folder);
    return fail(master.status(), kInfrastructure);
  }
  return std::make_unique<LaunchedJob>(LaunchedJob{id, folder, std::move(checkpoints),
                                                   *std::move(guard), std::move(page_sockets),
                                                   limits, *std::move(master), std::move(sweep)});
}

}  // namespace

std::unique_ptr<LaunchedJob> LaunchLocalJob(const SubmitOptions& options,
                                            const Environment& environment,
                                            const jobfile::LoadedJob& job,
                                            const LocalLaunch& launch, FailedLaunch& failed) {
  CheckpointFolder checkpoints = ClaimCheckpointFolder(job);
  if (checkpoints.problem) {
    failed = {
        .why = absl::InvalidArgumentError(jobfile::RenderProblems({*checkpoints.problem}, "")),
        .exit_code = kBadUsage,
        .problem = checkpoints.problem};
    return nullptr;
  }
  if (!checkpoints.note.empty()) PrintError(checkpoints.note);
  if (const int code = PrepareImages(options, job); code != 0) {
    failed = {.why = absl::InternalError("the job's images cannot be had"),
              .exit_code = code,
              .told = true};
    return nullptr;
  }
  return StartJob(environment, job, launch, std::move(checkpoints.lock), failed);
}

int EndLocalJob(const absl::StatusOr<core::Verdict>& verdict, const storage::JobFolder& folder) {
  // A held lock means that an ApplicationMaster still lives because the user left early; it cleans
  // up by itself.
  const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
  if (verdict.ok()) {
    // An ApplicationMaster that was killed after the verdict has not cleaned up, or not completely.
    if (lock.ok()) (void)RemoveRemains(folder);
    return core::ExitCode(*verdict);
  }
  // Executors may still be ending their tasks, so their folders stay, but nobody needs the secrets
  // any more.
  if (lock.ok()) Unstage(folder);
  return FailWith(verdict.status(), ExitOf(verdict.status()));
}

}  // namespace tony::client
