// Writer and Reader have the same interface, and each message has one list of fields that both go
// through. So encoding and decoding cannot disagree.
#include "collective/request/wire.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace tony::collective {
namespace {

static_assert(std::endian::native == std::endian::little, "ranks of both kinds would not agree");

/// Appends fields to a message.
class Writer {
 public:
  template <typename T>
  void Number(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(const std::string& text) {
    Number(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <typename T, typename Each>
  void List(const std::vector<T>& list, const Each& each) {
    Number(static_cast<uint32_t>(list.size()));
    for (const T& one : list) each(*this, one);
  }
  template <typename Enum>
  void Choice(const Enum& value, size_t) {
    Number(value);
  }
  void Truth(bool value) { Number(static_cast<uint8_t>(value)); }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads fields of a message. After the first fault it reads nothing more.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void Number(T& value) {
    if (rest_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
  }
  void Text(std::string& text) {
    uint32_t size = 0;
    Number(size);
    if (rest_.size() < size) return Fail();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  template <typename T, typename Each>
  void List(std::vector<T>& list, const Each& each) {
    uint32_t count = 0;
    Number(count);
    // Elements are added one by one, so that a count larger than the bytes that follow takes no
    // memory.
    for (uint32_t i = 0; i < count && !failed_; ++i) each(*this, list.emplace_back());
  }
  /// Reads an enumerator below `count`; a larger one is a fault.
  template <typename Enum>
  void Choice(Enum& value, size_t count) {
    uint8_t number = 0;
    Number(number);
    if (number >= count) return Fail();
    value = static_cast<Enum>(number);
  }
  void Truth(bool& value) {
    uint8_t number = 0;
    Number(number);
    if (number > 1) return Fail();
    value = number != 0;
  }
  /// Whether the whole message was read without a fault.
  bool Done() const { return !failed_ && rest_.empty(); }

 private:
  void Fail() {
    failed_ = true;
    rest_ = {};
  }

  std::string_view rest_;
  bool failed_ = false;
};

constexpr auto kNumber = [](auto& coder, auto& number) { coder.Number(number); };

/// For a Writer `kind` is const; so are the messages of the functions below.
template <typename Coder, typename Message>
void KindFields(Coder& coder, Message& kind) {
  coder.Choice(kind.operation, kOperations);
  coder.Choice(kind.device, kDeviceTypes);
  coder.Choice(kind.type, kDataTypes);
  coder.Choice(kind.reduce, kRequestedReduceOps);
  coder.Number(kind.root);
  coder.Number(kind.prescale);
  coder.Number(kind.postscale);
}

template <typename Coder, typename Message>
void RequestFields(Coder& coder, Message& request) {
  coder.Text(request.name);
  KindFields(coder, request.kind);
  coder.List(request.shape, kNumber);
  coder.List(request.splits, kNumber);
  coder.Text(request.group);
  coder.Number(request.group_size);
  coder.Number(request.set);
  coder.List(request.members, kNumber);
  coder.Number(request.subject);
  coder.Text(request.fault);
}

template <typename Coder, typename Message>
void SubmissionFields(Coder& coder, Message& submission) {
  coder.List(submission.known, kNumber);
  coder.List(submission.requests, [](auto& c, auto& request) { RequestFields(c, request); });
  coder.Truth(submission.joined);
  coder.Number(submission.set);
}

template <typename Coder, typename Message>
void DecisionFields(Coder& coder, Message& decision) {
  KindFields(coder, decision.kind);
  coder.List(decision.tensors, [](auto& c, auto& tensor) {
    c.Text(tensor.name);
    c.Number(tensor.id);
    c.Number(tensor.elements);
    c.List(tensor.lengths, kNumber);
  });
  coder.Text(decision.error);
  coder.Number(decision.last_joined);
  coder.Number(decision.set);
  coder.Number(decision.subject);
  coder.Text(decision.points);
}

}  // namespace

std::string Encode(const Submission& submission) {
  Writer writer;
  SubmissionFields(writer, submission);
  return writer.Take();
}

std::string Encode(const Decision& decision) {
  Writer writer;
  DecisionFields(writer, decision);
  return writer.Take();
}

Result<Submission> DecodeSubmission(std::string_view bytes) {
  Reader reader(bytes);
  Submission submission;
  SubmissionFields(reader, submission);
  if (!reader.Done()) return Status(Code::kInvalidArgument, "these bytes are no submission");
  return submission;
}

Result<Decision> DecodeDecision(std::string_view bytes) {
  Reader reader(bytes);
  Decision decision;
  DecisionFields(reader, decision);
  if (!reader.Done()) return Status(Code::kInvalidArgument, "these bytes are no decision");
  return decision;
}

}  // namespace tony::collective
