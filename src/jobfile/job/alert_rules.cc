// Which addresses, events and proxies are possible; the secret file is one of secret_file_rules.h.
#include "jobfile/job/alert_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "jobfile/job/key_check.h"

namespace tony::jobfile {
namespace {

constexpr char kUrls[] = "tony.alerts.urls";
constexpr char kEvents[] = "tony.alerts.events";
constexpr char kProxy[] = "tony.alerts.proxy";
constexpr const char* kKnownEvents[] = {"start", "restart", "hang", "end"};

/// Whether the text is "http://HOST:PORT". With a user or a password in it, it would be a secret,
/// and others may read it.
bool IsProxy(const std::string& text) {
  static const re2::RE2 kForm(R"(http://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}/?)");
  return re2::RE2::FullMatch(text, kForm);
}

}  // namespace

void CheckAlerts(const Configuration& configuration, BuildResult* result) {
  const auto complain = [&](const char* key, const std::string& message,
                            const std::string& remedy) {
    result->problems.push_back(ProblemAt(configuration, key, message, remedy));
  };
  const Entry* const urls = configuration.Find(kUrls);
  const bool on_command_line =
      urls != nullptr &&
      std::any_of(urls->settings.begin(), urls->settings.end(), [](const Setting& setting) {
        return setting.origin.layer == Layer::kCommandLine;
      });
  if (on_command_line) {
    complain(kUrls, "an address of alerts is a secret, and others may read a command line",
             "write it in the job file or in the site file");
  }
  for (const std::string& event : configuration.GetList(kEvents)) {
    if (std::find(std::begin(kKnownEvents), std::end(kKnownEvents), event) !=
        std::end(kKnownEvents)) {
      continue;
    }
    complain(kEvents, absl::StrCat("'", event, "' is no event"),
             "write some of start, restart, hang, end");
  }
  const std::string proxy = configuration.GetText(kProxy);
  if (!proxy.empty() && !IsProxy(proxy)) {
    complain(kProxy, "this is no proxy that tony can use", "write http://HOST:PORT");
  }
}

}  // namespace tony::jobfile
