// Finds out what the word at the cursor of an unfinished command line is: an option, the value of
// one, or an argument.
#pragma once

#include <string>
#include <vector>

#include "common/command_line.h"

namespace tony::client {

/// The place of the word at the cursor. Plain data; `row` points into the table.
struct CommandSlot {
  enum class Kind { kOption, kValue, kArgument };
  Kind kind = Kind::kArgument;
  const OptionRow* row = nullptr;  ///< kValue: the option
  std::string prefix;              ///< kValue: the part in front of the value, "--conf="
  std::string word;                ///< the part of the word that is to be completed
  CommandLine before;              ///< what stands before it, as far as it makes sense
  bool is_command = false;  ///< kArgument: a word of the user's own command, not its first one
};

/// Reads `words` (without the program's name and the verb), of which the last one is at the cursor;
/// there is at least one. Mistakes before the cursor are passed over. `takes_command`: behind
/// `words_before` arguments, the next one begins a command whose words all are arguments.
CommandSlot FindSlot(const OptionTable& table, bool takes_command,
                     const std::vector<std::string>& words, size_t words_before = 0);

/// A word of a shell's command line without quotes and backslashes. An open quote is allowed.
std::string WithoutQuotes(const std::string& word);

}  // namespace tony::client
