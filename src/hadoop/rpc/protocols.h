// The Java names by which Hadoop's servers know the RPC protocols that tony speaks.
#pragma once

namespace tony::hadoop {

/// Client to ResourceManager (yarn.resourcemanager.address):
/// proto/hadoop/yarn/client_protocol.proto.
inline constexpr char kApplicationClient[] =
    "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
/// ApplicationMaster to ResourceManager (yarn.resourcemanager.scheduler.address):
/// proto/hadoop/yarn/master_protocol.proto.
inline constexpr char kApplicationMaster[] =
    "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
/// ApplicationMaster to NodeManager: proto/hadoop/yarn/container_protocol.proto.
inline constexpr char kContainerManagement[] =
    "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

}  // namespace tony::hadoop
