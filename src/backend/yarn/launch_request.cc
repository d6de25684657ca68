// Quotes words and values for the launch script that a NodeManager writes.
#include "backend/yarn/launch_request.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "logs/container_logs.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;

// Breaks up YARN's marks. YARN replaces "{{" by "$", "}}" by nothing, and "<LOG_DIR>" and "<CPS>"
// by paths, wherever they occur. `nothing` is inserted into each mark; it is a text that the shell
// reading the result takes for nothing.
std::string WithoutMarks(const std::string& text, const std::string& nothing) {
  std::string result;
  char before = '\0';
  for (const char c : text) {
    if ((c == before && (c == '{' || c == '}')) || before == '<') result += nothing;
    result += c;
    before = c;
  }
  return result;
}

// Escapes `text` for use between double quotes.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"$", "\\$"}, {"`", "\\`"}});
}

yarn::LocalResourceVisibilityProto VisibilityOf(LocalResource::Visibility visibility) {
  return visibility == LocalResource::Visibility::kPrivate ? yarn::PRIVATE : yarn::APPLICATION;
}

void AddResource(const LocalResource& resource, yarn::ContainerLaunchContextProto* context) {
  auto* const entry = context->add_localresources();
  entry->set_key(resource.name);
  yarn::LocalResourceProto* const value = entry->mutable_value();
  value->mutable_resource()->set_scheme(resource.scheme);
  if (!resource.host.empty()) value->mutable_resource()->set_host(resource.host);
  if (resource.port != 0) value->mutable_resource()->set_port(resource.port);
  value->mutable_resource()->set_file(resource.path);
  value->set_size(resource.bytes);
  value->set_timestamp(resource.modified_millis);
  value->set_type(resource.type == LocalResource::Type::kArchive ? yarn::ARCHIVE : yarn::FILE);
  value->set_visibility(VisibilityOf(resource.visibility));
}

void AddEnvironment(const std::vector<std::string>& environment,
                    std::map<std::string, std::string>& variables) {
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
}

void AddVariable(const std::string& name, const std::string& value,
                 yarn::ContainerLaunchContextProto* context) {
  auto* const entry = context->add_environment();
  entry->set_key(name);
  entry->set_value(value);
}

void AddAcl(yarn::ApplicationAccessTypeProto type, const std::string& acl,
            yarn::ContainerLaunchContextProto* context) {
  if (acl.empty()) return;
  auto* const entry = context->add_application_acls();
  entry->set_accesstype(type);
  entry->set_acl(acl);
}

}  // namespace

std::vector<std::string> DockerEnvironment(const std::string& image,
                                           const std::vector<std::string>& mounts) {
  std::vector<std::string> environment = {
      "YARN_CONTAINER_RUNTIME_TYPE=docker",
      absl::StrCat("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=", image)};
  if (!mounts.empty()) {
    environment.push_back(
        absl::StrCat("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=", absl::StrJoin(mounts, ",")));
  }
  return environment;
}

std::string LaunchWord(const std::string& text) {
  const std::string quoted = absl::StrReplaceAll(text, {{"'", R"('\'')"}});
  return Escaped(absl::StrCat("'", WithoutMarks(quoted, "''"), "'"));
}

std::string LaunchValue(const std::string& text) { return WithoutMarks(Escaped(text), "\"\""); }

absl::StatusOr<yarn::ContainerLaunchContextProto> MakeLaunchContext(
    const LaunchTemplate& launch, const core::LaunchContext& context) {
  yarn::ContainerLaunchContextProto message;
  if (launch.tokens) {
    TONY_ASSIGN_OR_RETURN(*message.mutable_tokens(), launch.tokens(context.secret));
  }
  // With `exec` the executor replaces the shell, so YARN signals the executor and reports its exit
  // status.
  std::string command = "exec";
  for (const std::string& word : launch.command) absl::StrAppend(&command, " ", LaunchWord(word));
  for (const std::string& word : context.arguments) {
    absl::StrAppend(&command, " ", LaunchWord(word));
  }
  message.add_command(absl::StrCat(command, " >><LOG_DIR>/", launch.log, " 2>&1"));
  std::map<std::string, std::string> variables;
  AddEnvironment(launch.environment, variables);
  AddEnvironment(context.environment, variables);
  for (const auto& [name, value] : variables) AddVariable(name, LaunchValue(value), &message);
  // YARN replaces the mark by the one of LOG_DIRS that it has chosen.
  AddVariable(logs::kLogFolderVariable, "<LOG_DIR>", &message);
  for (const LocalResource& resource : launch.resources) AddResource(resource, &message);
  AddAcl(yarn::APPACCESS_VIEW_APP, launch.view_acl, &message);
  AddAcl(yarn::APPACCESS_MODIFY_APP, launch.modify_acl, &message);
  return message;
}

}  // namespace tony::backend
