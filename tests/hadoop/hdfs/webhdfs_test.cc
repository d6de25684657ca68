// WebHDFS against web servers that say what the test wants. The real one is in cluster_test.py.
#include "hadoop/hdfs/webhdfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "hadoop/auth/token_file.h"
#include "tests/hadoop/fakes/fake_http_server.h"
#include "tests/hadoop/fakes/loopback_certificate.h"

namespace tony::hadoop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using Request = FakeHttpServer::Request;
using Response = FakeHttpServer::Response;

constexpr char kStatus[] =
    R"({"FileStatus":{"pathSuffix":"","type":"FILE","length":12,"modificationTime":1700000000123,)"
    R"("permission":"644","owner":"alice"}})";

std::string Exception(const std::string& name) {
  return absl::StrCat(R"({"RemoteException":{"exception":")", name, R"(","javaClassName":"org.x.)",
                      name, R"(","message":"the reason"}})");
}

WebHdfs Client(std::vector<Endpoint> servers, std::optional<Token> token = std::nullopt) {
  auto client =
      WebHdfs::Create({.name_service = {.authority = "nn:8020", .web = std::move(servers)},
                       .user = "alice",
                       .token = std::move(token),
                       .timeout = std::chrono::seconds(20)});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

FakeHttpServer::Handler Saying(int code, const std::string& body) {
  return [=](const Request&) { return Response{.code = code, .body = body}; };
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(WebHdfs, AsksForAStatus) {
  FakeHttpServer server(Saying(200, kStatus));
  const auto status = Client({server.endpoint()}).Status("/a folder/ü+%");
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->bytes, 12);
  EXPECT_EQ(status->modified_millis, 1700000000123);
  EXPECT_EQ(status->mode, 0644);
  EXPECT_FALSE(status->folder);
  EXPECT_EQ(server.requests()[0].target,
            "/webhdfs/v1/a%20folder/%C3%BC%2B%25?op=GETFILESTATUS&user.name=alice");
}

TEST(WebHdfs, GoesOnToTheActiveNameNodeAndStaysThere) {
  FakeHttpServer standby(Saying(403, Exception("StandbyException")));
  FakeHttpServer active(Saying(200, kStatus));
  WebHdfs client = Client({standby.endpoint(), active.endpoint()});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.Status("/f").ok());
  EXPECT_EQ(standby.requests().size(), 1);
  EXPECT_EQ(active.requests().size(), 3);
}

TEST(WebHdfs, NoNameNodeIsUnavailable) {
  Endpoint nobody;
  {
    const FakeHttpServer gone(nullptr);
    nobody = gone.endpoint();
  }
  const auto status = Client({nobody, nobody}).Status("/f").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("HDFS GETFILESTATUS /f"));
  EXPECT_THAT(Message(status), HasSubstr(ToString(nobody)));
}

TEST(WebHdfs, ExceptionsHaveCodes) {
  const std::tuple<int, std::string, absl::StatusCode> cases[] = {
      {404, Exception("FileNotFoundException"), absl::StatusCode::kNotFound},
      {403, Exception("AccessControlException"), absl::StatusCode::kPermissionDenied},
      {403, Exception("SafeModeException"), absl::StatusCode::kUnavailable},
      {403, Exception("DSQuotaExceededException"), absl::StatusCode::kResourceExhausted},
      {403, Exception("InvalidToken"), absl::StatusCode::kUnauthenticated},
      {401, "<html>", absl::StatusCode::kUnauthenticated},
      {500, "{\"RemoteException\":[]}", absl::StatusCode::kUnknown},
      {200, "not JSON", absl::StatusCode::kDataLoss},
      {200, "{}", absl::StatusCode::kDataLoss},
      {200, R"({"FileStatus":{"type":1}})", absl::StatusCode::kDataLoss}};
  for (const auto& [code, body, expected] : cases) {
    FakeHttpServer server(Saying(code, body));
    EXPECT_EQ(Client({server.endpoint()}).Status("/f").status().code(), expected) << body;
  }
}

TEST(WebHdfs, WritesWhereTheNameNodeSays) {
  FakeHttpServer data(Saying(201, ""));
  FakeHttpServer name([&](const Request&) {
    return Response{.code = 307, .location = data.Url("/data?delegation=secret")};
  });
  const std::string contents(1'000'000, 'x');
  ASSERT_TRUE(Client({name.endpoint()}).Write("/f", 0600, true, contents).ok());
  EXPECT_EQ(name.requests()[0].target,
            "/webhdfs/v1/f?op=CREATE&overwrite=true&permission=600&user.name=alice");
  EXPECT_EQ(name.requests()[0].body, "");
  EXPECT_EQ(data.requests()[0].method, "PUT");
  EXPECT_EQ(data.requests()[0].body, contents);
}

// Only a cookie is kept from one request for the next. By it the server recognises the client.
TEST(WebHdfs, CookiesAreKept) {
  FakeHttpServer data(Saying(201, ""));
  FakeHttpServer name([&](const Request& request) -> Response {
    if (request.method == "GET") return {.body = kStatus, .cookie = "hadoop.auth=known"};
    return {.code = 307, .location = data.Url("/data")};
  });
  WebHdfs client = Client({name.endpoint()});
  EXPECT_TRUE(client.Status("/f").ok());
  EXPECT_TRUE(client.Write("/f", 0600, true, "contents").ok());
  EXPECT_TRUE(client.Status("/f").ok());
  const auto requests = name.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_THAT(requests[0].headers, Not(HasSubstr("Cookie")));
  EXPECT_THAT(requests[1].headers, HasSubstr("Cookie: hadoop.auth=known"));
  EXPECT_EQ(requests[2].method, "GET");
  EXPECT_THAT(requests[2].headers, HasSubstr("Cookie: hadoop.auth=known"));
  EXPECT_THAT(requests[2].headers, Not(HasSubstr("chunked")));
  EXPECT_EQ(data.requests()[0].body, "contents");
}

// A browser's rules would send it to each port of the host.
TEST(WebHdfs, CookiesGoToNoOtherServer) {
  FakeHttpServer data([](const Request&) { return Response{.cookie = "data=1"}; });
  std::atomic<bool> active = true;
  FakeHttpServer first([&](const Request& request) -> Response {
    if (!active) return {.code = 403, .body = Exception("StandbyException")};
    if (request.target.find("op=OPEN") == std::string::npos) {
      return {.body = kStatus, .cookie = "hadoop.auth=known"};
    }
    return {.code = 307, .location = data.Url("/data")};
  });
  FakeHttpServer second(Saying(200, kStatus));
  WebHdfs client = Client({first.endpoint(), second.endpoint()});
  EXPECT_TRUE(client.Status("/f").ok());
  EXPECT_TRUE(client.Read("/f", 10).ok());
  EXPECT_TRUE(client.Read("/f", 10).ok());
  ASSERT_EQ(data.requests().size(), 2);
  for (const Request& request : data.requests()) {
    EXPECT_THAT(request.headers, Not(HasSubstr("Cookie")));
  }
  EXPECT_THAT(first.requests()[2].headers, HasSubstr("Cookie: hadoop.auth=known"));
  EXPECT_THAT(first.requests()[2].headers, Not(HasSubstr("data=1")));
  active = false;
  EXPECT_TRUE(client.Status("/f").ok());
  ASSERT_EQ(second.requests().size(), 1);
  EXPECT_THAT(second.requests()[0].headers, Not(HasSubstr("Cookie")));
}

/// Variables of this process's environment until it is destroyed.
class ScopedVariables {
 public:
  ScopedVariables(std::vector<std::string> names, const std::string& value)
      : names_(std::move(names)) {
    for (const std::string& name : names_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~ScopedVariables() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;

 private:
  const std::vector<std::string> names_;
};

TEST(WebHdfs, NoProxyHearsOfTokens) {
  const Token token{.identifier = "i", .password = "p", .kind = "k", .service = "s"};
  FakeHttpServer proxy(Saying(502, "a proxy"));
  const ScopedVariables variables({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"},
                                  proxy.Url("/"));
  FakeHttpServer data(Saying(200, "contents"));
  FakeHttpServer name(
      [&](const Request&) { return Response{.code = 307, .location = data.Url("/data")}; });
  EXPECT_EQ(Client({name.endpoint()}, token).Read("/f", 8).value_or(""), "contents");
  EXPECT_THAT(proxy.requests(), IsEmpty());
}

/// A NameNode that speaks HTTPS, for a client with a token.
WebHdfs SecureClient(const FakeHttpServer& name) {
  return WebHdfs::Create(
             {.name_service = {.authority = "nn:8020", .web = {name.endpoint()}, .https = true},
              .token = Token{.identifier = "i", .password = "p", .kind = "k", .service = "s"},
              .timeout = std::chrono::seconds(20)})
      .value();
}

TEST(WebHdfs, NothingGoesOverPlainHttpOnceTheNameNodeSpeaksHttps) {
  const LoopbackCertificate certificate;
  FakeHttpServer plain(Saying(200, "contents"));
  FakeHttpServer secure(Saying(200, "contents"), certificate);
  FakeHttpServer name(
      [&](const Request& request) {
        const bool to_plain = request.target.find("/to-plain") != std::string::npos;
        return Response{.code = 307,
                        .location = (to_plain ? plain : secure).Url("/data?delegation=secret")};
      },
      certificate);
  const bool allowed = RunTrusting(certificate, [&] {
    WebHdfs client = SecureClient(name);
    EXPECT_EQ(client.Read("/to-secure", 8).value_or(""), "contents");
    const absl::Status read = client.Read("/to-plain", 8).status();
    const absl::Status written = client.Write("/to-plain", 0600, true, "contents");
    for (const absl::Status& status : {read, written}) {
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
      EXPECT_THAT(Message(status), HasSubstr(plain.Url("/data, where the token")));
      EXPECT_THAT(Message(status), Not(HasSubstr("secret")));
    }
  });
  if (!allowed) GTEST_SKIP() << "only root may show libcurl another file of authorities";
  EXPECT_EQ(name.requests().size(), 3);
  EXPECT_EQ(secure.requests().size(), 1);
  EXPECT_THAT(plain.requests(), IsEmpty());
}

TEST(WebHdfs, AnUnknownAuthorityIsNotBelieved) {
  const LoopbackCertificate certificate;
  FakeHttpServer name(Saying(200, kStatus), certificate);
  EXPECT_TRUE(absl::IsUnavailable(SecureClient(name).Status("/f").status()));
  EXPECT_THAT(name.requests(), IsEmpty());
}

TEST(WebHdfs, ReadsWhatFitsAndNoMore) {
  FakeHttpServer data(Saying(200, "contents"));
  FakeHttpServer name(
      [&](const Request&) { return Response{.code = 307, .location = data.Url("/data")}; });
  WebHdfs client = Client({name.endpoint()});
  EXPECT_EQ(*client.Read("/f", 8), "contents");
  EXPECT_TRUE(absl::IsResourceExhausted(client.Read("/f", 7).status()));
}

TEST(WebHdfs, GoesToNoOtherKindOfPlace) {
  for (const char* const location : {"file:///etc/passwd", "ftp://h/x", ""}) {
    FakeHttpServer name(
        [&](const Request&) { return Response{.code = 307, .location = location}; });
    const auto read = Client({name.endpoint()}).Read("/f", 10);
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << location << read.status();
  }
}

TEST(WebHdfs, TokensStandInNoMessage) {
  const Token token{.identifier = "i", .password = "p", .kind = "k", .service = "s"};
  FakeHttpServer server([](const Request&) {
    return Response{.code = 307, .location = "http://127.0.0.1:1/data?delegation=secret"};
  });
  WebHdfs client = Client({server.endpoint()}, token);
  const auto read = client.Read("/f", 10);
  EXPECT_TRUE(absl::IsUnavailable(read.status()));
  EXPECT_THAT(Message(read.status()), Not(HasSubstr("secret")));
  EXPECT_THAT(server.requests()[0].target, HasSubstr("&delegation=" + FormatTokenText(token)));
  EXPECT_THAT(server.requests()[0].target, Not(HasSubstr("user.name")));
}

TEST(WebHdfs, ListsDeletesAndRenames) {
  FakeHttpServer server([](const Request& request) -> Response {
    if (request.target.find("LISTSTATUS") != std::string::npos) {
      return {.body = R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"DIRECTORY",)"
                      R"("length":0,"modificationTime":1,"permission":"755","owner":"o"}]}})"};
    }
    return {.body = R"({"boolean":false})"};
  });
  WebHdfs client = Client({server.endpoint()});
  const auto list = client.List("/");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1);
  EXPECT_TRUE((*list)[0].folder);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_FALSE(*client.Delete("/a", true));
  EXPECT_TRUE(client.Rename("/a", "/b c").ok());
  EXPECT_FALSE(client.MakeFolders("/a", 0700).ok());
  EXPECT_EQ(server.requests()[1].target, "/webhdfs/v1/a?op=DELETE&recursive=true&user.name=alice");
  EXPECT_EQ(server.requests()[2].target,
            "/webhdfs/v1/a?op=RENAME&renameoptions=OVERWRITE&destination=/b%20c&user.name=alice");
}

TEST(WebHdfs, AttributesAreBytes) {
  FakeHttpServer server([](const Request& request) -> Response {
    if (request.method == "PUT") return {};
    return {.body = R"({"XAttrs":[{"name":"user.a","value":"0sAP8="},{"name":"user.b"},)"
                    R"({"name":"user.c","value":""}]})"};
  });
  WebHdfs client = Client({server.endpoint()});
  EXPECT_TRUE(client.AddAttribute("/f", "user.a b", std::string("\0\xff", 2)).ok());
  EXPECT_EQ(server.requests()[0].target,
            "/webhdfs/v1/f?op=SETXATTR&xattr.name=user.a%20b&xattr.value=0sAP8%3D&flag=CREATE"
            "&user.name=alice");
  const auto attributes = client.Attributes("/f");
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_THAT(*attributes, ElementsAre(Pair("user.a", std::string("\0\xff", 2)), Pair("user.b", ""),
                                       Pair("user.c", "")));
  EXPECT_THAT(server.requests()[1].target, HasSubstr("op=GETXATTRS&encoding=base64"));
}

TEST(WebHdfs, AttributesThatAreNoneAreDataLoss) {
  for (const char* const body :
       {"", "[]", "{}", R"({"XAttrs":{}})", R"({"XAttrs":[1]})",
        R"({"XAttrs":[{"value":"0sYQ=="}]})", R"({"XAttrs":[{"name":"user.a","value":"YQ=="}]})",
        R"({"XAttrs":[{"name":"user.a","value":"0s!"}]})",
        R"({"XAttrs":[{"name":"user.a","value":7}]})",
        R"({"XAttrs":[{"name":7,"value":"0sYQ=="}]})"}) {
    FakeHttpServer server(Saying(200, body));
    EXPECT_TRUE(absl::IsDataLoss(Client({server.endpoint()}).Attributes("/f").status())) << body;
  }
}

TEST(WebHdfs, AsksForTheHomeFolder) {
  FakeHttpServer server(Saying(200, R"({"Path":"/user/ann"})"));
  EXPECT_EQ(*Client({server.endpoint()}).HomeFolder(), "/user/ann");
  EXPECT_THAT(server.requests()[0].target, HasSubstr("/webhdfs/v1/?op=GETHOMEDIRECTORY&"));
  for (const char* const body : {"", "{}", R"({"Path":1})", R"("/user/ann")", R"({"Path":null})",
                                 R"({"Path":""})", R"({"Path":"user/ann"})"}) {
    FakeHttpServer odd(Saying(200, body));
    EXPECT_TRUE(absl::IsDataLoss(Client({odd.endpoint()}).HomeFolder().status())) << body;
  }
}

TEST(WebHdfs, RenamesOnlyToWhatIsNew) {
  FakeHttpServer server(Saying(403, Exception("FileAlreadyExistsException")));
  EXPECT_TRUE(absl::IsAlreadyExists(Client({server.endpoint()}).RenameToNew("/a", "/b")));
  EXPECT_THAT(server.requests()[0].target, HasSubstr("op=RENAME&renameoptions=NONE&"));
}

// As HDFS' own clients and the ResourceManager know it.
TEST(WebHdfs, DelegationTokensBecomeThoseOfHdfs) {
  const Token given{.identifier = "i", .password = "p", .kind = kWebHdfsDelegationToken};
  FakeHttpServer server(
      Saying(200, absl::StrCat(R"({"Token":{"urlString":")", FormatTokenText(given), R"("}})")));
  auto client = WebHdfs::Create(
      {.name_service = {
           .authority = "prod", .web = {server.endpoint()}, .highly_available = true}});
  ASSERT_TRUE(client.ok());
  const auto token = client->GetDelegationToken("rm/host@REALM");
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(*token, (Token{.identifier = "i",
                           .password = "p",
                           .kind = kHdfsDelegationToken,
                           .service = "ha-hdfs:prod"}));
  EXPECT_THAT(server.requests()[0].target, HasSubstr("&renewer=rm/host%40REALM"));

  FakeHttpServer without_security(Saying(200, R"({"Token":null})"));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Client({without_security.endpoint()}).GetDelegationToken("rm").status()));
}

TEST(WebHdfs, AnAnswerWithoutEndIsCutOff) {
  FakeHttpServer server(Saying(200, std::string(size_t{17} * 1024 * 1024, ' ')));
  EXPECT_TRUE(absl::IsResourceExhausted(Client({server.endpoint()}).Status("/f").status()));
}

}  // namespace
}  // namespace tony::hadoop
