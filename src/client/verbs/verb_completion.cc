// `tony completion`: prints the script by which a shell completes tony's command lines.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/completion/shell_scripts.h"
#include "client/verbs/verbs.h"

namespace tony::client {
namespace {

absl::StatusOr<int> RunCompletion(const CommandLine& line, const VerbContext& context) {
  const std::string shells = absl::StrJoin(CompletionShells(), ", ");
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("name a shell: tony completion SHELL, which is one of ", shells));
  }
  const std::string script = CompletionScript(line.positionals[0]);
  if (script.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no completion for '", line.positionals[0], "'; SHELL is one of ", shells));
  }
  context.bytes(script);
  return kVerbDone;
}

}  // namespace

Verb CompletionVerb() {
  return {"completion",
          "SHELL",
          "print the completion of command lines for bash, zsh or fish",
          "An installed tony is completed without it. Otherwise put this line into ~/.bashrc:\n"
          "  eval \"$(tony completion bash)\"\n"
          "or into ~/.zshrc, behind compinit, with zsh instead of bash, or into "
          "~/.config/fish/config.fish:\n"
          "  tony completion fish | source\n",
          {},
          1,
          &RunCompletion};
}

}  // namespace tony::client
