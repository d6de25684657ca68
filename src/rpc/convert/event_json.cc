// Protobuf's own JSON mapping, with the field names of the .proto file.
#include "rpc/convert/event_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "rpc/convert/convert.h"

namespace tony::rpc {

std::string EventToJsonLine(const core::JobEvent& event) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(ToProto(event), &line, options);
  // This fails only for text that is not UTF-8, which ToProto has replaced.
  return status.ok() ? line : absl::StrCat("{\"note\":{\"sentence\":\"", status.ToString(), "\"}}");
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
