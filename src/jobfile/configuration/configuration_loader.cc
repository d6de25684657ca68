// Paths become absolute before the merge: afterwards it is no longer known which file's folder a
// relative path belongs to.
#include "jobfile/configuration/configuration_loader.h"

#include <filesystem>
#include <utility>

#include "jobfile/keys/key_table.h"
#include "jobfile/values/paths.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/values.h"
#include "jobfile/xml/files.h"
#include "jobfile/xml/xml_reader.h"

namespace tony::jobfile {
namespace {

std::string ResolveResources(const std::string& value, const std::string& folder,
                             const std::string& home_folder) {
  std::vector<std::string> items;
  for (const std::string& item : SplitList(value)) {
    absl::StatusOr<core::ResourceEntry> entry = ParseResource(item);
    if (!entry.ok()) return value;  // BuildJob() reports the mistake
    entry->source = ResolvePath(entry->source, folder, home_folder);
    items.push_back(FormatResource(*entry));
  }
  return JoinList(items);
}

// `value` with its paths made absolute, if the type of `key` holds paths.
std::string ResolveValue(const std::string& key, const std::string& value,
                         const std::string& folder, const std::string& home_folder) {
  const std::optional<KeyMatch> match = FindKey(key);
  if (!match) return value;
  switch (match->key->type) {
    case ValueType::kExistingPath:
    case ValueType::kFolder:
    case ValueType::kLocation:
      return ResolvePath(value, folder, home_folder);
    case ValueType::kResources:
      return ResolveResources(value, folder, home_folder);
    default:
      return value;
  }
}

/// Whether TonY's default for the key is no value. A placeholder such as /path/to/keystore.jks is
/// none, either.
bool IsDefaultEmpty(const Key& key) {
  return key.default_value.empty() || IsPlaceholder(key.default_value);
}

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources) {
    result_.configuration = Configuration(sources.home_folder, sources.job_file);
  }

  /// From the machine's file only the final values are taken.
  void AddFile(Layer layer, const std::string& name) {
    const std::string path = ResolvePath(name, sources_.working_folder, sources_.home_folder);
    const XmlFile file = ReadXmlFile(path, name);
    result_.problems.insert(result_.problems.end(), file.problems.begin(), file.problems.end());
    result_.notes.insert(result_.notes.end(), file.notes.begin(), file.notes.end());
    result_.readable = result_.readable && file.readable;
    const std::string folder = std::filesystem::path(path).parent_path().string();
    // `file.repeated` is left out: each repetition is a problem already.
    for (const XmlProperty& property : file.properties) {
      if (layer == Layer::kMachineFile && !property.final) continue;
      if (!property.has_value) {
        CheckMissingValue(name, property);
        continue;
      }
      Set(property.name, folder,
          {property.value, {layer, name, property.line}, property.final, property.source});
    }
  }

  void AddOverride(const Override& override_value) {
    Set(override_value.key, sources_.working_folder,
        {override_value.value, {Layer::kCommandLine, override_value.option, 0}});
  }

  LoadResult Finish() { return std::move(result_); }

 private:
  /// Sites often begin with a copy of TonY's tony-default.xml, in which keys without a default have
  /// no <value>. Hadoop ignores such properties. For any other key the value was probably
  /// forgotten.
  void CheckMissingValue(const std::string& file, const XmlProperty& property) {
    const std::optional<KeyMatch> match = FindKey(property.name);
    if (match && IsDefaultEmpty(*match->key)) return;
    result_.problems.push_back({file, property.line, property.name, "has no <value>",
                                "add a <value>, or remove the property"});
  }

  void Set(const std::string& key, const std::string& folder, Setting setting) {
    setting.value = ResolveValue(key, setting.value, folder, sources_.home_folder);
    if (auto problem = result_.configuration.Set(key, std::move(setting))) {
      result_.problems.push_back(*std::move(problem));
    }
  }

  const Sources& sources_;
  LoadResult result_;
};

// True also for a file that exists but cannot be read: ignoring it silently would ignore the site's
// limits.
bool IsThere(const std::string& path) { return !absl::IsNotFound(CheckReadable(path)); }

}  // namespace

LoadResult LoadConfiguration(const Sources& sources) {
  Loader loader(sources);
  for (const auto& [layer, name] : {std::pair(Layer::kMachineFile, sources.machine_file),
                                    std::pair(Layer::kSiteFile, sources.site_file)}) {
    const std::string path = ResolvePath(name, sources.working_folder, sources.home_folder);
    if (!path.empty() && IsThere(path)) loader.AddFile(layer, name);
  }
  if (!sources.job_file.empty()) loader.AddFile(Layer::kJobFile, sources.job_file);
  for (const Override& override_value : sources.overrides) loader.AddOverride(override_value);
  return loader.Finish();
}

}  // namespace tony::jobfile
