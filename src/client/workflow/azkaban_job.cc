// The properties become a command line of tony-submit, which composes the task's command and checks
// the options; then each override gets the name of its property. TonY did the same, but split the
// line at spaces and dropped what followed the first word that was no option.
#include "client/workflow/azkaban_job.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/options.h"
#include "common/status_macros.h"
#include "jobfile/values/values.h"

namespace tony::client {
namespace {

constexpr char kTonyKeys[] = "tony.";
constexpr char kTaskVariables[] = "worker_env.";
constexpr char kHadoopKeys[] = "hadoop-inject.";
constexpr char kMainArguments[] = "main.args";
constexpr char kSourceFolder[] = "src_dir";
constexpr char kDefaultSource[] = "src";
constexpr char kTagsKey[] = "tony.application.tags";
constexpr size_t kLongestTag = 100;  // YARN's limit

/// The properties that are options of tony-submit under the same name.
constexpr const char* kOptions[] = {"conf_file",   "executes",           "task_params",   "src_dir",
                                    "python_venv", "python_binary_path", "hdfs_classpath"};

/// The properties that become variables of the tasks.
constexpr std::pair<const char*, const char*> kDatasets[] = {
    {"azkaban.input.dataset", "AZKABAN_INPUT_DATASET"},
    {"azkaban.output.dataset", "AZKABAN_OUTPUT_DATASET"}};

/// The properties that become tags. Azkaban finds what a killed step left by the first one.
constexpr const char* kTags[] = {"azkaban.flow.execid", "azkaban.flow.flowid",
                                 "azkaban.flow.projectname", "azkaban.webserverhost"};

/// The properties that TonY gave to its JVMs.
constexpr const char* kOfJava[] = {"tony.default.jvm.opts",
                                   "hadoop.global.opts",
                                   "Xms",
                                   "Xmx",
                                   "jvm.args",
                                   "global.jvm.args",
                                   "jobtype.jvm.args",
                                   "jobtype.global.jvm.args",
                                   "classpath",
                                   "jobtype.classpath"};

/// Options that describe a job; the others tell the client what to do.
constexpr const char* kMainOptions[] = {"conf_file",
                                        "conf",
                                        "executes",
                                        "task_params",
                                        "src_dir",
                                        "python_venv",
                                        "python_binary_path",
                                        "shell_env",
                                        "container_env",
                                        "hdfs_classpath",
                                        "sidecar_tensorboard_log_dir",
                                        "backend"};

template <typename Names>
bool IsOneOf(const std::string& name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// `value` without the quotes around it, if these are its only ones of that kind. Users of TonY
/// wrote `executes='python3 train.py'`, because TonY took only the first word.
std::string WithoutQuotes(const std::string& value) {
  const std::string text(absl::StripAsciiWhitespace(value));
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"')) return value;
  return text.find(text[0], 1) == text.size() - 1 ? text.substr(1, text.size() - 2) : value;
}

/// YARN refuses an application with a tag that is longer or has other characters.
std::string TagOf(const std::string& name, const std::string& value) {
  std::string tag = absl::StrCat(name, ":", value);
  std::replace_if(
      tag.begin(), tag.end(), [](char c) { return !absl::ascii_isprint(c); }, '_');
  return tag.substr(0, kLongestTag);
}

/// Translates one step's properties. Not thread safe.
class Translation {
 public:
  Translation(const std::vector<jobfile::JavaProperty>& properties, const std::string& path)
      : path_(path) {
    for (const jobfile::JavaProperty& given : properties) {
      jobfile::JavaProperty property = given;
      property.name = jobfile::RepairMisreadUtf8(given.name);
      property.value = jobfile::RepairMisreadUtf8(given.value);
      properties_[property.name] = std::move(property);
    }
  }

  absl::StatusOr<AzkabanJob> Run(const std::string& working_folder) {
    AddKeys();
    TONY_RETURN_IF_ERROR(AddMainArguments());
    AddOptions(working_folder);
    AddVariables();
    TONY_RETURN_IF_ERROR(Parse());
    AddTags();
    NoteJava();
    return std::move(job_);
  }

 private:
  const jobfile::JavaProperty* Find(const std::string& name) const {
    const auto found = properties_.find(name);
    return found == properties_.end() ? nullptr : &found->second;
  }

  std::string At(const jobfile::JavaProperty& property) const {
    return absl::StrCat(path_, ":", property.line);
  }

  std::string NameAt(const jobfile::JavaProperty& property) const {
    return absl::StrCat(At(property), ": ", property.name);
  }

  void AddKeys() {
    for (const auto& [name, property] : properties_) {
      if (absl::StartsWith(name, kHadoopKeys)) {
        job_.hadoop.push_back({name.substr(sizeof(kHadoopKeys) - 1), property.value, At(property)});
      } else if (absl::StartsWith(name, kTonyKeys) && !IsOneOf(name, kOfJava)) {
        job_.overrides.push_back({name, property.value, At(property)});
      }
    }
  }

  /// An option that has nothing to do with the job would be lost here.
  absl::Status AddMainArguments() {
    const jobfile::JavaProperty* const property = Find(kMainArguments);
    if (property == nullptr) return absl::OkStatus();
    arguments_ = SplitAzkabanWords(property->value);
    absl::StatusOr<CommandLine> line = SplitCommandLine(SubmitTable(), arguments_);
    if (!line.ok()) return Annotate(line.status(), NameAt(*property));
    main_ = *std::move(line);
    for (const auto& [name, values] : main_.options) {
      if (!IsOneOf(name, kMainOptions)) {
        return absl::InvalidArgumentError(
            absl::StrCat(NameAt(*property), ": --", name,
                         " does not describe the job; give it in the command of the job type's "
                         "plugin.properties"));
      }
      origins_[name].assign(values.size(), absl::StrCat(NameAt(*property), ": --", name));
    }
    return absl::OkStatus();
  }

  void AddOption(const std::string& option, const std::string& value, const std::string& origin) {
    arguments_.push_back(absl::StrCat("--", option, "=", value));
    origins_[option].push_back(origin);
  }

  void AddOptions(const std::string& working_folder) {
    for (const std::string name : kOptions) {
      const jobfile::JavaProperty* const property = Find(name);
      if (property == nullptr || main_.Has(name)) continue;
      // TonY put quotes around the parameters itself.
      const bool verbatim = name == "task_params";
      AddOption(name, verbatim ? property->value : WithoutQuotes(property->value),
                NameAt(*property));
    }
    std::error_code ignored;
    const bool has_default =
        std::filesystem::is_directory(absl::StrCat(working_folder, "/", kDefaultSource), ignored);
    if (Find(kSourceFolder) == nullptr && !main_.Has(kSourceFolder) && has_default) {
      AddOption(kSourceFolder, kDefaultSource, absl::StrCat(path_, ": ", kSourceFolder));
    }
  }

  void AddVariables() {
    for (const auto& [name, property] : properties_) {
      if (!absl::StartsWith(name, kTaskVariables)) continue;
      const std::string variable = name.substr(sizeof(kTaskVariables) - 1);
      AddOption("shell_env", absl::StrCat(variable, "=", WithoutQuotes(property.value)),
                NameAt(property));
    }
    for (const auto& [name, variable] : kDatasets) {
      const jobfile::JavaProperty* const property = Find(name);
      if (property == nullptr) continue;
      // Programs that were written for TonY split the value at semicolons.
      AddOption("shell_env",
                absl::StrCat(variable, "=", absl::StrReplaceAll(property->value, {{",", ";"}})),
                NameAt(*property));
    }
  }

  absl::Status Parse() {
    if (arguments_.empty()) return absl::OkStatus();
    absl::StatusOr<SubmitOptions> options = ParseSubmitOptions(arguments_);
    if (!options.ok()) return Annotate(options.status(), path_);
    job_.job_file = options->job_file;
    for (const std::string& warning : options->warnings) {
      job_.notes.push_back(absl::StrCat(path_, ": ", warning));
    }
    // The overrides of one option are in the order in which its values were given.
    std::map<std::string, size_t> taken;
    for (jobfile::Override& override_value : options->overrides) {
      const std::string option = override_value.option.substr(2);
      const std::vector<std::string>& origins = origins_[option];
      const size_t at = taken[option]++;
      if (!origins.empty()) {
        override_value.option = origins[std::min(at, origins.size() - 1)];
      }
      job_.overrides.push_back(std::move(override_value));
    }
    return absl::OkStatus();
  }

  void AddTags() {
    for (const std::string name : kTags) {
      const jobfile::JavaProperty* const property = Find(name);
      if (property == nullptr || property->value.empty()) continue;
      job_.overrides.push_back(
          {kTagsKey, jobfile::EscapeListItem(TagOf(name, property->value)), NameAt(*property)});
    }
  }

  void NoteJava() {
    std::vector<std::string> names;
    for (const std::string name : kOfJava) {
      if (Find(name) != nullptr) names.push_back(name);
    }
    if (names.empty()) return;
    job_.notes.push_back(absl::StrCat(path_, ": ", absl::StrJoin(names, ", "),
                                      ": ignored, because none of tony's programs runs in Java"));
  }

  const std::string& path_;
  std::map<std::string, jobfile::JavaProperty> properties_;
  CommandLine main_;                    ///< of main.args
  std::vector<std::string> arguments_;  ///< of tony-submit
  /// Option → the origin of each of its values.
  std::map<std::string, std::vector<std::string>> origins_;
  AzkabanJob job_;
};

}  // namespace

absl::StatusOr<AzkabanJob> TranslateAzkabanJob(const std::vector<jobfile::JavaProperty>& properties,
                                               const std::string& path,
                                               const std::string& working_folder) {
  return Translation(properties, path).Run(working_folder);
}

std::vector<std::string> SplitAzkabanWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == ' ') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      word.push_back(c);
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace tony::client
