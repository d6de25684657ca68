// Protobuf's own JSON mapping, with the field names of the .proto file.
#include "rpc/convert/event_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rpc/convert/convert.h"

namespace tony::rpc {
namespace {

using Json = nlohmann::ordered_json;
using Field = google::protobuf::FieldDescriptor;

/// Makes numbers of the texts that protobuf's JSON has for 64-bit numbers in `value`, the value of
/// `field` or one of its values.
void MakeNumbers(const Field& field, Json& value);

void MakeNumbers(const google::protobuf::Descriptor& type, Json& object) {
  for (auto& [name, value] : object.items()) {
    const Field* const field = type.FindFieldByName(name);
    if (field != nullptr) MakeNumbers(*field, value);
  }
}

void MakeNumbers(const Field& field, Json& value) {
  if (value.is_array() || (field.is_map() && value.is_object())) {
    const Field& inner = field.is_map() ? *field.message_type()->map_value() : field;
    for (auto& [key, one] : value.items()) MakeNumbers(inner, one);
  } else if (field.cpp_type() == Field::CPPTYPE_MESSAGE && value.is_object()) {
    MakeNumbers(*field.message_type(), value);
  } else if (value.is_string() && (field.cpp_type() == Field::CPPTYPE_INT64 ||
                                   field.cpp_type() == Field::CPPTYPE_UINT64)) {
    int64_t number = 0;
    if (absl::SimpleAtoi(value.get<std::string>(), &number)) value = number;
  }
}

}  // namespace

std::string EventToJsonLine(const core::JobEvent& event) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(ToProto(event), &line, options);
  // This fails only for text that is not UTF-8, which ToProto has replaced.
  return status.ok() ? line : absl::StrCat("{\"note\":{\"sentence\":\"", status.ToString(), "\"}}");
}

std::string EventToNumericJson(const v1::JobEvent& event) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(event, &line, options);
  Json json = status.ok() ? Json::parse(line, nullptr, false) : Json();
  if (!json.is_object()) json = {{"note", {{"sentence", status.ToString()}}}};
  MakeNumbers(*event.GetDescriptor(), json);
  // A number that is 0 is left out by protobuf.
  for (const char* name : {"sequence", "unix_millis"}) {
    if (!json.contains(name)) json[name] = 0;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<core::JobEvent> EventFromJsonLine(const std::string& line) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::JobEvent proto;
  const auto status = google::protobuf::util::JsonStringToMessage(line, &proto, options);
  if (!status.ok())
    return absl::InvalidArgumentError(absl::StrCat("not a job event: ", status.ToString()));
  return FromProto(proto);
}

}  // namespace tony::rpc
