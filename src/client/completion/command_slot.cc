// Unlike SplitCommandLine(), this never fails: the line is not finished, and a mistake in it is for
// the program to report once it is.
#include "client/completion/command_slot.h"

#include "absl/strings/match.h"

namespace tony::client {
namespace {

/// Reads the words before the cursor one by one. Not thread safe.
class WordReader {
 public:
  WordReader(const OptionTable& table, bool takes_command, size_t words_before)
      : table_(table), takes_command_(takes_command), words_before_(words_before) {}

  void Read(const std::string& word) {
    if (awaiting_value_ != nullptr) {
      slot_.before.options[awaiting_value_->name].push_back(word);
      awaiting_value_ = nullptr;
    } else if (only_arguments_ || !IsOption(word)) {
      slot_.before.positionals.push_back(word);
      only_arguments_ = only_arguments_ || InCommand();
    } else if (word == "--") {
      only_arguments_ = true;
    } else {
      ReadOption(word);
    }
  }

  CommandSlot ReadLast(const std::string& word) {
    slot_.word = word;
    if (awaiting_value_ != nullptr) {
      slot_.kind = CommandSlot::Kind::kValue;
      slot_.row = awaiting_value_;
    } else if (only_arguments_ || !absl::StartsWith(word, "-")) {
      slot_.is_command = InCommand();
    } else if (const size_t equals = word.find('='); equals == std::string::npos) {
      slot_.kind = CommandSlot::Kind::kOption;
    } else {
      slot_.kind = CommandSlot::Kind::kValue;
      slot_.row = FindOption(table_, word);
      slot_.prefix = word.substr(0, equals + 1);
      slot_.word = word.substr(equals + 1);
    }
    return slot_;
  }

 private:
  /// Whether the command's first word has been read.
  bool InCommand() const {
    return takes_command_ && slot_.before.positionals.size() > words_before_;
  }

  static bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

  void ReadOption(const std::string& word) {
    const OptionRow* row = FindOption(table_, word);
    if (row == nullptr) return;
    const size_t equals = word.find('=');
    if (row->value.empty()) {
      slot_.before.options[row->name].push_back("");
    } else if (equals == std::string::npos) {
      // A value that may be left out is in the same word.
      if (!row->optional) awaiting_value_ = row;
    } else {
      slot_.before.options[row->name].push_back(word.substr(equals + 1));
    }
  }

  const OptionTable& table_;
  const bool takes_command_;
  const size_t words_before_;
  const OptionRow* awaiting_value_ = nullptr;
  bool only_arguments_ = false;  ///< behind "--", or behind a command's first word
  CommandSlot slot_;
};

}  // namespace

CommandSlot FindSlot(const OptionTable& table, bool takes_command,
                     const std::vector<std::string>& words, size_t words_before) {
  WordReader reader(table, takes_command, words_before);
  for (size_t index = 0; index + 1 < words.size(); ++index) reader.Read(words[index]);
  return reader.ReadLast(words.back());
}

std::string WithoutQuotes(const std::string& word) {
  std::string plain;
  char quote = 0;
  for (size_t position = 0; position < word.size(); ++position) {
    const char character = word[position];
    const bool escapes = character == '\\' && quote != '\'' && position + 1 < word.size();
    if (escapes) {
      plain += word[++position];
    } else if (quote == 0 && (character == '\'' || character == '"')) {
      quote = character;
    } else if (character == quote) {
      quote = 0;
    } else {
      plain += character;
    }
  }
  return plain;
}

}  // namespace tony::client
