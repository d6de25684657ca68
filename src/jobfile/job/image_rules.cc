// The engine or the NodeManager would refuse these values, or misread them, only after the
// containers are granted.
#include "jobfile/job/image_rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/model/master_task.h"
#include "jobfile/job/key_check.h"
#include "jobfile/keys/key_table.h"

namespace tony::jobfile {
namespace {

constexpr char kAllImages[] = "tony.docker.containers.image";
constexpr char kMounts[] = "tony.docker.containers.mount";

std::string OwnKey(const std::string& owner) {
  return absl::StrCat("tony.docker.", owner, ".image");
}

// Whether YARN and the engines accept the mode of a mount: an access, a propagation, or both,
// "ro+rslave".
bool IsMountMode(const std::string& mode) {
  static constexpr const char* kPropagations[] = {"shared", "rshared", "slave",
                                                  "rslave", "private", "rprivate"};
  if (mode == "ro" || mode == "rw") return true;
  std::string propagation = mode;
  if (absl::StartsWith(mode, "ro+") || absl::StartsWith(mode, "rw+")) propagation.erase(0, 3);
  return std::find(std::begin(kPropagations), std::end(kPropagations), propagation) !=
         std::end(kPropagations);
}

bool IsMount(const std::string& mount) {
  const std::vector<std::string> parts = absl::StrSplit(mount, ':');
  return parts.size() == 3 && !parts[0].empty() && absl::StartsWith(parts[1], "/") &&
         IsMountMode(parts[2]);
}

// A name that begins with "-" would be an option of the engine.
bool IsImageName(const std::string& image) {
  static constexpr char kCharacters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
  return image.find_first_not_of(kCharacters) == std::string::npos && !absl::StartsWith(image, "-");
}

void CheckOwners(const Configuration& configuration, BuildResult* result) {
  static constexpr char kRow[] = "tony.docker.<type>.image";
  for (const Entry& entry : configuration.entries()) {
    const auto match = FindKey(entry.key);
    if (!match || match->key->name != kRow) continue;
    const std::string owner = std::vector<std::string>(absl::StrSplit(entry.key, '.'))[2];
    if (result->images.by_type.contains(owner)) continue;
    if (owner == core::kMasterTaskType) {
      result->notes.push_back(ProblemAt(
          configuration, entry.key,
          "has no effect on the local backend, where the ApplicationMaster has no image", ""));
      continue;
    }
    result->problems.push_back(
        ProblemAt(configuration, entry.key, absl::StrCat("there is no task type '", owner, "'"),
                  absl::StrCat("set tony.", owner, ".instances, or remove it")));
  }
}

}  // namespace

std::string ImageKey(const Configuration& configuration, const std::string& owner) {
  return configuration.GetText(OwnKey(owner)).empty() ? kAllImages : OwnKey(owner);
}

void CheckImages(const Configuration& configuration, BuildResult* result) {
  if (result->images.by_type.empty()) return;
  const auto complain = [&](const std::string& key, const std::string& message,
                            const std::string& remedy) {
    result->problems.push_back(ProblemAt(configuration, key, message, remedy));
  };
  for (const auto& [owner, image] : result->images.by_type) {
    if (image.empty()) {
      complain("tony.docker.enabled", absl::StrCat("there is no image for ", owner),
               absl::StrCat("set ", kAllImages, " or ", OwnKey(owner)));
    } else if (!IsImageName(image)) {
      complain(ImageKey(configuration, owner), absl::StrCat("'", image, "' is no name of an image"),
               "write it as for `docker run`: registry.example.com/name:tag");
    }
  }
  CheckOwners(configuration, result);
  for (const std::string& mount : result->images.mounts) {
    if (IsMount(mount)) continue;
    complain(kMounts, absl::StrCat("'", mount, "' is not of the form SOURCE:DESTINATION:MODE"),
             "write folders of the node and of the container, and the mode: /data:/data:ro");
  }
}

}  // namespace tony::jobfile
