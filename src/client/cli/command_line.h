// Splits a command line into options and positional arguments by a table; the same table renders
// the help.
//
// CLI11 does not support long options with a single dash (`-conf_file`), which existing command
// lines use, so it is not used here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::client {

/// One row of a table of options.
struct OptionRow {
  std::string name;   ///< "conf_file": given with one or two dashes; `-` and `_` within it are the
                      ///< same
  std::string value;  ///< placeholder of its value in the help, e.g. "KEY=VALUE"; empty: a flag
  bool repeatable = false;  ///< may be given more than once with a value
  std::string meaning;      ///< for the help
  std::string letter = "";  ///< a second name, e.g. "f" for -f
};

using OptionTable = std::vector<OptionRow>;

/// A command line that was split. Plain data.
struct CommandLine {
  std::map<std::string, std::vector<std::string>> options;  ///< table name → values; "" for a flag
  std::vector<std::string> positionals;

  bool Has(const std::string& name) const { return options.count(name) > 0; }
  /// The first value, or an empty string.
  std::string Value(const std::string& name) const;
  /// All values in their order.
  std::vector<std::string> Values(const std::string& name) const;
};

/// Splits `arguments` (without the program's name). `--name=value` and `--name value` are the same;
/// all arguments after `--` are positional, and so is a single `-`. InvalidArgument – an unknown
/// option (the message names the nearest), a missing value, a value for a flag, or one value too
/// many.
absl::StatusOr<CommandLine> SplitCommandLine(const OptionTable& table,
                                             const std::vector<std::string>& arguments);

/// The table as aligned lines, wrapped at `width` columns.
std::string RenderOptionTable(const OptionTable& table, int width);

}  // namespace tony::client
