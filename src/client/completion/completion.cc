// Words and meanings come from files of jobs, too, so nothing in them may look like a field's end.
#include "client/completion/completion.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "common/safe_text.h"

namespace tony::client {
namespace {

/// The columns of a meaning, so that word and meaning mostly fit in a line.
constexpr int kMeaningWidth = 64;

const char* NameOf(FileKind kind) {
  switch (kind) {
    case FileKind::kNone:
      return "none";
    case FileKind::kFiles:
      return "files";
    case FileKind::kFolders:
      return "folders";
    case FileKind::kXml:
      return "xml";
    case FileKind::kCommands:
      return "commands";
  }
  return "none";
}

}  // namespace

std::string RenderCompletion(const Completion& completion) {
  std::string text =
      absl::StrCat(NameOf(completion.files), "\t", completion.open_end ? "open" : "closed", "\t",
                   SafeText(completion.file_prefix), "\n");
  for (const Candidate& candidate : completion.candidates) {
    absl::StrAppend(&text, SafeText(candidate.word), "\t",
                    CutToWidth(SafeText(candidate.meaning), kMeaningWidth), "\n");
  }
  return text;
}

Candidates WithPrefix(const Candidates& candidates, const std::string& word) {
  Candidates fitting;
  std::copy_if(
      candidates.begin(), candidates.end(), std::back_inserter(fitting),
      [&word](const Candidate& candidate) { return absl::StartsWith(candidate.word, word); });
  return fitting;
}

}  // namespace tony::client
