// A NameNode and its DataNode on loopback, with files in memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hadoop/hdfs/webhdfs.h"
#include "tests/hadoop/fakes/fake_http_server.h"

namespace tony::hadoop {

/// Knows the operations of WebHDFS that we use. Thread safe.
class FakeNameNode {
 public:
  struct File {
    bool folder = false;
    std::string bytes;
    std::map<std::string, std::string> attributes;  ///< as they are written in URLs
    int64_t modified_millis = 0;
    std::string owner;
    std::string permission = "700";
  };

  FakeNameNode() : server_([this](const auto& request) { return Answer(request); }) {}

  Endpoint endpoint() const { return server_.endpoint(); }
  NameService service() const {
    return {.authority = ToString(endpoint()), .rpc = {endpoint()}, .web = {endpoint()}};
  }
  WebHdfs Client() { return WebHdfs::Create({.name_service = service(), .user = "ann"}).value(); }

  /// Sets the exception with which the operation (for instance "SETXATTR") is answered from now on.
  void Refuse(const std::string& operation, const std::string& exception) {
    const std::lock_guard lock(mutex_);
    refusals_[operation] = exception;
  }
  void RefuseNothing() {
    const std::lock_guard lock(mutex_);
    refusals_.clear();
  }
  /// As somebody else has left it.
  void Put(const std::string& path, const File& file) {
    const std::lock_guard lock(mutex_);
    AddFolders(path.substr(0, path.rfind('/')), file.owner);
    files_[path] = file;
  }
  std::map<std::string, File> files() const {
    const std::lock_guard lock(mutex_);
    return files_;
  }
  /// How often an operation was asked for.
  int asked(const std::string& operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = asked_.find(operation);
    return found == asked_.end() ? 0 : found->second;
  }

 private:
  using Request = FakeHttpServer::Request;
  using Response = FakeHttpServer::Response;
  using Parameters = std::map<std::string, std::string>;

  static Response Exception(const std::string& name) {
    return {.code = 403,
            .body = absl::StrCat(R"({"RemoteException":{"exception":")", name,
                                 R"(","message":"the reason"}})")};
  }
  static Response Missing() {
    Response response = Exception("FileNotFoundException");
    response.code = 404;
    return response;
  }

  static std::string Decoded(const std::string& text) {
    std::string decoded;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        decoded.push_back(text[i]);
        continue;
      }
      decoded.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    }
    return decoded;
  }

  static Parameters ParametersOf(const std::string& query) {
    Parameters parameters;
    for (size_t at = 0; at < query.size();) {
      const size_t end = std::min(query.find('&', at), query.size());
      const std::string item = query.substr(at, end - at);
      parameters[item.substr(0, item.find('='))] = Decoded(item.substr(item.find('=') + 1));
      at = end + 1;
    }
    return parameters;
  }

  Response Answer(const Request& request) {
    const std::lock_guard lock(mutex_);
    const size_t question = request.target.find('?');
    const std::string path = Decoded(request.target.substr(0, question));
    Parameters parameters = ParametersOf(request.target.substr(question + 1));
    const std::string prefix = "/webhdfs/v1";
    const std::string operation = parameters["op"];
    // A DataNode's part.
    if (path.rfind(prefix, 0) != 0) return Transfer(operation, path, parameters, request.body);
    ++asked_[operation];
    if (const auto refusal = refusals_.find(operation); refusal != refusals_.end()) {
      return Exception(refusal->second);
    }
    return Operate(operation, path.substr(prefix.size()), parameters);
  }

  Response Operate(const std::string& operation, const std::string& path, Parameters& parameters) {
    if (operation == "GETHOMEDIRECTORY") return {.body = R"({"Path":"/user/ann"})"};
    if (operation == "MKDIRS") {
      AddFolders(path, parameters["user.name"]);
      return {.body = R"({"boolean":true})"};
    }
    if (operation == "DELETE") return Delete(path);
    const auto file = files_.find(path);
    if (operation == "CREATE") {
      return ToDataNode(operation, path, absl::StrCat("&overwrite=", parameters["overwrite"]));
    }
    if (file == files_.end()) return Missing();
    if (operation == "OPEN") {
      return ToDataNode(
          operation, path,
          absl::StrCat("&offset=", parameters["offset"], "&length=", parameters["length"]));
    }
    if (operation == "RENAME") return Rename(path, parameters);
    if (operation == "GETFILESTATUS") {
      return {.body = absl::StrCat(R"({"FileStatus":)", StatusOf("", file->second), "}")};
    }
    if (operation == "LISTSTATUS") return List(path);
    if (operation == "SETXATTR") {
      file->second.attributes[parameters["xattr.name"]] = parameters["xattr.value"];
      return {};
    }
    if (operation == "GETXATTRS") return {.body = AttributesOf(file->second)};
    return Exception("UnsupportedOperationException");
  }

  Response ToDataNode(const std::string& operation, const std::string& path,
                      const std::string& more) {
    return {.code = 307, .location = server_.Url(absl::StrCat(path, "?op=", operation, more))};
  }

  Response Transfer(const std::string& operation, const std::string& path, Parameters& parameters,
                    const std::string& body) {
    if (operation == "OPEN") return {.body = PartOf(files_[path].bytes, parameters)};
    if (const auto refusal = refusals_.find("write"); refusal != refusals_.end() && !body.empty()) {
      // A real one has the file then, too: a part of it.
      files_[path].bytes = body.substr(0, body.size() / 2);
      return Exception(refusal->second);
    }
    if (files_.contains(path) && parameters["overwrite"] != "true") {
      return Exception("FileAlreadyExistsException");
    }
    AddFolders(path.substr(0, path.rfind('/')), "");
    files_[path] = {.bytes = body, .modified_millis = ++now_};
    return {.code = 201};
  }

  static std::string PartOf(const std::string& bytes, Parameters& parameters) {
    const std::string offset = parameters["offset"];
    const std::string length = parameters["length"];
    return bytes.substr(offset.empty() ? 0 : std::stoull(offset),
                        length.empty() ? std::string::npos : std::stoull(length));
  }

  void AddFolders(const std::string& path, const std::string& owner) {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const auto [folder, added] = files_.try_emplace(path.substr(0, end));
      folder->second.folder = true;
      if (added) folder->second.owner = owner;
      if (end == std::string::npos) return;
    }
  }

  Response Delete(const std::string& path) {
    bool found = files_.erase(path) > 0;
    for (auto file = files_.begin(); file != files_.end();) {
      file = file->first.rfind(path + "/", 0) == 0 ? files_.erase(file) : std::next(file);
    }
    return {.body = found ? R"({"boolean":true})" : R"({"boolean":false})"};
  }

  Response Rename(const std::string& path, Parameters& parameters) {
    const std::string to = parameters["destination"];
    if (files_.contains(to) && parameters["renameoptions"] != "OVERWRITE") {
      return Exception("FileAlreadyExistsException");
    }
    files_[to] = files_.extract(path).mapped();
    return {};
  }

  Response List(const std::string& path) {
    std::string items;
    for (const auto& [name, file] : files_) {
      if (name.rfind(path + "/", 0) != 0) continue;
      const std::string own = name.substr(path.size() + 1);
      if (own.find('/') != std::string::npos) continue;
      absl::StrAppend(&items, items.empty() ? "" : ",", StatusOf(own, file));
    }
    return {.body = absl::StrCat(R"({"FileStatuses":{"FileStatus":[)", items, "]}}")};
  }

  static std::string StatusOf(const std::string& name, const File& file) {
    return absl::StrCat(R"({"pathSuffix":")", name, R"(","type":")",
                        file.folder ? "DIRECTORY" : "FILE", R"(","length":)", file.bytes.size(),
                        R"(,"modificationTime":)", file.modified_millis, R"(,"owner":")",
                        file.owner, R"(","permission":")", file.permission, R"("})");
  }

  static std::string AttributesOf(const File& file) {
    std::string items;
    for (const auto& [name, value] : file.attributes) {
      absl::StrAppend(&items, items.empty() ? "" : ",", R"({"name":")", name, R"(","value":")",
                      // As a real one writes an empty value.
                      value == "0s" ? "" : value, R"("})");
    }
    return absl::StrCat(R"({"XAttrs":[)", items, "]}");
  }

  mutable std::mutex mutex_;
  std::map<std::string, File> files_;  ///< by path
  std::map<std::string, std::string> refusals_;
  std::map<std::string, int> asked_;
  int64_t now_ = 1'700'000'000'000;
  FakeHttpServer server_;  ///< the last: it calls this
};

}  // namespace tony::hadoop
