// The options of every program of tony as a table: it splits the command line, stores the values
// and renders the help.
//
// CLI11 does not support long options with a single dash (`-conf_file`), which existing command
// lines use, so it is not used here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony {

/// Stores the value of an option ("" for a flag) where the program wants it; option_store.h has one
/// for each form. InvalidArgument – the value is invalid; the message says what was expected.
using OptionStore = std::function<absl::Status(const std::string& value)>;

/// One row of a table of options.
struct OptionRow {
  /// "conf_file": given with one or two dashes; `-` and `_` within it are the same
  std::string name;
  /// The kind of its value, as the help shows it: FILE, FOLDER, PATH, JOB, NUMBER, KEY=VALUE, TEXT,
  /// …; empty: a flag
  std::string value = "";
  bool repeatable = false;      ///< may be given more than once with a value
  std::string meaning = "";     ///< one line for the help
  std::string letter = "";      ///< a second name, e.g. "f" for -f
  bool required = false;        ///< ParseOptions() insists on a value that is not empty
  OptionStore store = nullptr;  ///< called by ParseOptions(); none: only CommandLine has the values
  std::vector<std::string> choices = {};  ///< the values to offer, when there are only a few
  /// The value may be left out, and then is ""; it is given as `--name=value` only.
  bool optional = false;
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

/// The row that the token `--name`, `-name` or `--name=value` means. Null: `token` is no option, or
/// `table` has none of that name.
const OptionRow* FindOption(const OptionTable& table, const std::string& token);

/// Splits `arguments` (without the program's name). `--name=value` and `--name value` are the same;
/// all arguments after `--` are positional, and so is a single `-`. InvalidArgument – an unknown
/// option (the message names the nearest), a missing value, a value for a flag, or one value too
/// many.
absl::StatusOr<CommandLine> SplitCommandLine(const OptionTable& table,
                                             const std::vector<std::string>& arguments);

/// Splits `arguments` (without the program's name) as SplitCommandLine() does, and stores each
/// value by its row, in the order of the table. For programs that are started by others of tony's,
/// so there are no positional arguments. InvalidArgument – bad usage as for SplitCommandLine(), a
/// required option is missing, a positional argument, or a value that its row refuses. `usage`, a
/// sentence about who starts the program and how, begins the message about what is missing.
absl::Status ParseOptions(const OptionTable& table, const std::vector<std::string>& arguments,
                          const std::string& usage);

/// The table as aligned lines, wrapped at `width` columns.
std::string RenderOptionTable(const OptionTable& table, int width);

}  // namespace tony
