// Whatever an engine would refuse in a container's start is found here, where the user still looks
// on, and is told at the line of the key.
#include "client/submit/image_check.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backend/image/engine.h"
#include "backend/image/engine_run.h"
#include "backend/image/image_pull.h"
#include "backend/image/image_runtime.h"
#include "client/cli/environment.h"
#include "client/cli/messages.h"
#include "client/jobs/local_folder.h"
#include "common/logging.h"
#include "common/safe_text.h"
#include "core/model/master_task.h"
#include "jobfile/job/image_rules.h"
#include "jobfile/job/key_check.h"
#include "os/files/files.h"
#include "storage/job_folder.h"
#include "storage/job_liveness.h"

namespace tony::client {
namespace {

namespace fs = std::filesystem;

constexpr char kEnabled[] = "tony.docker.enabled";
constexpr char kMounts[] = "tony.docker.containers.mount";
/// For one question to the engine. A busy machine's engine takes seconds.
constexpr std::chrono::seconds kPatience{60};
/// An image of this size is worth a note where each container copies it.
constexpr int64_t kLargeBytes = int64_t{1} << 30;

std::string SizeText(int64_t bytes) {
  return absl::StrFormat("%.1f GB", static_cast<double>(bytes) / 1e9);
}

/// Whether podman has been told of GPUs: a description of this kind lies where podman looks for it.
bool DescribesGpus(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const absl::StatusOr<std::string> text = os::ReadFile(entry.path().string());
      if (text.ok() && absl::StrContains(*text, "nvidia.com/gpu")) return true;
    }
  }
  return false;
}

/// Prepares the images of one job. Not thread safe.
class ImageCheck {
 public:
  ImageCheck(const SubmitOptions& options, const jobfile::LoadedJob& job)
      : options_(options), job_(job), images_(job.result.images) {}

  int Run() {
    const auto engine = backend::FindEngine(
        images_.engine,
        backend::EngineFolders({absl::StrCat("PATH=", EnvironmentVariable("PATH").value_or(""))}));
    if (!engine.ok()) return Refuse(kEnabled, std::string(engine.status().message()));
    engine_ = *engine;
    if (const int code = CheckMounts(); code != 0) return code;
    if (const int code = CheckGpus(); code != 0) return code;
    RemoveLostContainers();
    std::set<std::string> checked;
    for (const auto& [type, image] : images_.by_type) {
      if (!checked.insert(image).second) continue;
      const std::string key = jobfile::ImageKey(job_.configuration, type);
      if (const int code = CheckImage(key, image); code != 0) return code;
    }
    // The folder becomes tony's before the first file is put into it.
    const auto folder = OpenLocalFolder(job_.result.local.dir);
    if (!folder.ok()) return FailWith(folder.status(), kBadUsage);
    const auto runtime = backend::PrepareRuntime(job_.result.local.dir);
    return runtime.ok() ? 0 : FailWith(runtime.status(), kInfrastructure);
  }

 private:
  int Refuse(const std::string& key, const std::string& message, const std::string& remedy = "") {
    const jobfile::Problem problem = jobfile::ProblemAt(job_.configuration, key, message, remedy);
    (void)PrintForPeople(STDERR_FILENO, jobfile::RenderProblem(problem) + "\n");
    return kBadUsage;
  }

  void Note(const std::string& text) {
    if (!options_.quiet) PrintError(text);
  }

  // The engines' own messages about a missing source name no line of the job's file. docker even
  // makes the missing folder.
  int CheckMounts() {
    for (const std::string& mount : images_.mounts) {
      const std::string source = jobfile::ParseImageMount(mount).source;
      std::error_code error;
      if (!absl::StartsWith(source, "/") || !fs::exists(source, error)) {
        return Refuse(kMounts, absl::StrCat("there is no ", source, " on this machine"),
                      "write the absolute path of a folder or file of this machine");
      }
      if (!backend::IsMountable(source)) {
        return Refuse(kMounts, absl::StrCat(source, " has a character that no mount can have"),
                      "rename it, without a comma, a colon and quotes");
      }
    }
    if (!backend::IsMountable(job_.result.local.dir)) {
      return Refuse("tony.local.dir",
                    absl::StrCat(job_.result.local.dir, " has a character that no mount can have"),
                    "take a folder without a comma, a colon and quotes");
    }
    return 0;
  }

  int CheckGpus() {
    if (engine_.kind != backend::Engine::Kind::kPodman) return 0;
    for (const core::TaskType& type : core::WithMasterTask(job_.result.job).types) {
      if (type.instances == 0 || type.resources.gpus == 0) continue;
      if (DescribesGpus({"/etc/cdi", "/var/run/cdi"})) return 0;
      return Refuse(absl::StrCat("tony.", type.name, ".gpus"),
                    "podman does not know this machine's GPUs: /etc/cdi has no description of "
                    "nvidia.com/gpu",
                    "install nvidia-container-toolkit and run nvidia-ctk cdi generate "
                    "--output=/etc/cdi/nvidia.yaml");
    }
    return 0;
  }

  // Executors end by themselves when their job is over, and their containers with them. What stays
  // is a container whose engine was killed as well.
  void RemoveLostContainers() {
    const auto containers = backend::FindContainers(engine_, kPatience);
    if (!containers.ok()) return LogDebug(std::string(containers.status().message()));
    for (const backend::EngineContainer& container : *containers) {
      if (storage::IsAlive(storage::JobFolder(container.job_folder))) continue;
      const absl::Status removed = backend::RemoveContainer(engine_, container.name, kPatience);
      Note(removed.ok() ? absl::StrCat("the container ", container.name,
                                       ", which a lost job had left, is removed")
                        : std::string(removed.message()));
    }
  }

  int CheckImage(const std::string& key, const std::string& image) {
    auto facts = backend::FindImage(engine_, image, kPatience);
    if (facts.ok() && !*facts) {
      if (const int code = Pull(key, image); code != 0) return code;
      facts = backend::FindImage(engine_, image, kPatience);
    }
    if (!facts.ok()) return FailWith(facts.status(), kInfrastructure);
    if (!*facts) return Refuse(key, absl::StrCat(engine_.name(), " has no image ", image));
    const std::string own = backend::OwnArchitecture();
    if ((*facts)->system != "linux" || (*facts)->architecture != own) {
      return Refuse(key,
                    absl::StrCat("the image ", image, " is for ", (*facts)->system, "/",
                                 (*facts)->architecture, ", and this machine is linux/", own),
                    absl::StrCat("get its variant for this machine (", engine_.name(),
                                 " pull --platform=linux/", own, " ", image,
                                 "), or build it for this machine"));
    }
    return CheckRoom(key, image, (*facts)->bytes);
  }

  int Pull(const std::string& key, const std::string& image) {
    Note(absl::StrCat("this machine has no image ", image, "; ", engine_.name(), " downloads it"));
    const backend::PullProgress progress{
        .on_line =
            [this](const std::string& line) {
              Note(absl::StrCat(engine_.name(), ": ", SafeText(line)));
            },
        .on_silence =
            [&](Duration elapsed) {
              Note(absl::StrCat(
                  "still downloading ", image, " after ",
                  std::chrono::duration_cast<std::chrono::seconds>(elapsed).count(),
                  " s; tony.docker.pull-timeout-ms allows ",
                  std::chrono::duration_cast<std::chrono::seconds>(images_.pull_timeout).count(),
                  " s"));
            }};
    const absl::Status pulled = backend::PullImage(engine_, image, images_.pull_timeout, progress);
    if (pulled.ok()) return 0;
    const bool late = absl::IsDeadlineExceeded(pulled);
    return Refuse(
        late ? "tony.docker.pull-timeout-ms" : key,
        absl::StrCat("the image ", image, " cannot be downloaded: ", std::string(pulled.message())),
        late
            ? absl::StrCat("set more time, or run ", engine_.name(), " pull ", image, " beforehand")
            : absl::StrCat("correct the name, or make the image on this machine (", engine_.name(),
                           " images lists what is there)"));
  }

  // A copy of gigabytes for each container is a long wait in which nothing seems to happen, and
  // may fill the disk.
  int CheckRoom(const std::string& key, const std::string& image, int64_t bytes) {
    if (bytes < kLargeBytes) return 0;
    const auto store = backend::FindStore(engine_, kPatience);
    if (!store.ok() || !store->copies_images) return 0;
    int64_t copies = 0;
    for (const core::TaskType& type : core::WithMasterTask(job_.result.job).types) {
      const auto own = images_.by_type.find(type.name);
      if (own != images_.by_type.end() && own->second == image) copies += type.instances;
    }
    std::error_code error;
    const fs::space_info space = fs::space(store->folder, error);
    const std::string sentence =
        absl::StrCat(engine_.name(), " stores images by the driver vfs, which copies the ",
                     SizeText(bytes), " of ", image, " for each of ", copies, " containers");
    if (!error && static_cast<double>(space.available) <
                      static_cast<double>(bytes) * static_cast<double>(copies)) {
      return Refuse(key,
                    absl::StrCat(sentence, ", and ", store->folder, " has room for ",
                                 SizeText(static_cast<int64_t>(space.available))),
                    "set driver = \"overlay\" in /etc/containers/storage.conf, or take a smaller "
                    "image");
    }
    Note(absl::StrCat(sentence,
                      ": that takes time; driver = \"overlay\" in /etc/containers/storage.conf "
                      "needs no copies"));
    return 0;
  }

  const SubmitOptions& options_;
  const jobfile::LoadedJob& job_;
  const jobfile::ImageSettings& images_;
  backend::Engine engine_;
};

}  // namespace

int PrepareImages(const SubmitOptions& options, const jobfile::LoadedJob& job) {
  if (job.result.images.by_type.empty()) return 0;
  return ImageCheck(options, job).Run();
}

}  // namespace tony::client
