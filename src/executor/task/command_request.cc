// Recognizes lines that need no shell, as make does. In doubt the line goes to bash: the short cut
// must never change what a line means.
#include "executor/task/command_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "os/files/unique_fd.h"

namespace tony::executor {
namespace {

// Characters that bash passes on unchanged, and the blank, at which it splits words.
bool IsPlain(char c) { return absl::ascii_isalnum(c) || absl::StrContains(" _-./,:+@%=", c); }

// All words that bash itself interprets: `compgen -b` and `compgen -k` of bash 5.2.
bool IsOfBash(const std::string& word) {
  static const auto* const words = new std::set<std::string_view>{
      ".",       ":",       "[",      "alias",   "bg",       "bind",     "break",     "builtin",
      "caller",  "case",    "cd",     "command", "compgen",  "complete", "compopt",   "continue",
      "coproc",  "declare", "dirs",   "disown",  "do",       "done",     "echo",      "elif",
      "else",    "enable",  "esac",   "eval",    "exec",     "exit",     "export",    "false",
      "fc",      "fg",      "fi",     "for",     "function", "getopts",  "hash",      "help",
      "history", "if",      "in",     "jobs",    "kill",     "let",      "local",     "logout",
      "mapfile", "popd",    "printf", "pushd",   "pwd",      "read",     "readarray", "readonly",
      "return",  "select",  "set",    "shift",   "shopt",    "source",   "suspend",   "test",
      "then",    "time",    "times",  "trap",    "true",     "type",     "typeset",   "ulimit",
      "umask",   "unalias", "unset",  "until",   "wait",     "while"};
  return words->contains(word);
}

// Variables that change how bash interprets a line.
bool SteersBash(const std::string& variable) {
  return absl::StartsWith(variable, "BASH_ENV=") || absl::StartsWith(variable, "BASH_FUNC_") ||
         absl::StartsWith(variable, "SHELLOPTS=") || absl::StartsWith(variable, "BASHOPTS=") ||
         absl::StartsWith(variable, "EXECIGNORE=");
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// Whether the kernel can execute the file directly. bash would run any other text as a shell
// script.
bool IsBinaryOrScript(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char begin[4] = {};
  if (!file.valid() || ::read(file.get(), begin, sizeof begin) < 2) return false;
  constexpr char kBinary[4] = {'\x7f', 'E', 'L', 'F'};
  return std::memcmp(begin, "#!", 2) == 0 || std::memcmp(begin, kBinary, sizeof kBinary) == 0;
}

}  // namespace

std::optional<std::string> FindProgram(const std::string& word,
                                       const std::vector<std::string>& environment,
                                       const std::string& working_folder) {
  const auto in_folder = [&](const std::string& path) {
    return absl::StartsWith(path, "/") ? path : absl::StrCat(working_folder, "/", path);
  };
  if (absl::StrContains(word, '/')) {
    return IsExecutableFile(in_folder(word)) ? std::optional(in_folder(word)) : std::nullopt;
  }
  for (const std::string& variable : environment) {
    if (!absl::StartsWith(variable, "PATH=")) continue;
    if (absl::StrContains(variable, '~')) return std::nullopt;  // bash expands '~' to a home folder
    for (const std::string& folder :
         std::vector<std::string>(absl::StrSplit(variable.substr(5), ':'))) {
      const std::string path = absl::StrCat(in_folder(folder), "/", word);
      if (IsExecutableFile(path)) return path;
    }
  }
  return std::nullopt;
}

std::string FindShell(const std::string& root) {
  for (const char* const shell : {"/bin/bash", "/bin/sh"}) {
    if (::access(absl::StrCat(root, shell).c_str(), X_OK) == 0) return shell;
  }
  return "";
}

absl::StatusOr<os::SpawnRequest> RequestFor(const std::string& line,
                                            const std::vector<std::string>& environment,
                                            const std::string& working_folder,
                                            const std::string& shell) {
  std::vector<std::string> by_shell;
  if (!shell.empty()) by_shell = {shell, "-c", line};
  const auto request_by_shell = [&]() -> absl::StatusOr<os::SpawnRequest> {
    if (!by_shell.empty()) return os::SpawnRequest{.arguments = by_shell};
    return absl::InvalidArgumentError(
        "the command needs a shell, and its image has neither /bin/bash nor /bin/sh; write plain "
        "words that begin with a program of the image (/usr/bin/python3 train.py), or take an "
        "image with a shell");
  };
  if (!std::all_of(line.begin(), line.end(), IsPlain)) return request_by_shell();
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  // As a first word, NAME=VALUE sets a variable and %1 names a background process of the shell;
  // both need a shell.
  if (words.empty() || words[0].find_first_of("=%") != std::string::npos || IsOfBash(words[0])) {
    return request_by_shell();
  }
  if (std::any_of(environment.begin(), environment.end(), SteersBash)) return request_by_shell();
  const auto file = FindProgram(words[0], environment, working_folder);
  if (!file || !IsBinaryOrScript(*file)) return request_by_shell();
  return os::SpawnRequest{.arguments = words, .program = *file, .fallback = by_shell};
}

}  // namespace tony::executor
