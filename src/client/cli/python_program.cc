// The imports are found line by line, without a Python interpreter: a wrong guess costs the user
// one option, and a slow start would cost it each time.
#include "client/cli/python_program.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tony::client {
namespace {

/// Files that are read for one guess, and lines of each.
constexpr size_t kMostFiles = 100;
constexpr int kMostLines = 20'000;

/// Modules that tell the framework, the strongest first: a program of tony.collective or Horovod
/// also imports the framework whose tensors it exchanges, and one of JAX may read its data with
/// TensorFlow's or PyTorch's loaders.
struct KnownModule {
  const char* module;
  const char* framework;
};
constexpr KnownModule kKnownModules[] = {
    {"tony.collective", "horovod"},
    {"horovod", "horovod"},
    {"tony.jax", "jax"},
    {"jax", "jax"},
    {"flax", "jax"},
    {"torch", "pytorch"},
    {"lightning", "pytorch"},
    {"pytorch_lightning", "pytorch"},
    {"torchvision", "pytorch"},
    {"transformers", "pytorch"},
    {"accelerate", "pytorch"},
    {"tensorflow", "tensorflow"},
    {"keras", "tensorflow"},
};

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::string FolderOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

/// Adds the modules that one line of Python imports.
void AddImports(absl::string_view line, std::vector<std::string>& modules) {
  line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
  if (absl::ConsumePrefix(&line, "import ")) {
    for (const absl::string_view part : absl::StrSplit(line, ',')) {
      const std::vector<std::string> words = absl::StrSplit(part, ' ', absl::SkipEmpty());
      if (!words.empty()) modules.push_back(words[0]);
    }
  } else if (absl::ConsumePrefix(&line, "from ")) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" ,()"), absl::SkipEmpty());
    if (words.size() < 3 || words[1] != "import") return;
    const size_t dots = std::min(words[0].find_first_not_of('.'), words[0].size());
    const std::string from = words[0].substr(dots);
    if (!from.empty()) modules.push_back(from);
    // `from tony import collective` imports the module tony.collective.
    for (size_t index = 2; index < words.size(); ++index) {
      modules.push_back(from.empty() ? words[index] : absl::StrCat(from, ".", words[index]));
    }
  }
}

std::vector<std::string> ImportsOf(const std::string& path) {
  std::vector<std::string> modules;
  std::ifstream file(path);
  std::string line;
  for (int lines = 0; lines < kMostLines && std::getline(file, line); ++lines) {
    AddImports(line, modules);
  }
  return modules;
}

/// The file of `module` below `folder`; empty: it is not there.
std::string FileOf(const std::string& module, const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", absl::StrReplaceAll(module, {{".", "/"}}));
  for (const char* end : {".py", "/__init__.py", "/__main__.py"}) {
    if (Exists(path + end)) return path + end;
  }
  return "";
}

bool IsWithin(const std::string& module, const std::string& known) {
  return module == known || absl::StartsWith(module, absl::StrCat(known, "."));
}

/// Every module that the script and the modules beside it import, with the file that does.
std::vector<std::pair<std::string, std::string>> AllImports(const std::string& script) {
  std::vector<std::pair<std::string, std::string>> imports;
  std::deque<std::string> to_read = {script};
  std::set<std::string> seen = {script};
  for (size_t files = 0; files < kMostFiles && !to_read.empty(); ++files) {
    const std::string path = to_read.front();
    to_read.pop_front();
    for (const std::string& module : ImportsOf(path)) {
      imports.emplace_back(module, path);
      for (const std::string& folder : {FolderOf(path), FolderOf(script)}) {
        const std::string file = FileOf(module, folder);
        if (!file.empty() && seen.insert(file).second) to_read.push_back(file);
      }
    }
  }
  return imports;
}

bool IsPlain(char letter) {
  return absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
         absl::StrContains("_-./=:,+@%", absl::string_view(&letter, 1));
}

}  // namespace

PythonProgram FindPythonProgram(std::vector<std::string> words, const std::string& folder) {
  PythonProgram program;
  if (!words.empty() && absl::EndsWith(words[0], ".py")) words.insert(words.begin(), "python3");
  program.words = std::move(words);
  const auto& all = program.words;
  for (size_t index = 1; index < all.size() && program.script.empty(); ++index) {
    if (absl::EndsWith(all[index], ".py")) {
      program.script = all[index];
    } else if (all[index] == "-m" && index + 1 < all.size()) {
      const std::string file = FileOf(all[index + 1], folder);
      // A module that is not here, such as pytest, is an installed one.
      if (file.empty()) break;
      program.script = file.substr(folder.size() + 1);
    }
  }
  if (program.script.empty()) return program;
  program.script_path =
      program.script[0] == '/' ? program.script : absl::StrCat(folder, "/", program.script);
  return program;
}

FrameworkGuess GuessFramework(const PythonProgram& program) {
  if (program.script.empty()) return {"pytorch", "the command names no Python script"};
  const auto imports = AllImports(program.script_path);
  for (const KnownModule& known : kKnownModules) {
    for (const auto& [module, path] : imports) {
      if (!IsWithin(module, known.module)) continue;
      const std::string name = std::filesystem::path(path).filename().string();
      return {known.framework, absl::StrCat(name, " imports ", known.module)};
    }
  }
  return {"pytorch", absl::StrCat(program.script, " imports no framework that tony knows")};
}

std::string ShellLine(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
    if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) {
      text->append(word);
    } else {
      absl::StrAppend(text, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
    }
  });
}

}  // namespace tony::client
