// A type's own image comes before the image of all containers.
#include "jobfile/job/image_settings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/model/master_task.h"

namespace tony::jobfile {

ImageSettings BuildImageSettings(const Configuration& configuration,
                                 const std::vector<std::string>& types, bool on_yarn) {
  ImageSettings images;
  images.engine = absl::AsciiStrToLower(configuration.GetText("tony.docker.engine"));
  images.pull_timeout = configuration.GetDuration("tony.docker.pull-timeout-ms");
  if (!configuration.GetBoolean("tony.docker.enabled")) return images;
  std::vector<std::string> owners = types;
  if (on_yarn || types.empty()) owners.push_back(core::kMasterTaskType);
  for (const std::string& owner : owners) {
    std::string image = configuration.GetText(absl::StrCat("tony.docker.", owner, ".image"));
    if (image.empty()) image = configuration.GetText("tony.docker.containers.image");
    images.by_type[owner] = image;
  }
  images.rdma = configuration.GetBoolean("tony.application.rdma");
  images.mounts = configuration.GetList("tony.docker.containers.mount");
  return images;
}

ImageMount ParseImageMount(const std::string& mount) {
  const std::vector<std::string> parts = absl::StrSplit(mount, ':');
  ImageMount parsed;
  if (parts.size() != 3) return parsed;
  parsed.source = parts[0];
  parsed.destination = parts[1];
  std::string mode = parts[2];
  // A propagation alone leaves the folder writable, as YARN has it.
  parsed.writable = !absl::StartsWith(mode, "ro");
  if (absl::StartsWith(mode, "ro") || absl::StartsWith(mode, "rw")) mode.erase(0, 2);
  if (absl::StartsWith(mode, "+")) mode.erase(0, 1);
  parsed.propagation = mode;
  return parsed;
}

}  // namespace tony::jobfile
