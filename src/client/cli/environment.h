// Reads the environment variables that the command line tools use, once at the start of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hadoop/config/configuration.h"

namespace tony::client {

/// The caller's environment. Plain data; the only place where the client asks for variables.
struct Environment {
  std::string home;      ///< HOME, or else from the password file; "/" when neither has it
  std::string user;      ///< the effective user's login name; USER where the password file has none
  std::string conf_dir;  ///< TONY_CONF_DIR; empty when unset
  std::string hadoop_conf_dir;  ///< HADOOP_CONF_DIR, or else YARN_CONF_DIR; empty when unset
  std::string hadoop_user;      ///< HADOOP_USER_NAME, or else `user`
  std::string token_file;       ///< HADOOP_TOKEN_FILE_LOCATION; empty when unset
  /// Stronger than the files in `hadoop_conf_dir`; a workflow system may give some.
  std::vector<hadoop::GivenValue> hadoop_values;
  std::string term;          ///< TERM; empty when unset
  bool no_color = false;     ///< NO_COLOR is set and not empty
  uint64_t open_files = 0;   ///< the soft limit of `ulimit -n`, which users' programs get
  bool has_display = false;  ///< DISPLAY or WAYLAND_DISPLAY is set and not empty
};

/// Reads the variables of this process. Not thread safe with changes of the environment.
Environment ReadEnvironment();

/// The value of a variable of this process, which Hadoop's configuration refers to as ${env.NAME}.
std::optional<std::string> EnvironmentVariable(const std::string& name);

/// The site file to merge: `<conf_dir>/tony-site.xml`, or `system_site_file` when `conf_dir` is
/// empty; an empty string when that file does not exist.
std::string SiteFile(const Environment& environment,
                     const std::string& system_site_file = "/etc/tony/tony-site.xml");

/// The machine's site file where `conf_dir` replaces it, since its final values hold nevertheless;
/// an empty string when it is not replaced or does not exist.
std::string MachineFile(const Environment& environment,
                        const std::string& system_site_file = "/etc/tony/tony-site.xml");

}  // namespace tony::client
