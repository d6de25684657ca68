// The words that a shell offers in place of the word at the cursor.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// A whole word that can stand at the cursor. Plain data.
struct Candidate {
  std::string word;
  std::string meaning = "";  ///< half a sentence; may be empty
};
using Candidates = std::vector<Candidate>;

/// The names of files that the shell itself completes.
enum class FileKind {
  kNone,
  kFiles,     ///< files and folders
  kFolders,   ///< folders
  kXml,       ///< files that end in .xml, and folders
  kCommands,  ///< programs, by their names or paths
};

/// The answer to a shell. Plain data.
struct Completion {
  Candidates candidates;
  /// The user will go on writing behind a candidate, so the shell adds no blank to it.
  bool open_end = false;
  FileKind files = FileKind::kNone;  ///< besides the candidates
  std::string file_prefix = "";      ///< the part of the word in front of the file's name
};

/// The answer as the scripts of the shells read it. First a line of three fields, separated by
/// tabs: the kind of files ("none", "files", "folders", "xml", "commands"), "open" or "closed", and
/// the prefix of files. Then a line for each candidate: the word, a tab, and its meaning.
std::string RenderCompletion(const Completion& completion);

/// The candidates that begin with `word`.
Candidates WithPrefix(const Candidates& candidates, const std::string& word);

}  // namespace tony::client
