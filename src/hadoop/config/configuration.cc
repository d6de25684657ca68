// The XML reader is jobfile's; precedence, `final` and variables follow Hadoop's Configuration
// class.
#include "hadoop/config/configuration.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "jobfile/values/values.h"
#include "jobfile/xml/xml_reader.h"

namespace tony::hadoop {
namespace {

constexpr const char* kFiles[] = {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"};
constexpr int kMostSubstitutions = 20;  // Hadoop's own limit
constexpr char kRightFolder[] =
    "set HADOOP_CONF_DIR to the folder with the cluster's core-site.xml and yarn-site.xml";

// Hadoop's own defaults (core-default.xml and the others) of the keys that tony reads.
const std::map<std::string, std::string>& Defaults() {
  static const auto* const defaults = new std::map<std::string, std::string>{
      {"dfs.http.policy", "HTTP_ONLY"},
      {"dfs.namenode.http-address", "0.0.0.0:9870"},
      {"dfs.namenode.https-address", "0.0.0.0:9871"},
      {"fs.defaultFS", "file:///"},
      {"hadoop.rpc.protection", "authentication"},
      {"hadoop.security.authentication", "simple"},
      {"yarn.http.policy", "HTTP_ONLY"},
      {"yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:8032"},
      {"yarn.resourcemanager.hostname", "0.0.0.0"},
      {"yarn.resourcemanager.scheduler.address", "${yarn.resourcemanager.hostname}:8030"},
      {"yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088"},
      {"yarn.resourcemanager.webapp.https.address", "${yarn.resourcemanager.hostname}:8090"},
  };
  return *defaults;
}

bool Exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// Finds the next "${name}" to substitute. It is the innermost one, so that a name may contain
// variables itself.
bool FindVariable(const std::string& text, size_t* begin, size_t* end) {
  *end = text.find('}');
  if (*end == std::string::npos) return false;
  *begin = text.rfind("${", *end);
  return *begin != std::string::npos;
}

}  // namespace

absl::StatusOr<Configuration> Configuration::Load(const std::string& folder,
                                                  Environment environment,
                                                  const std::vector<GivenValue>& given) {
  Configuration configuration;
  configuration.folder_ = folder;
  configuration.environment_ = std::move(environment);
  bool any = false;
  for (const char* const file : kFiles) {
    const std::string path = absl::StrCat(folder, "/", file);
    if (!Exists(path)) continue;
    any = true;
    TONY_RETURN_IF_ERROR(configuration.Add(path));
  }
  for (const GivenValue& value : given) configuration.Add(value);
  if (any) return configuration;
  return absl::NotFoundError(absl::StrCat("there is no Hadoop configuration in ", folder,
                                          Exists(folder) ? "" : ", which does not exist", "; ",
                                          kRightFolder));
}

absl::Status Configuration::Add(const std::string& file) {
  jobfile::XmlFile xml = jobfile::ReadXmlFile(file, file);
  if (!xml.readable) {
    return absl::InvalidArgumentError(jobfile::RenderProblem(xml.problems.front()));
  }
  notes_.insert(notes_.end(), xml.notes.begin(), xml.notes.end());
  notes_.insert(notes_.end(), xml.problems.begin(), xml.problems.end());
  // `final` protects a key against later files, but not against its own file, where the last entry
  // wins. Each file is therefore merged by itself first. `repeated` comes after `properties`, since
  // it holds the later entries.
  std::map<std::string, Entry> entries;
  for (const auto* properties : {&xml.properties, &xml.repeated}) {
    for (const jobfile::XmlProperty& property : *properties) {
      if (!property.has_value) continue;
      entries[property.name] = {
          .value = property.value, .file = file, .line = property.line, .final = property.final};
    }
  }
  for (auto& [key, entry] : entries) {
    Entry& known = entries_[key];
    if (!known.final) known = std::move(entry);
  }
  return absl::OkStatus();
}

// Hadoop's clients keep a final value, too, and only say so in their log.
void Configuration::Add(const GivenValue& given) {
  Entry& known = entries_[given.key];
  if (known.final) {
    notes_.push_back({given.origin, 0, given.key,
                      absl::StrCat("has no effect: ", Where(given.key), " makes the key final"),
                      ""});
    return;
  }
  known = {.value = given.value, .file = given.origin};
}

std::optional<std::string> Configuration::Raw(const std::string& name) const {
  if (const auto entry = entries_.find(name); entry != entries_.end()) return entry->second.value;
  if (const auto value = Defaults().find(name); value != Defaults().end()) return value->second;
  return std::nullopt;
}

std::optional<std::string> Configuration::Variable(const std::string& name) const {
  if (!absl::StartsWith(name, "env.")) return Raw(name);
  // The forms are NAME, NAME-text and NAME:-text. "-" gives the default for an unset variable; ":-"
  // gives it for an empty one, too.
  const std::string rest = name.substr(4);
  const size_t dash = rest.find('-');
  const bool colon = dash != std::string::npos && dash > 0 && rest[dash - 1] == ':';
  const std::optional<std::string> value = environment_(rest.substr(0, dash - (colon ? 1 : 0)));
  const bool has_value = value.has_value() && !(colon && value->empty());
  if (has_value || dash == std::string::npos) return value;
  return rest.substr(dash + 1);
}

absl::StatusOr<std::string> Configuration::Text(const std::string& key) const {
  std::string text = Raw(key).value_or("");
  size_t begin = 0;
  size_t end = 0;
  // The limit ends a substitution that leads back to itself, directly or through other keys.
  for (int count = 0; FindVariable(text, &begin, &end); ++count) {
    const std::string name = text.substr(begin + 2, end - begin - 2);
    if (count == kMostSubstitutions) {
      return Complaint(absl::StatusCode::kInvalidArgument, key,
                       absl::StrCat("${", name, "} leads back to itself"), "write the value");
    }
    const std::optional<std::string> value = Variable(name);
    if (!value.has_value()) {
      return Complaint(absl::StatusCode::kInvalidArgument, key,
                       absl::StrCat("nothing defines ${", name, "}"),
                       "define it, or write the value itself");
    }
    text.replace(begin, end + 1 - begin, *value);
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<int64_t> Configuration::Number(const std::string& key, int64_t fallback) const {
  TONY_ASSIGN_OR_RETURN(const std::string text, Text(key));
  if (text.empty()) return fallback;
  if (const auto number = jobfile::ParseWholeNumber(text); number.has_value()) return *number;
  return Complaint(absl::StatusCode::kInvalidArgument, key,
                   absl::StrCat("'", text, "' is no whole number"), "write one");
}

absl::StatusOr<bool> Configuration::Boolean(const std::string& key, bool fallback) const {
  TONY_ASSIGN_OR_RETURN(const std::string text, Text(key));
  if (text.empty()) return fallback;
  if (const auto value = jobfile::ParseBoolean(text); value.has_value()) return *value;
  return Complaint(absl::StatusCode::kInvalidArgument, key,
                   absl::StrCat("'", text, "' is neither true nor false"), "write one of them");
}

absl::StatusOr<std::vector<std::string>> Configuration::List(const std::string& key) const {
  TONY_ASSIGN_OR_RETURN(const std::string text, Text(key));
  std::vector<std::string> items;
  for (const auto& part : absl::StrSplit(text, absl::ByAnyChar(",\n"))) {
    const auto item = absl::StripAsciiWhitespace(part);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

absl::StatusOr<std::string> Configuration::Required(const std::string& key) const {
  TONY_ASSIGN_OR_RETURN(std::string text, Text(key));
  if (!text.empty()) return text;
  return Complaint(absl::StatusCode::kFailedPrecondition, key, "has no value",
                   absl::StrCat("set it, or ", kRightFolder));
}

std::string Configuration::Where(const std::string& key) const {
  if (const auto entry = entries_.find(key); entry != entries_.end()) {
    const auto& [value, file, line, final] = entry->second;
    return line == 0 ? file : absl::StrCat(file, ":", line);
  }
  // If no file sets the key, the prefix tells the file in which a user would set it.
  const char* const file = absl::StartsWith(key, "yarn.")  ? "yarn-site.xml"
                           : absl::StartsWith(key, "dfs.") ? "hdfs-site.xml"
                                                           : "core-site.xml";
  return absl::StrCat(folder_, "/", file);
}

absl::Status Configuration::Complaint(absl::StatusCode code, const std::string& key,
                                      const std::string& message, const std::string& remedy) const {
  return absl::Status(code, absl::StrCat(Where(key), ": ", key, ": ", message, "; ", remedy));
}

}  // namespace tony::hadoop
