// Options are written as --name=value, so that no value can be taken for another option.
#include "backend/image/engine_run.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "os/files/files.h"
#include "os/processes/own_program.h"

namespace tony::backend {
namespace {

/// The most processes that the kernel allows at all. podman lowers its own limit to this, and can
/// then set no higher one.
rlim_t MostProcesses() {
  const absl::StatusOr<std::string> text = os::ReadFile("/proc/sys/kernel/pid_max");
  rlim_t most = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &most)) {
    return RLIM_INFINITY;
  }
  return most;
}

std::string LimitText(rlim_t limit) { return limit == RLIM_INFINITY ? "-1" : absl::StrCat(limit); }

std::string Bind(const std::string& source, const std::string& destination, bool writable,
                 const std::string& propagation) {
  return absl::StrCat("--mount=type=bind,source=", source, ",destination=", destination,
                      writable ? "" : ",readonly",
                      propagation.empty() ? "" : absl::StrCat(",bind-propagation=", propagation));
}

// podman takes devices by the Container Device Interface, whose names nvidia-ctk writes. docker's
// own option asks the NVIDIA runtime; its value is a CSV record, hence the quotes.
std::vector<std::string> GpuArguments(const Engine& engine, const std::vector<int>& gpus) {
  if (gpus.empty()) return {};
  if (engine.kind == Engine::Kind::kDocker) {
    return {absl::StrCat("--gpus=\"device=", absl::StrJoin(gpus, ","), "\"")};
  }
  std::vector<std::string> arguments;
  for (const int gpu : gpus) arguments.push_back(absl::StrCat("--device=nvidia.com/gpu=", gpu));
  return arguments;
}

// Without root's rights podman maps the user to root of the container; keep-id maps it to itself.
std::vector<std::string> PodmanArguments(const EngineRun& run) {
  std::vector<std::string> arguments = {"--cgroupns=private"};
  if (run.user != 0) arguments.push_back("--userns=keep-id");
  if (run.descriptors > 0) {
    arguments.push_back(absl::StrCat("--preserve-fds=", run.descriptors));
  }
  if (!run.monitor_file.empty()) {
    arguments.push_back(absl::StrCat("--conmon-pidfile=", run.monitor_file));
    arguments.push_back(absl::StrCat("--pidfile=", run.executor_file));
  }
  return arguments;
}

// docker knows nothing of the user's other groups. podman without root's rights keeps them by
// itself if its runtime can.
std::vector<std::string> DockerArguments(const EngineRun& run) {
  std::vector<std::string> arguments;
  for (const gid_t group : run.more_groups) {
    arguments.push_back(absl::StrCat("--group-add=", group));
  }
  return arguments;
}

std::vector<std::string> MountArguments(const EngineRun& run) {
  std::vector<std::string> arguments = {
      Bind(run.job_folder, run.job_folder, /*writable=*/true, ""),
      Bind(run.runtime.folder, run.runtime.folder, /*writable=*/false, "")};
  for (const std::string& folder : run.writable_folders) {
    arguments.push_back(Bind(folder, folder, /*writable=*/true, ""));
  }
  for (const jobfile::ImageMount& mount : run.mounts) {
    arguments.push_back(Bind(mount.source, mount.destination, mount.writable, mount.propagation));
  }
  return arguments;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> LimitArguments() {
  std::vector<std::string> arguments;
  const auto add = [&](const char* name, __rlimit_resource resource, rlim_t most) {
    struct rlimit limit;
    if (::getrlimit(resource, &limit) != 0) return;
    arguments.push_back(absl::StrCat("--ulimit=", name, "=",
                                     LimitText(std::min(limit.rlim_cur, most)), ":",
                                     LimitText(std::min(limit.rlim_max, most))));
  };
  add("nofile", RLIMIT_NOFILE, RLIM_INFINITY);
  add("nproc", RLIMIT_NPROC, MostProcesses());
  add("memlock", RLIMIT_MEMLOCK, RLIM_INFINITY);
  return arguments;
}

std::vector<std::string> RunCommand(const Engine& engine, const EngineRun& run) {
  const std::vector<std::string> executor =
      os::LoaderCommand(run.runtime.loader, run.runtime.folder + "/bin/tony-executor");
  std::vector<std::string> command = {engine.program,
                                      "run",
                                      "--rm",
                                      "--pull=never",
                                      "--log-driver=none",
                                      "--network=host",
                                      "--ipc=host",
                                      "--security-opt=label=disable",
                                      absl::StrCat("--name=", EngineName(run.container_id)),
                                      absl::StrCat("--label=", kFolderLabel, "=", run.job_folder),
                                      absl::StrCat("--label=", kUserLabel, "=", run.user),
                                      absl::StrCat("--user=", run.user, ":", run.group),
                                      absl::StrCat("--workdir=", run.working_folder),
                                      absl::StrCat("--entrypoint=", executor.front())};
  const bool podman = engine.kind == Engine::Kind::kPodman;
  Append(command, podman ? PodmanArguments(run) : DockerArguments(run));
  Append(command, LimitArguments());
  Append(command, GpuArguments(engine, run.gpus));
  if (run.rdma) command.push_back("--device=/dev/infiniband");
  Append(command, MountArguments(run));
  command.push_back(run.image);
  command.insert(command.end(), executor.begin() + 1, executor.end());
  Append(command, run.arguments);
  return command;
}

bool IsMountable(const std::string& path) {
  return path.find_first_of(",\"\n:") == std::string::npos;
}

}  // namespace tony::backend
