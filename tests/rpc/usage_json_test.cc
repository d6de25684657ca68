// Which members a measurement has.
#include "core/record/usage_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/rpc/every_event.h"

namespace tony::core {
namespace {

using Json = nlohmann::ordered_json;

TEST(UsageJsonTest, ShowsAllThatIsKnown) {
  Json json = {{"processes", 5}};
  AddKnownUsage(rpc::FullUsage(), json);
  EXPECT_EQ(json, Json::parse(R"({
    "processes": 5, "seconds": 13.5, "proportional_bytes": 14, "printed_bytes": 42,
    "descriptors": 15,
    "gpu_utilization": 97.25, "gpu_memory_bytes": 6,
    "gpus": [{"index": 1, "utilization": 98.5, "memory_bytes": 6, "memory_total_bytes": 16,
              "power_watts": 301.5, "temperature": 61.0, "ecc_errors": 17, "slowed": 4}],
    "group": {"memory_bytes": 18, "max_memory_bytes": 19, "periods": 20, "throttled_periods": 21,
              "throttled_seconds": 22.5, "cpu_wait_seconds": 23.5, "memory_wait_seconds": 24.5,
              "io_wait_seconds": 25.5},
    "network": {"sent_bytes": 26, "received_bytes": 27, "host_sent_bytes": 28,
                "host_received_bytes": 29}})"));
}

TEST(UsageJsonTest, ShowsNothingThatIsUnknown) {
  core::TaskUsage usage;
  Json json = Json::object();
  AddKnownUsage(usage, json);
  EXPECT_EQ(json, Json::parse(R"({"seconds": 0.0})"));
  usage.gpus.resize(1);
  usage.network.host_sent_bytes = 0;
  AddKnownUsage(usage, json);
  EXPECT_EQ(json,
            Json::parse(
                R"({"seconds": 0.0, "gpus": [{"index": 0}], "network": {"host_sent_bytes": 0}})"));
}

}  // namespace
}  // namespace tony::core
