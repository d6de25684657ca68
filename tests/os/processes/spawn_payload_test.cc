// Payloads packed, cut off, and through a file in memory.
#include "os/processes/spawn_payload.h"

#include <gtest/gtest.h>

#include <string>

namespace tony::os {
namespace {

TEST(SpawnPayloadTest, ComesBackAsItWas) {
  const SpawnPayload payload{.arguments = {"python3", "", "a b", "$x '\"\n"},
                             .environment = {"A=1", "EMPTY=", "=", ""},
                             .working_folder = "/some folder/x",
                             .program = "/usr/bin/python3",
                             .fallback = {"/bin/bash", "-c", "x"}};
  const SpawnPayload copy = UnpackSpawnPayload(PackSpawnPayload(payload));
  EXPECT_EQ(copy.arguments, payload.arguments);
  EXPECT_EQ(copy.environment, payload.environment);
  EXPECT_EQ(copy.working_folder, payload.working_folder);
  EXPECT_EQ(copy.program, payload.program);
  EXPECT_EQ(copy.fallback, payload.fallback);
}

TEST(SpawnPayloadTest, CutOffPayloadEndsEarly) {
  const std::string packed = PackSpawnPayload({{"program", "argument"}, {"A=1"}, "/"});
  for (size_t length = 0; length < packed.size(); ++length) {
    const SpawnPayload part = UnpackSpawnPayload(packed.substr(0, length));
    EXPECT_LE(part.arguments.size(), 2u);
    EXPECT_LE(part.environment.size(), 1u);
  }
}

TEST(SpawnPayloadTest, AFileHoldsWhatNoSocketTakesAtOnce) {
  const std::string large(1 << 20, 'x');
  const auto file = PayloadFile({{"program"}, {"LARGE=" + large}, "/"});
  ASSERT_TRUE(file.ok()) << file.status();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(ReadPayloadFile(file->get()).environment, std::vector<std::string>{"LARGE=" + large});
  }
}

}  // namespace
}  // namespace tony::os
