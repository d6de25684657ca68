// Every key that is set is looked up in the key table, whose row decides. The suggestions for
// mistyped keys are limited in number, since each compares with the whole table.
#include "jobfile/job/key_check.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jobfile/job/framework.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/keys/value_check.h"
#include "jobfile/values/paths.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/values.h"
#include "jobfile/xml/files.h"

namespace tony::jobfile {
namespace {

constexpr char kTensorBoard[] = "tensorboard";
constexpr int kMostSuggestions = 20;  // RenderProblems() shows as many problems

// The task types in TonY's runtimes and examples. A task type that is an anagram of one is taken
// for a typing mistake.
constexpr const char* kKnownRoles[] = {"chief",    "worker",     "evaluator",
                                       "master",   "server",     "scheduler",
                                       "notebook", kTensorBoard, core::kDriverType};

// The schemes from which tony lets YARN's nodes fetch a file. YARN wants to know the file's size
// and time of modification. tony asks HDFS for them; an http: or https: URL does without, because
// the node then compares neither.
constexpr const char* kFetched[] = {"hdfs", "webhdfs", "http", "https"};

// The prefixes of the keys for TonY's portal, its history server and their logins.
constexpr const char* kSiteServices[] = {"tony.portal.", "tony.history.", "tony.keytab.",
                                         "tony.http.",   "tony.https.",   "tony.secret."};

std::optional<std::string> MisspeltRole(const std::string& type) {
  std::string letters = type;
  std::sort(letters.begin(), letters.end());
  for (const std::string role : kKnownRoles) {
    std::string role_letters = role;
    std::sort(role_letters.begin(), role_letters.end());
    if (letters == role_letters && type != role) return role;
  }
  return std::nullopt;
}

bool IsKnownRole(const std::string& type) {
  return std::find(std::begin(kKnownRoles), std::end(kKnownRoles), type) != std::end(kKnownRoles);
}

// Whether `value` is empty or TonY's default, so that ignoring the key changes nothing.
bool ChangesNothing(const Key& key, const std::string& value) {
  if (value.empty()) return true;
  const bool any_case = key.type == ValueType::kBoolean || key.type == ValueType::kChoice;
  return any_case ? absl::EqualsIgnoreCase(value, key.default_value) : value == key.default_value;
}

// Checks one configuration. Not thread safe.
class KeyChecker {
 public:
  KeyChecker(const Configuration& configuration, FileChecks file_checks, BuildResult* result)
      : configuration_(configuration),
        file_checks_(file_checks),
        result_(*result),
        types_(DeclaredTaskTypes(configuration)) {}

  void Check() {
    for (const Entry& entry : configuration_.entries()) {
      if (result_.problems.size() >= kMostProblems) return ComplainOfTooMany(entry);
      CheckEntry(entry);
    }
  }

 private:
  void Complain(const Setting& setting, const std::string& key, const std::string& message,
                const std::string& remedy) {
    result_.problems.push_back({setting.origin.file, setting.origin.line, key, message, remedy});
  }

  // So many problems mean that the file is most likely a configuration of another program.
  void ComplainOfTooMany(const Entry& first_unchecked) {
    Complain(
        first_unchecked.settings.back(), first_unchecked.key,
        absl::StrCat("the keys from here on are not checked, after ", kMostProblems, " problems"),
        "correct those first");
  }

  void CheckEntry(const Entry& entry) {
    const Setting& last = entry.settings.back();
    const std::optional<KeyMatch> match = FindKey(entry.key);
    if (!match) return ReportUnknown(entry.key, last);
    const Key& key = *match->key;
    if (key.status == KeyStatus::kRefused) return CheckRefused(entry, key, key.reason);
    if (!match->task_type.empty() && !CheckTaskType(entry, match->task_type)) return;
    if (key.status == KeyStatus::kNote && !ChangesNothing(key, entry.Value())) {
      result_.notes.push_back({last.origin.file, last.origin.line, entry.key, key.reason, ""});
    }
    for (const Setting& setting : entry.settings) CheckSetting(entry.key, key, setting);
  }

  void ReportUnknown(const std::string& key, const Setting& setting) {
    const bool ours = absl::StartsWith(key, "tony.");
    // NearestKey() compares with each key of each task type, so the number of its calls is limited.
    const auto nearest = ++suggestions_ > kMostSuggestions ? std::nullopt : NearestKey(key, types_);
    Complain(setting, key, ours ? "unknown key" : "unknown key; tony's keys begin with 'tony.'",
             nearest ? absl::StrCat("did you mean ", *nearest, "?") : "remove it");
  }

  void CheckRefused(const Entry& entry, const Key& key, const std::string& why) {
    if (ChangesNothing(key, entry.Value())) return;
    const Setting& last = entry.settings.back();
    // A site file may also hold keys for TonY's other programs. The user of a job cannot remove
    // them, so each gets a note instead of a problem.
    const bool of_site = last.origin.layer <= Layer::kSiteFile;
    if (of_site &&
        std::any_of(std::begin(kSiteServices), std::end(kSiteServices),
                    [&](const char* prefix) { return absl::StartsWith(entry.key, prefix); })) {
      result_.notes.push_back({last.origin.file, last.origin.line, entry.key, why, ""});
      return;
    }
    Complain(last, entry.key, why,
             key.default_value.empty() || IsPlaceholder(key.default_value)
                 ? "remove it"
                 : absl::StrCat("remove it or set it to ", key.default_value));
  }

  // Checks that the type of a per-type key exists. False: a problem was added, and the value need
  // not be checked. A misspelt type is reported once, not for each of its keys.
  bool CheckTaskType(const Entry& entry, const std::string& type) {
    if (reported_types_.contains(type)) return false;
    const Setting& last = entry.settings.back();
    if (const auto role = MisspeltRole(type)) {
      reported_types_.insert(type);
      const std::string rest = entry.key.substr(absl::StrCat("tony.", type).size());
      Complain(last, entry.key, "unknown key",
               absl::StrCat("did you mean tony.", *role, rest, "?"));
      return false;
    }
    if (type_set_.contains(type)) return true;
    const std::string instances = absl::StrCat("tony.", type, ".instances");
    const auto meant =
        ++suggestions_ > kMostSuggestions ? std::nullopt : NearestOwner(type, entry.key, types_);
    // TonY's job files often contain keys for parameter servers, workers and other known roles that
    // the job does not have, and so do command lines that were written for another job. These get a
    // note instead of a problem.
    if (!meant && (type == "ps" || IsKnownRole(type))) {
      result_.notes.push_back({last.origin.file, last.origin.line, entry.key,
                               absl::StrCat("has no effect: ", instances, " is not set"), ""});
      return true;
    }
    Complain(last, entry.key, absl::StrCat("there is no ", instances),
             meant ? absl::StrCat("did you mean ", *meant, "?") : absl::StrCat("set ", instances));
    return false;
  }

  void CheckSetting(const std::string& name, const Key& key, const Setting& setting) {
    if (const auto complaint = CheckValue(key, setting.value)) {
      return Complain(setting, name, complaint->message, complaint->remedy);
    }
    if (key.type == ValueType::kExistingPath && !setting.value.empty()) {
      CheckPath(name, setting, setting.value);
    }
    if (key.type != ValueType::kResources) return;
    for (const std::string& item : SplitList(setting.value)) {
      // CheckValue() has accepted the list, so each item can be parsed.
      const std::string source = ParseResource(item)->source;
      if (on_yarn() && !UriScheme(source).empty()) {
        CheckFetched(name, setting, source);
      } else {
        CheckPath(name, setting, source);
      }
    }
  }

  bool on_yarn() const { return result_.backend == Backend::kYarn; }

  void CheckFetched(const std::string& name, const Setting& setting, const std::string& url) {
    const std::string scheme = UriScheme(url);
    if (std::find(std::begin(kFetched), std::end(kFetched), scheme) != std::end(kFetched)) return;
    Complain(setting, name,
             absl::StrCat(url, " is remote, and tony lets YARN's nodes fetch from ",
                          absl::StrJoin(kFetched, ", "), " only"),
             "copy it into the cluster's HDFS");
  }

  void CheckPath(const std::string& name, const Setting& setting, const std::string& path) {
    if (!UriScheme(path).empty()) {
      const char* why = "the local backend copies local files only";
      if (on_yarn()) why = "has to be packed here";
      if (result_.backend == Backend::kLauncher) why = "a launcher ships local files only";
      return Complain(setting, name, absl::StrCat(path, " is remote, and ", why),
                      "fetch it and name the local copy");
    }
    if (file_checks_ == FileChecks::kOff) return;
    const absl::Status status = CheckReadable(path);
    if (status.ok()) return;
    Complain(setting, name, absl::StrCat(path, " ", std::string(status.message())),
             absl::IsNotFound(status)           ? "correct the path"
             : absl::IsPermissionDenied(status) ? "make it readable for the user who submits"
                                                : "name a file or folder");
  }

  const Configuration& configuration_;
  const FileChecks file_checks_;
  BuildResult& result_;
  const std::vector<std::string> types_;
  const std::set<std::string> type_set_{types_.begin(), types_.end()};
  std::set<std::string> reported_types_;
  int suggestions_ = 0;
};

}  // namespace

Problem ProblemAt(const Configuration& configuration, const std::string& key,
                  const std::string& message, const std::string& remedy) {
  const Entry* const entry = configuration.Find(key);
  if (entry == nullptr) return {configuration.job_file(), 0, key, message, remedy};
  const Origin& origin = entry->settings.back().origin;
  return {origin.file, origin.line, key, message, remedy};
}

std::vector<std::string> DeclaredTaskTypes(const Configuration& configuration) {
  std::vector<std::string> types;
  bool tensorboard = !configuration.GetText("tony.application.tensorboard-log-dir").empty();
  for (const Entry& entry : configuration.entries()) {
    const std::optional<KeyMatch> match = FindKey(entry.key);
    if (!match || match->task_type.empty()) continue;
    if (match->key->name == "tony.<type>.instances") types.push_back(match->task_type);
    tensorboard = tensorboard || entry.key == "tony.tensorboard.command";
  }
  const bool listed = std::find(types.begin(), types.end(), kTensorBoard) != types.end();
  if (tensorboard && !listed) types.push_back(kTensorBoard);
  const bool driver = std::find(types.begin(), types.end(), core::kDriverType) != types.end();
  if (!driver && IsHorovodDriver(configuration, core::kDriverType)) {
    types.push_back(core::kDriverType);
  }
  return types;
}

void CheckKeys(const Configuration& configuration, FileChecks file_checks, BuildResult* result) {
  KeyChecker(configuration, file_checks, result).Check();
}

}  // namespace tony::jobfile
