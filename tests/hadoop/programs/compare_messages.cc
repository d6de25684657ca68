// Compares our subset of Hadoop's messages with a FileDescriptorSet of Hadoop's own.
//
//   compare_messages HADOOP.desc
//
// Prints a line for each message, field or enum value of ours that Hadoop does not have so, and one
// with how many were compared; exits with 1 when something differs.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <fstream>

#include "hadoop/common/rpc.pb.h"
#include "hadoop/common/security.pb.h"
#include "hadoop/yarn/client_protocol.pb.h"
#include "hadoop/yarn/container_protocol.pb.h"
#include "hadoop/yarn/launch.pb.h"
#include "hadoop/yarn/master_protocol.pb.h"
#include "hadoop/yarn/records.pb.h"
#include "hadoop/yarn/scheduling.pb.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

class Comparison {
 public:
  explicit Comparison(const DescriptorPool& theirs) : theirs_(theirs) {}

  void Compare(const Descriptor& ours) {
    const Descriptor* const other = theirs_.FindMessageTypeByName(ours.full_name());
    if (other == nullptr) return Differ(ours.full_name(), "", "no such message");
    for (int i = 0; i < ours.field_count(); ++i) {
      const FieldDescriptor& field = *ours.field(i);
      const FieldDescriptor* const its = other->FindFieldByName(field.name());
      // With number, label, type and default value.
      Check(field.full_name(), field.DebugString(), its == nullptr ? "" : its->DebugString());
    }
    for (int i = 0; i < ours.nested_type_count(); ++i) Compare(*ours.nested_type(i));
    for (int i = 0; i < ours.enum_type_count(); ++i) Compare(*ours.enum_type(i));
  }

  void Compare(const EnumDescriptor& ours) {
    const EnumDescriptor* const other = theirs_.FindEnumTypeByName(ours.full_name());
    for (int i = 0; i < ours.value_count(); ++i) {
      const auto* const its =
          other == nullptr ? nullptr : other->FindValueByName(ours.value(i)->name());
      Check(ours.full_name(), ours.value(i)->DebugString(),
            its == nullptr ? "" : its->DebugString());
    }
  }

  int compared() const { return compared_; }
  int differences() const { return differences_; }

 private:
  void Check(const std::string& where, const std::string& ours, const std::string& theirs) {
    ++compared_;
    if (ours != theirs) Differ(where, ours, theirs);
  }
  void Differ(const std::string& where, const std::string& ours, const std::string& theirs) {
    ++differences_;
    std::printf("%s: ours %s theirs %s\n", where.c_str(), ours.c_str(), theirs.c_str());
  }

  const DescriptorPool& theirs_;
  int compared_ = 0;
  int differences_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  google::protobuf::FileDescriptorSet set;
  std::ifstream file(count == 2 ? arguments[1] : "", std::ios::binary);
  if (!set.ParseFromIstream(&file)) return 2;
  DescriptorPool theirs;
  for (const auto& each : set.file()) {
    if (theirs.BuildFile(each) == nullptr) return 2;
  }
  Comparison comparison(theirs);
  for (const auto* const ours : {hadoop::common::RpcSaslProto::descriptor()->file(),
                                 hadoop::common::TokenProto::descriptor()->file(),
                                 hadoop::yarn::ContainerProto::descriptor()->file(),
                                 hadoop::yarn::ContainerLaunchContextProto::descriptor()->file(),
                                 hadoop::yarn::ResourceRequestProto::descriptor()->file(),
                                 hadoop::yarn::ApplicationReportProto::descriptor()->file(),
                                 hadoop::yarn::AllocateRequestProto::descriptor()->file(),
                                 hadoop::yarn::StartContainerRequestProto::descriptor()->file()}) {
    for (int i = 0; i < ours->message_type_count(); ++i) comparison.Compare(*ours->message_type(i));
    for (int i = 0; i < ours->enum_type_count(); ++i) comparison.Compare(*ours->enum_type(i));
  }
  std::printf("%d fields and values compared\n", comparison.compared());
  return comparison.differences() == 0 ? 0 : 1;
}
