// Pickles are written from templates, and read by a parser for exactly one form of them. The
// opcodes are those of Python's pickletools.
#include "driver/elastic_messages.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/message_digest.h"

namespace tony::driver {
namespace {

// Numbers in pickles and frames are little-endian. A frame's length is in the worker's native byte
// order, which is little-endian on x86-64 and AArch64.
std::string LittleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> (8 * i)));
  return text;
}

uint64_t FromLittleEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

/// Reads a pickle of ({str: [(str, int), …], …}, bytes) as Python's pickler writes it: each object
/// stands where it is used, followed by "memoize". Nothing refers to the memo.
class AddressReader {
 public:
  explicit AddressReader(std::string_view pickle) : pickle_(pickle) {}

  absl::StatusOr<WorkerAddress> Read() {
    WorkerAddress worker;
    TONY_RETURN_IF_ERROR(ReadBeginning());
    TONY_RETURN_IF_ERROR(ReadInterfaces(worker.endpoints));
    TONY_ASSIGN_OR_RETURN(worker.secret, ReadSecret());
    TONY_RETURN_IF_ERROR(Expect({kTuple2, kMemoize, kStop}, "the end"));
    if (at_ != pickle_.size()) return Wrong("something follows its end");
    if (worker.endpoints.empty()) {
      return absl::InvalidArgumentError(
          "the worker has no IPv4 address at which it could be told of changes; it looks for those "
          "of the interface in HOROVOD_GLOO_IFACE");
    }
    return worker;
  }

 private:
  enum Opcode : char {
    kProto = '\x80',
    kFrame = '\x95',
    kMemoize = '\x94',
    kMark = '(',
    kEmptyDict = '}',
    kSetItem = 's',
    kSetItems = 'u',
    kEmptyList = ']',
    kAppend = 'a',
    kAppends = 'e',
    kTuple2 = '\x86',
    kShortText = '\x8c',
    kShortBytes = 'C',
    kTwoByteNumber = 'M',
    kStop = '.',
  };

  absl::Status ReadBeginning() {
    TONY_RETURN_IF_ERROR(Expect({kProto}, "a pickle"));
    TONY_ASSIGN_OR_RETURN(const uint64_t protocol, ReadNumber(1));
    if (protocol != 4 && protocol != 5) return Wrong("its protocol is neither 4 nor 5");
    TONY_RETURN_IF_ERROR(Expect({kFrame}, "a frame"));
    TONY_ASSIGN_OR_RETURN(const uint64_t length, ReadNumber(8));
    if (length != pickle_.size() - at_) return Wrong("its length is another than it says");
    return absl::OkStatus();
  }

  // The pickler writes a single item with one opcode, and several items between a mark and one
  // opcode for all of them; a dictionary of more than a thousand items comes in several such
  // batches.
  absl::Status ReadInterfaces(std::vector<WorkerAddress::Endpoint>& endpoints) {
    TONY_RETURN_IF_ERROR(Expect({kEmptyDict, kMemoize}, "the interfaces"));
    if (Next(kShortText)) {
      TONY_RETURN_IF_ERROR(ReadInterface(endpoints));
      return Expect({kSetItem}, "the end of the only interface");
    }
    while (Next(kMark)) {
      ++at_;
      do {
        TONY_RETURN_IF_ERROR(ReadInterface(endpoints));
      } while (!Next(kSetItems));
      ++at_;
    }
    return absl::OkStatus();
  }

  absl::Status ReadInterface(std::vector<WorkerAddress::Endpoint>& endpoints) {
    TONY_ASSIGN_OR_RETURN(const std::string interface, ReadText("an interface's name"));
    TONY_RETURN_IF_ERROR(Expect({kEmptyList, kMemoize}, "an interface's addresses"));
    if (!Next(kMark)) {
      TONY_RETURN_IF_ERROR(ReadEndpoint(interface, endpoints));
      return Expect({kAppend}, "the end of the only address");
    }
    while (Next(kMark)) {
      ++at_;
      do {
        TONY_RETURN_IF_ERROR(ReadEndpoint(interface, endpoints));
      } while (!Next(kAppends));
      ++at_;
    }
    return absl::OkStatus();
  }

  absl::Status ReadEndpoint(const std::string& interface,
                            std::vector<WorkerAddress::Endpoint>& endpoints) {
    TONY_ASSIGN_OR_RETURN(const std::string address, ReadText("an address"));
    in_addr number{};
    // inet_pton() reads a C string, which would end at a NUL byte in the middle of the text.
    if (address.find('\0') != std::string::npos ||
        ::inet_pton(AF_INET, address.c_str(), &number) != 1) {
      return Wrong(absl::StrCat("'", absl::CHexEscape(address), "' is no IPv4 address"));
    }
    TONY_RETURN_IF_ERROR(Expect({kTwoByteNumber}, "a port from 1024 to 65535"));
    TONY_ASSIGN_OR_RETURN(const uint64_t port, ReadNumber(2));
    if (port < 1024) return Wrong(absl::StrCat("port ", port, " is none that a worker listens on"));
    TONY_RETURN_IF_ERROR(Expect({kTuple2, kMemoize}, "the end of an address"));
    endpoints.push_back({interface, address, static_cast<int>(port)});
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadSecret() {
    TONY_RETURN_IF_ERROR(Expect({kShortBytes}, "the secret"));
    TONY_ASSIGN_OR_RETURN(const uint64_t length, ReadNumber(1));
    if (length != kSecretBytes) {
      return Wrong(absl::StrCat("its secret has ", length, " bytes instead of ", kSecretBytes));
    }
    TONY_ASSIGN_OR_RETURN(const std::string_view secret, Take(length));
    TONY_RETURN_IF_ERROR(Expect({kMemoize}, "the end of the secret"));
    return std::string(secret);
  }

  absl::StatusOr<std::string> ReadText(const char* what) {
    TONY_RETURN_IF_ERROR(Expect({kShortText}, what));
    TONY_ASSIGN_OR_RETURN(const uint64_t length, ReadNumber(1));
    TONY_ASSIGN_OR_RETURN(const std::string_view text, Take(length));
    TONY_RETURN_IF_ERROR(Expect({kMemoize}, what));
    return std::string(text);
  }

  absl::StatusOr<uint64_t> ReadNumber(size_t bytes) {
    TONY_ASSIGN_OR_RETURN(const std::string_view taken, Take(bytes));
    return FromLittleEndian(taken);
  }

  // Every read goes through here, so a length in the pickle can never lead beyond its end.
  absl::StatusOr<std::string_view> Take(size_t bytes) {
    if (bytes > pickle_.size() - at_) return Wrong("it is cut off");
    at_ += bytes;
    return pickle_.substr(at_ - bytes, bytes);
  }

  bool Next(Opcode opcode) const { return at_ < pickle_.size() && pickle_[at_] == opcode; }

  // Every opcode is expected in turn and nothing is interpreted, so a pickle with any other opcode
  // is refused at the first of them.
  absl::Status Expect(std::initializer_list<Opcode> opcodes, const char* what) {
    for (const Opcode opcode : opcodes) {
      if (!Next(opcode)) return Wrong(absl::StrCat("no sign of ", what));
      ++at_;
    }
    return absl::OkStatus();
  }

  absl::Status Wrong(const std::string& why) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "what the worker puts as its address is not in the form of Horovod 0.28: ", why,
        ", at byte ", at_));
  }

  const std::string_view pickle_;
  size_t at_ = 0;  ///< never beyond the end
};

/// Writes a text as a pickle.
std::string Text(const std::string& text) {
  return absl::StrCat("\x8c", LittleEndian(text.size(), 1), text);
}

/// Writes a reference to a class, which the reader looks up.
std::string Class(const std::string& module, const std::string& name) {
  return absl::StrCat(Text(module), Text(name), "\x93");
}

}  // namespace

absl::StatusOr<WorkerAddress> ParseWorkerAddresses(const std::string& body) {
  // Base64 has four digits for three bytes.
  if (body.size() > (kMostWorkerAddressBytes + 2) / 3 * 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("what a worker puts as its address has ", body.size(),
                     " bytes, more than any machine's addresses need"));
  }
  std::string pickle;
  // The decoder accepts spaces and missing padding, which Python never writes; encoding the result
  // again rules them out.
  if (!absl::Base64Unescape(body, &pickle) || absl::Base64Escape(pickle) != body) {
    return absl::InvalidArgumentError(
        "what a worker puts as its address is not Base64, as Horovod's workers put it");
  }
  return AddressReader(pickle).Read();
}

absl::StatusOr<std::string> HostsUpdatedRequest(const std::string& secret, int64_t timestamp,
                                                HostChange change) {
  const std::string module = "horovod.runner.elastic.worker";
  const std::string time = "\x8a\x08" + LittleEndian(static_cast<uint64_t>(timestamp), 8);
  const std::string number = "K" + LittleEndian(static_cast<uint64_t>(change), 1);
  const std::string pickle =
      absl::StrCat("\x80\x04",                                     // protocol 4
                   Class(module, "HostsUpdatedRequest"), ")\x81",  // an object, without arguments
                   "}(",                                           // its members
                   Text("timestamp"), time,                        //
                   Text("res"), Class(module, "HostUpdateResult"), number, "\x85R",  // its value
                   "ub.");                                                           // the end
  TONY_ASSIGN_OR_RETURN(const std::string digest, os::HmacSha256(secret, pickle));
  return absl::StrCat(digest, LittleEndian(pickle.size(), 4), pickle);
}

absl::StatusOr<size_t> ReplyBytes(const std::string& head) {
  if (head.size() < kReplyHeadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a reply of ", head.size(), " bytes"));
  }
  const uint64_t length = FromLittleEndian(std::string_view(head).substr(os::kHmacSha256Bytes, 4));
  if (length > kMostReplyBytes - kReplyHeadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reply that says it has ", length, " bytes, which no worker sends"));
  }
  return kReplyHeadBytes + length;
}

// The digest is checked before the content, so only a message from the worker is looked at. The
// digests are compared by SameDigest().
absl::Status CheckAck(const std::string& secret, const std::string& frame) {
  TONY_ASSIGN_OR_RETURN(const size_t bytes, ReplyBytes(frame));
  if (bytes != frame.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reply of ", frame.size(), " bytes that says it has ", bytes));
  }
  const std::string pickle = frame.substr(kReplyHeadBytes);
  TONY_ASSIGN_OR_RETURN(const std::string digest, os::HmacSha256(secret, pickle));
  if (!os::SameDigest(digest, frame.substr(0, os::kHmacSha256Bytes))) {
    return absl::UnauthenticatedError(
        "the reply is of somebody who does not know the worker's secret");
  }
  // The digest proves that the worker sent it, so the name of its class is proof enough.
  if (pickle.find(Text("AckResponse")) == std::string::npos) {
    return absl::InvalidArgumentError("the worker's reply is no AckResponse");
  }
  return absl::OkStatus();
}

}  // namespace tony::driver
