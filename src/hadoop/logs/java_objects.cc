// A recursive descent over the grammar of Java's Object Serialization Stream Protocol, version 5.
// Each class, object and text gets the next number, its handle, when it is written first. Later
// references name the handle.
#include "hadoop/logs/java_objects.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr uint64_t kMagicAndVersion = 0xaced0005;
constexpr uint64_t kFirstHandle = 0x7e0000;
// Limits the recursion of the parser. A log index nests some ten levels: lists in maps in objects.
constexpr int kDeepest = 100;

// The protocol's constants TC_NULL to TC_ENUM.
enum Tag : uint8_t {
  kNull = 0x70,
  kReference = 0x71,
  kClass = 0x72,
  kObject = 0x73,
  kString = 0x74,
  kArray = 0x75,
  kBlock = 0x77,
  kEndOfBlocks = 0x78,
  kLongBlock = 0x7a,
  kLongString = 0x7c,
  kEnum = 0x7e,
};

// The bits SC_WRITE_METHOD and SC_SERIALIZABLE of a class's flags. A class with the first has its
// own writeObject(), whose data follow the fields.
constexpr uint64_t kWritesItself = 1;
constexpr uint64_t kSerializable = 2;

/// A field of a class. `type` is the letter in Java's field descriptors, such as 'I' or 'L'.
struct Field {
  char type = 0;
  std::string_view name;
};

/// A class description: what is needed to read its objects.
struct Class {
  std::string_view name;
  uint64_t flags = 0;
  std::vector<Field> fields;
  const Class* parent = nullptr;
};

/// The value behind a handle. Only texts and classes are kept; other objects are monostate.
using Known = std::variant<std::monostate, std::string_view, const Class*>;

/// The parser. Not thread safe.
class Reader {
 public:
  Reader(const std::string& bytes, const std::function<void(const JavaObject&)>& use)
      : bytes_(bytes), use_(use) {}

  absl::Status ReadAll() {
    TONY_ASSIGN_OR_RETURN(const uint64_t start, Number(4));
    if (start != kMagicAndVersion) return absl::DataLossError("these are no Java objects");
    while (at_ < bytes_.size()) TONY_RETURN_IF_ERROR(Content(0).status());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::string_view> Take(uint64_t size) {
    if (size > bytes_.size() - at_) return absl::DataLossError("Java objects end too early");
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }

  /// A big-endian number of `size` bytes.
  absl::StatusOr<uint64_t> Number(int size) {
    TONY_ASSIGN_OR_RETURN(const std::string_view part, Take(static_cast<uint64_t>(size)));
    uint64_t number = 0;
    for (const char byte : part) number = number << 8 | static_cast<uint8_t>(byte);
    return number;
  }

  /// A text behind a length of `size` bytes.
  absl::StatusOr<std::string_view> Text(int size) {
    TONY_ASSIGN_OR_RETURN(const uint64_t length, Number(size));
    return Take(length);
  }

  /// Reads the rule `content` of the grammar, whatever follows. Returns the text or class read; of
  /// other contents, monostate.
  absl::StatusOr<Known> Content(int depth) {
    TONY_ASSIGN_OR_RETURN(const uint64_t tag, Number(1));
    if (depth > kDeepest) return absl::DataLossError("Java objects lie too deep in each other");
    switch (tag) {
      case kNull:
        return Known();
      case kReference:
        return Referred();
      case kString:
      case kLongString: {
        TONY_ASSIGN_OR_RETURN(const std::string_view text, Text(tag == kString ? 2 : 8));
        return known_.emplace_back(text);
      }
      case kClass:
        return NewClass(depth);
      case kObject:
        return NewObject(depth);
      case kArray:
        return NewArray(depth);
      case kEnum: {
        // An enum constant gets its handle before its name (rule newEnum).
        TONY_RETURN_IF_ERROR(ClassOf(depth).status());
        known_.emplace_back();
        TONY_RETURN_IF_ERROR(Content(depth + 1).status());
        return Known();
      }
      case kBlock:
      case kLongBlock:
        TONY_RETURN_IF_ERROR(Text(tag == kBlock ? 1 : 4).status());
        return Known();
      default:
        return absl::UnimplementedError(
            absl::StrCat("Java objects have a part of kind ", tag, ", which is not known"));
    }
  }

  absl::StatusOr<Known> Referred() {
    TONY_ASSIGN_OR_RETURN(const uint64_t handle, Number(4));
    if (handle < kFirstHandle || handle - kFirstHandle >= known_.size()) {
      return absl::DataLossError("Java objects refer to one that is not there");
    }
    return known_[handle - kFirstHandle];
  }

  /// Reads a content that must be a class description. Null: the stream has TC_NULL there.
  absl::StatusOr<const Class*> ClassOf(int depth) {
    TONY_ASSIGN_OR_RETURN(const Known known, Content(depth + 1));
    if (std::holds_alternative<std::monostate>(known)) return static_cast<const Class*>(nullptr);
    const auto* const type = std::get_if<const Class*>(&known);
    if (type == nullptr) return absl::DataLossError("a Java object is of something else's class");
    return *type;
  }

  absl::StatusOr<Known> NewClass(int depth) {
    Class* const type = &classes_.emplace_back();
    TONY_ASSIGN_OR_RETURN(type->name, Text(2));
    TONY_RETURN_IF_ERROR(Take(8).status());  // serialVersionUID
    // The class has its handle before its fields and its parent are read, so these may refer to it.
    known_.emplace_back(static_cast<const Class*>(type));
    TONY_ASSIGN_OR_RETURN(type->flags, Number(1));
    TONY_ASSIGN_OR_RETURN(uint64_t left, Number(2));
    for (; left > 0; --left) {
      Field field;
      TONY_ASSIGN_OR_RETURN(const uint64_t letter, Number(1));
      field.type = static_cast<char>(letter);
      TONY_ASSIGN_OR_RETURN(field.name, Text(2));
      if (field.type == 'L' || field.type == '[') {
        TONY_RETURN_IF_ERROR(Content(depth + 1).status());  // name of the field's class
      }
      type->fields.push_back(field);
    }
    TONY_RETURN_IF_ERROR(ToEndOfBlocks(depth));
    TONY_ASSIGN_OR_RETURN(type->parent, ClassOf(depth));
    return Known(static_cast<const Class*>(type));
  }

  absl::StatusOr<Known> NewObject(int depth) {
    TONY_ASSIGN_OR_RETURN(const Class* const type, ClassOf(depth));
    if (type == nullptr) return absl::DataLossError("a Java object has no class");
    known_.emplace_back();
    // The fields of the topmost ancestor come first. A crafted class can be its own ancestor, since
    // it has its handle before its parent is read; the limit ends that loop.
    std::vector<const Class*> line;
    for (const Class* one = type; one != nullptr; one = one->parent) {
      line.push_back(one);
      if (line.size() > kDeepest) return absl::DataLossError("a Java class is its own ancestor");
    }
    JavaObject object;
    object.type = type->name;
    for (; !line.empty(); line.pop_back()) {
      const Class& one = *line.back();
      if ((one.flags & kSerializable) == 0) {
        return absl::UnimplementedError(absl::StrCat(
            "Java objects of the class ", std::string(one.name), " have a form of their own"));
      }
      for (const Field& field : one.fields) {
        TONY_ASSIGN_OR_RETURN(object.fields[field.name], ValueOf(field.type, depth));
      }
      if ((one.flags & kWritesItself) != 0) TONY_RETURN_IF_ERROR(ToEndOfBlocks(depth));
    }
    use_(object);
    return Known();
  }

  absl::StatusOr<Known> NewArray(int depth) {
    TONY_ASSIGN_OR_RETURN(const Class* const type, ClassOf(depth));
    if (type == nullptr || type->name.size() < 2) {
      return absl::DataLossError("a Java array has no class");
    }
    known_.emplace_back();
    // The announced length is only counted down: each element takes at least a byte of the stream,
    // so a false length ends in DataLoss without using memory.
    TONY_ASSIGN_OR_RETURN(uint64_t left, Number(4));
    for (; left > 0; --left) TONY_RETURN_IF_ERROR(ValueOf(type->name[1], depth).status());
    return Known();
  }

  /// The value of a field or array element with the type letter `type` of Java's field descriptors.
  absl::StatusOr<JavaObject::Value> ValueOf(char type, int depth) {
    int size = 0;
    switch (type) {
      case 'B':
      case 'Z':
        size = 1;
        break;
      case 'C':
      case 'S':
        size = 2;
        break;
      case 'I':
      case 'F':
        size = 4;
        break;
      case 'J':
      case 'D':
        size = 8;
        break;
      case 'L':
      case '[': {
        TONY_ASSIGN_OR_RETURN(const Known known, Content(depth + 1));
        const auto* const text = std::get_if<std::string_view>(&known);
        return text == nullptr ? JavaObject::Value() : JavaObject::Value(*text);
      }
      default:
        return absl::DataLossError("a Java class has a field of no type");
    }
    TONY_ASSIGN_OR_RETURN(const uint64_t number, Number(size));
    return static_cast<int64_t>(number);
  }

  /// Skips what a class's own writeObject() has written, up to TC_ENDBLOCKDATA. Objects in it are
  /// read, since they get handles and may be the ones that the caller looks for.
  absl::Status ToEndOfBlocks(int depth) {
    while (true) {
      if (at_ < bytes_.size() && static_cast<uint8_t>(bytes_[at_]) == kEndOfBlocks) {
        ++at_;
        return absl::OkStatus();
      }
      TONY_RETURN_IF_ERROR(Content(depth + 1).status());
    }
  }

  const std::string_view bytes_;
  const std::function<void(const JavaObject&)>& use_;
  size_t at_ = 0;
  std::deque<Class> classes_;  // a deque, since pointers to its elements must stay valid
  std::vector<Known> known_;   // by handle, less kFirstHandle
};

}  // namespace

int64_t JavaObject::Number(std::string_view field) const {
  const auto found = fields.find(field);
  const auto* const number = found == fields.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return number == nullptr ? 0 : *number;
}

std::string JavaObject::Text(std::string_view field) const {
  const auto found = fields.find(field);
  const auto* const text =
      found == fields.end() ? nullptr : std::get_if<std::string_view>(&found->second);
  return text == nullptr ? std::string() : std::string(*text);
}

absl::Status ForEachJavaObject(const std::string& bytes,
                               const std::function<void(const JavaObject&)>& use) {
  return Reader(bytes, use).ReadAll();
}

}  // namespace tony::hadoop
