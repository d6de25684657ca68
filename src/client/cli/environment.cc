// The password file comes before USER, which any caller may set to anything.
#include "client/cli/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "common/process_setup.h"

namespace tony::client {
namespace {

std::string Variable(const char* name) { return EnvironmentVariable(name).value_or(""); }

}  // namespace

Environment ReadEnvironment() {
  Environment environment;
  environment.home = Variable("HOME");
  environment.user = Variable("USER");
  if (const passwd* entry = getpwuid(geteuid())) {
    environment.user = entry->pw_name;
    if (environment.home.empty()) environment.home = entry->pw_dir;
  }
  if (environment.home.empty()) environment.home = "/";
  environment.conf_dir = Variable("TONY_CONF_DIR");
  environment.hadoop_conf_dir = Variable("HADOOP_CONF_DIR");
  if (environment.hadoop_conf_dir.empty()) environment.hadoop_conf_dir = Variable("YARN_CONF_DIR");
  environment.hadoop_user = Variable("HADOOP_USER_NAME");
  if (environment.hadoop_user.empty()) environment.hadoop_user = environment.user;
  environment.token_file = Variable("HADOOP_TOKEN_FILE_LOCATION");
  environment.term = Variable("TERM");
  environment.has_display = !Variable("DISPLAY").empty() || !Variable("WAYLAND_DISPLAY").empty();
  environment.open_files = OpenFilesLimit();
  environment.no_color = !Variable("NO_COLOR").empty();
  return environment;
}

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string SiteFile(const Environment& environment, const std::string& system_site_file) {
  const std::string file =
      environment.conf_dir.empty() ? system_site_file : environment.conf_dir + "/tony-site.xml";
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? file : "";
}

std::string MachineFile(const Environment& environment, const std::string& system_site_file) {
  std::error_code ignored;
  const bool replaced =
      !environment.conf_dir.empty() && SiteFile(environment, system_site_file) != system_site_file;
  return replaced && std::filesystem::exists(system_site_file, ignored) ? system_site_file : "";
}

}  // namespace tony::client
