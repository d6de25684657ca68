// Each packet is one JSON object. Unknown members are ignored, so that a later version may add
// some.
#include "backend/launcher/launcher_messages.h"

#include "absl/strings/str_cat.h"
#include "common/safe_text.h"
#include "nlohmann/json.hpp"

namespace tony::backend {
namespace {

using nlohmann::json;

/// The most bytes of a sentence that a launcher may send; the rest is cut off.
constexpr size_t kMostSentenceBytes = 1000;

/// A path or a name may have any bytes; those that are not UTF-8 are replaced.
std::string Text(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Sentence(const json& object, const char* name) {
  return SafeText(object.at(name).get<std::string>().substr(0, kMostSentenceBytes));
}

LauncherReport ReportFrom(const json& object) {
  const std::string type = object.at("type").get<std::string>();
  if (type == "ended") {
    return ContainerReport{object.at("container").get<std::string>(),
                           {.lost = object.at("lost").get<bool>(),
                            .sentence = Sentence(object, "sentence"),
                            .seen = object.at("seen").get<bool>()}};
  }
  if (type == "waiting")
    return WaitingReport{Sentence(object, "sentence"), Sentence(object, "unblock")};
  if (type == "refused") {
    return RefusalReport{object.at("never_fits").get<bool>(), Sentence(object, "sentence")};
  }
  return UnknownReport{SafeText(type.substr(0, kMostSentenceBytes))};
}

}  // namespace

std::string HelloPacket(const std::string& job_id, int incarnation,
                        const std::vector<std::string>& containers) {
  return Text({{"type", "hello"},
               {"version", kLauncherVersion},
               {"job", job_id},
               {"incarnation", incarnation},
               {"containers", containers}});
}

std::string FilePacket(const LauncherFile& file) {
  return Text({{"type", "file"}, {"name", file.name}, {"path", file.path}});
}

std::string StartPacket(const std::string& container_id, const core::ContainerRequest& request,
                        const std::string& voucher) {
  return Text({{"type", "start"},
               {"container", container_id},
               {"task_type", request.type},
               {"memory_mb", request.resources.memory_mb},
               {"cores", request.resources.vcores},
               {"gpus", request.resources.gpus},
               {"voucher", voucher}});
}

std::string KillPacket(const std::string& container_id, bool gone) {
  return Text({{"type", "kill"}, {"container", container_id}, {"gone", gone}});
}

absl::StatusOr<LauncherReport> ParseReport(const std::string& packet) {
  try {
    return ReportFrom(json::parse(packet));
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the launcher has sent what is no report: ", SafeText(error.what())));
  }
}

}  // namespace tony::backend
