// nlohmann's parser runs without exceptions, and each access checks the type: a missing or wrong
// member reads as null, which each function then refuses.
#include "hadoop/hdfs/webhdfs_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::hadoop {
namespace {

using nlohmann::json;

constexpr int kUnauthorized = 401;
constexpr size_t kQuotedBytes = 200;

absl::Status NotUnderstood(const std::string& text) {
  return absl::DataLossError(
      absl::StrCat("the NameNode's answer is not understood: ", text.substr(0, kQuotedBytes)));
}

json Parse(const std::string& text) {
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// The member `name` of `object`; null if there is none or `object` is no object.
const json& Member(const json& object, const char* name) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

int64_t NumberOf(const json& value) { return value.is_number_integer() ? value.get<int64_t>() : 0; }

// Nothing if the members that decide are missing: type, length, time of modification. Name, mode
// and owner may be absent.
std::optional<HdfsFileStatus> FileStatusOf(const json& value) {
  if (!Member(value, "type").is_string() || !Member(value, "length").is_number_integer() ||
      !Member(value, "modificationTime").is_number_integer()) {
    return std::nullopt;
  }
  return HdfsFileStatus{.name = TextOf(Member(value, "pathSuffix")),
                        .folder = TextOf(Member(value, "type")) == "DIRECTORY",
                        .bytes = NumberOf(Member(value, "length")),
                        .modified_millis = NumberOf(Member(value, "modificationTime")),
                        .mode = static_cast<int>(
                            std::strtol(TextOf(Member(value, "permission")).c_str(), nullptr, 8)),
                        .owner = TextOf(Member(value, "owner"))};
}

}  // namespace

// The exception in the body decides before the HTTP code, which is the same for many exceptions.
absl::Status WebHdfsError(const http::HttpResponse& response) {
  const json answer = Parse(response.body);
  const json& exception = Member(answer, "RemoteException");
  const std::string name = TextOf(Member(exception, "exception"));
  if (!name.empty()) return RemoteException(name, TextOf(Member(exception, "message")));
  if (response.code == kUnauthorized) {
    return absl::UnauthenticatedError(
        "the NameNode's web server wants Kerberos (401); get a ticket with kinit");
  }
  return absl::UnknownError(absl::StrCat("the web server answers with code ", response.code));
}

absl::StatusOr<HdfsFileStatus> ParseFileStatus(const std::string& text) {
  const auto status = FileStatusOf(Member(Parse(text), "FileStatus"));
  if (!status.has_value()) return NotUnderstood(text);
  return *status;
}

absl::StatusOr<std::vector<HdfsFileStatus>> ParseFileStatuses(const std::string& text) {
  const json answer = Parse(text);
  const json& list = Member(Member(answer, "FileStatuses"), "FileStatus");
  if (!list.is_array()) return NotUnderstood(text);
  std::vector<HdfsFileStatus> statuses;
  for (const json& item : list) {
    auto status = FileStatusOf(item);
    if (!status.has_value()) return NotUnderstood(text);
    statuses.push_back(*std::move(status));
  }
  return statuses;
}

absl::StatusOr<bool> ParseBooleanAnswer(const std::string& text) {
  const json answer = Parse(text);
  const json& value = Member(answer, "boolean");
  if (!value.is_boolean()) return NotUnderstood(text);
  return value.get<bool>();
}

absl::StatusOr<int64_t> ParseLongAnswer(const std::string& text) {
  const json answer = Parse(text);
  const json& value = Member(answer, "long");
  if (!value.is_number_integer()) return NotUnderstood(text);
  return value.get<int64_t>();
}

absl::StatusOr<std::map<std::string, std::string>> ParseAttributes(const std::string& text) {
  const json answer = Parse(text);
  const json& list = Member(answer, "XAttrs");
  if (!list.is_array()) return NotUnderstood(text);
  std::map<std::string, std::string> attributes;
  for (const json& item : list) {
    const std::string name = TextOf(Member(item, "name"));
    const json& value = Member(item, "value");
    std::string bytes;
    // An attribute with an empty value is sent with the value null or "", without the prefix "0s".
    const bool empty = value.is_null() || value == "";
    if (name.empty() || (!empty && (!absl::StartsWith(TextOf(value), "0s") ||
                                    !absl::Base64Unescape(TextOf(value).substr(2), &bytes)))) {
      return NotUnderstood(text);
    }
    attributes[name] = bytes;
  }
  return attributes;
}

absl::StatusOr<std::string> ParsePathAnswer(const std::string& text) {
  const json answer = Parse(text);
  std::string path = TextOf(Member(answer, "Path"));
  if (!absl::StartsWith(path, "/")) return NotUnderstood(text);
  return path;
}

absl::StatusOr<std::string> ParseTokenAnswer(const std::string& text) {
  const json answer = Parse(text);
  if (!answer.is_object() || !answer.contains("Token")) {
    // The message must not quote the answer, which may contain a token in another form.
    return absl::DataLossError("the NameNode's answer has no token");
  }
  return TextOf(Member(Member(answer, "Token"), "urlString"));
}

}  // namespace tony::hadoop
