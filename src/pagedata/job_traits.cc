// The configuration's digest is made of what the page may show.
#include "pagedata/job_traits.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/advice/advise.h"
#include "os/files/archive_digest.h"

namespace tony::pagedata {
namespace {

/// 64 bits, as hexadecimal digits: enough to tell configurations apart.
constexpr size_t kDigestLetters = 16;

std::string DigestOf(const std::vector<web::ConfigKey>& keys) {
  os::Sha256 digest;
  for (const web::ConfigKey& key : keys) {
    digest.Update(key.key.c_str(), key.key.size() + 1);
    digest.Update(key.value.c_str(), key.value.size() + 1);
  }
  const absl::StatusOr<std::string> text = digest.Finish();
  return text.ok() ? text->substr(0, kDigestLetters) : "";
}

}  // namespace

history::JobTraits TraitsOf(const jobfile::Configuration& configuration,
                            const std::vector<web::ConfigKey>& keys) {
  history::JobTraits traits;
  if (configuration.GetText("tony.backend") == "yarn") {
    traits.queue = configuration.GetText("tony.yarn.queue");
  }
  traits.tags = absl::StrJoin(configuration.GetList("tony.application.tags"), ",");
  traits.conf_digest = DigestOf(keys);
  return traits;
}

int CountAdvice(const core::ObservedJob& job, const core::JobMetrics& metrics, int64_t now_millis) {
  const core::JobAdvice advice = core::AdviseJob(core::JobFacts(job, metrics, now_millis));
  return static_cast<int>(std::count_if(
      advice.advice.begin(), advice.advice.end(),
      [](const core::Advice& each) { return each.severity >= core::AdviceSeverity::kModerate; }));
}

}  // namespace tony::pagedata
