// The words of a command are found without a shell, so a word may be anything: a pattern, an
// output, the argument of another program. A note costs a reader one line where it is wrong, so
// every doubt about the file being missing is decided against the note.
#include "jobfile/job/left_behind.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/model/master_task.h"

namespace tony::jobfile {
namespace {

namespace fs = std::filesystem;

/// Files of a program's folder that are looked at. A larger program may bring anything.
constexpr int kMostFiles = 20'000;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool IsFolder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// The words of a command that may name a file the command reads. Quotes end words, so that the
/// words of a command in quotes count; what is written to does not.
std::vector<std::string> WordsOf(const std::string& command) {
  std::vector<std::string> words;
  bool written = false;
  bool module = false;
  for (const std::string& word : std::vector<std::string>(
           absl::StrSplit(command, absl::ByAnyChar(" \t\n;&|()<'\"`"), absl::SkipEmpty()))) {
    const bool redirects = word.find('>') != std::string::npos;
    const bool is_module = std::exchange(module, word == "-m");
    if (std::exchange(written, redirects && absl::EndsWith(word, ">")) || redirects) continue;
    if (word[0] == '/' || word[0] == '-' || word.find_first_of("$*?={}~") != std::string::npos) {
      continue;
    }
    // `python -m train` runs train.py.
    words.push_back(is_module ? absl::StrCat(word, ".py") : word);
  }
  return words;
}

/// What a task finds in its working folder. Not thread safe.
class Brought {
 public:
  explicit Brought(const Packaging& packaging) : packaging_(packaging) {
    std::error_code error;
    fs::recursive_directory_iterator entry(packaging.src_dir,
                                           fs::directory_options::skip_permission_denied, error);
    for (int files = 0; !error && entry != fs::recursive_directory_iterator();
         entry.increment(error)) {
      if (++files > kMostFiles) unknown_ = true;
      if (unknown_) break;
      names_.insert(entry->path().filename().string());
    }
    const bool is_folder = packaging.src_dir.empty() || IsFolder(packaging.src_dir);
    unknown_ = unknown_ || !is_folder || (error && !packaging.src_dir.empty());
  }

  /// Whether `word` may be there for a task of the type. A file of the same name in another folder
  /// counts, as the command may change folders.
  bool Has(const core::TaskType& type, const std::string& word) const {
    const fs::path path(word);
    const fs::path normal = path.lexically_normal();
    const std::string first = normal.begin()->string();
    if (unknown_ || names_.contains(path.filename().string())) return true;
    if (first == "venv" && !packaging_.python_venv.empty()) return true;
    return std::any_of(type.files.begin(), type.files.end(), [&](const core::ResourceEntry& file) {
      return file.archive || file.local_name == first || file.local_name == path.filename() ||
             IsFile(fs::path(file.source) / path.filename());
    });
  }

 private:
  const Packaging& packaging_;
  std::set<std::string> names_;
  bool unknown_ = false;  ///< the program cannot be looked into, or is too large for it
};

/// What brings the file `word` of `folder` to the tasks.
std::string Remedy(const Packaging& packaging, const fs::path& folder, const std::string& word,
                   bool is_working_folder) {
  const fs::path above = (folder / word).parent_path().parent_path();
  if (IsFile(above / "pyvenv.cfg") && packaging.python_venv.empty()) {
    return absl::StrCat("--python_venv ", fs::path(word).parent_path().parent_path().string());
  }
  if (packaging.src_dir.empty()) {
    return absl::StrCat("--src_dir ", is_working_folder ? "." : folder.string());
  }
  return absl::StrCat("put it into ", packaging.src_dir);
}

}  // namespace

std::vector<Problem> NoteFilesLeftBehind(const BuildResult& built,
                                         const std::string& working_folder,
                                         const std::string& job_folder) {
  std::vector<Problem> notes;
  std::optional<Brought> brought;  // made when a file is found, since it reads the whole program
  std::set<std::string> noted;
  for (const core::TaskType& type : core::WithMasterTask(built.job).types) {
    for (const std::string& word : WordsOf(type.command)) {
      const bool is_here = IsFile(fs::path(working_folder) / word);
      if ((!is_here && !IsFile(fs::path(job_folder) / word)) || noted.contains(word)) continue;
      if (!brought) brought.emplace(built.packaging);
      if (brought->Has(type, word)) continue;
      noted.insert(word);
      const std::string& folder = is_here ? working_folder : job_folder;
      notes.push_back(
          {"", 0, "",
           absl::StrCat(word, " is in ", is_here ? "this folder" : folder,
                        built.packaging.src_dir.empty()
                            ? ", but tasks start in one of their own: "
                            : ", but not in the program, which is all that tasks find: ",
                        Remedy(built.packaging, folder, word, is_here)),
           ""});
    }
  }
  return notes;
}

}  // namespace tony::jobfile
