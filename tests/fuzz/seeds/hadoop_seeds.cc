// Seeds as Hadoop's services and files have them.
#include "absl/strings/escaping.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/common/rpc.pb.h"
#include "tests/fuzz/seeds/seeds.h"
#include "tests/hadoop/logs/aggregated_samples.h"

namespace tony::fuzz {
namespace {

using Sasl = ::hadoop::common::RpcSaslProto;

constexpr char kChallenge[] =
    R"(realm="default",nonce="OA6MG9tEQGm2hh",qop="auth,auth-int,auth-conf",charset=utf-8,)"
    R"(cipher="3des,rc4,des",algorithm=md5-sess,maxbuf=65536)";

/// With its length, as InputReader::Piece() takes it.
std::string Piece(const std::string& bytes) {
  return std::string{static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size())} + bytes;
}

std::string FromBase64(const std::string& text) {
  std::string bytes;
  absl::Base64Unescape(text, &bytes);
  return bytes;
}

void AddLogs(Seeds& seeds) {
  const std::string index = FromBase64(hadoop::kPlainIndexedFile);
  seeds.push_back({"aggregated_logs", "tfile", FromBase64(hadoop::kPlainTFile)});
  seeds.push_back({"aggregated_logs", "tfile-gz", FromBase64(hadoop::kCompressedTFile)});
  seeds.push_back({"aggregated_logs", "indexed", index});
  seeds.push_back({"aggregated_logs", "indexed-gz", FromBase64(hadoop::kCompressedIndexedFile)});
  // The objects of the index, without what is around them.
  const size_t begin = index.find("\xac\xed");
  seeds.push_back({"java_objects", "index", index.substr(begin, index.size() - begin - 36)});
}

void AddTokens(Seeds& seeds) {
  hadoop::TokenStore store;
  store.Add({std::string("\0\xff id", 5), "password", hadoop::kAmRmToken, ""});
  store.Add({"i", "p", hadoop::kHdfsDelegationToken, "ha-hdfs:cluster"});
  store.secrets = {{"key", std::string("\0secret", 7)}, {"empty", ""}};
  const auto format = [&](hadoop::TokenFormat how) { return hadoop::FormatTokens(store, how); };
  seeds.push_back({"token_file", "writable", format(hadoop::TokenFormat::kWritable)});
  seeds.push_back({"token_file", "protobuf", format(hadoop::TokenFormat::kProtobuf)});
  seeds.push_back({"token_file", "text", hadoop::FormatTokenText(store.tokens[1].second)});
}

void AddChallenges(Seeds& seeds) {
  const std::string proof = Piece("rspauth=ea40f60335c427b5527b84dbabcdfffd");
  const std::string wrapped = Piece(std::string(26, 'w'));
  seeds.push_back({"digest_md5", "conf", '\1' + wrapped + proof + kChallenge});
  seeds.push_back({"digest_md5", "auth",
                   std::string(1, '\0') + wrapped + proof +
                       R"(realm="a\"b",realm="c",nonce="n",qop="auth",algorithm=md5-sess)"});
}

void AddFrames(Seeds& seeds) {
  ::hadoop::common::RpcResponseHeaderProto header;
  header.set_callid(static_cast<uint32_t>(-33));
  header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
  Sasl offers;
  offers.set_state(Sasl::NEGOTIATE);
  auto* offer = offers.add_auths();
  offer->set_method("TOKEN");
  offer->set_mechanism("DIGEST-MD5");
  offer->set_protocol("");
  offer->set_serverid("default");
  offer->set_challenge(kChallenge);
  Sasl success;
  success.set_state(Sasl::SUCCESS);
  success.set_token("rspauth=ea40f60335c427b5527b84dbabcdfffd");
  seeds.push_back(
      {"hadoop_frames", "negotiation",
       '\3' + hadoop::EncodeFrame({&header, &offers}) + hadoop::EncodeFrame({&header, &success})});
  header.set_callid(1);
  header.set_status(::hadoop::common::RpcResponseHeaderProto::ERROR);
  header.set_exceptionclassname("org.apache.hadoop.security.AccessControlException");
  header.set_errormsg("no");
  seeds.push_back({"hadoop_frames", "error", '\0' + hadoop::EncodeFrame({&header})});
}

}  // namespace

void AddHadoopSeeds(Seeds& seeds) {
  AddLogs(seeds);
  AddTokens(seeds);
  AddChallenges(seeds);
  AddFrames(seeds);
}

}  // namespace tony::fuzz
