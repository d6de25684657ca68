// The order between the framework's stream and the group's.
#include "tests/collective/gpu/gpu_rig.h"

namespace tony::collective {
namespace {

using std::chrono::milliseconds;

class NcclEventsTest : public GpuTest {
 protected:
  struct Framework {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> ready;
    std::promise<void> backward;  ///< what it computes takes until then

    /// Writes the gradient at some time, and gives the event after that.
    CudaEvent Compute(NcclEventsTest& test, float* gradient, float value) {
      test.OnStream(stream->handle(), [this, &test, gradient, value] {
        backward.get_future().wait();
        *gradient = value;
        test.fake().Note("backward");
      });
      EXPECT_TRUE(stream->Record(*ready).ok());
      return ready->handle();
    }
  };

  std::unique_ptr<Framework> NewFramework() {
    auto framework = std::make_unique<Framework>();
    framework->device = OpenDevice(0);
    framework->stream = NewStream(framework->device);
    auto event = Event::Create(framework->device);
    EXPECT_TRUE(event.ok());
    framework->ready = std::move(*event);
    return framework;
  }
};

TEST_F(NcclEventsTest, AReductionWaitsForTheFrameworksEvent) {
  const auto framework = NewFramework();
  float gradient = 0;
  float sum = 0;
  OnConnectedRanks(1, [&](NcclGroup& group) {
    ASSERT_TRUE(group.WaitFor(framework->Compute(*this, &gradient, 7)).ok());
    std::thread computing([&] { framework->backward.set_value(); });
    const Status done =
        group.AllReduce(&gradient, &sum, 1, DataType::kFloat32, ReduceOp::kSum, After(kPatience));
    computing.join();
    EXPECT_TRUE(done.ok()) << done.message();
  });
  EXPECT_EQ(sum, 7);
  EXPECT_EQ(fake().Notes(), (std::vector<std::string>{"backward", "waited", "operation"}));
}

/// A deferred operation is only given to the GPU: the caller goes on while the framework computes.
TEST_F(NcclEventsTest, TheFrameworkWaitsForTheReductionWithoutTheHost) {
  const auto framework = NewFramework();
  float gradient = 0;
  float seen = 0;
  OnConnectedRanks(1, [&](NcclGroup& group) {
    group.Defer(true);
    ASSERT_TRUE(group.WaitFor(framework->Compute(*this, &gradient, 7)).ok());
    ASSERT_TRUE(group
                    .AllReduce(&gradient, &gradient, 1, DataType::kFloat32, ReduceOp::kSum,
                               After(kPatience))
                    .ok());
    EXPECT_EQ(fake().operations, 0);
    auto done = group.Done();
    ASSERT_TRUE(done.ok());
    const auto update = NewStream(framework->device);
    ASSERT_TRUE(update->WaitFor(*done).ok());
    OnStream(update->handle(), [&] {
      seen = gradient;
      fake().Note("update");
    });
    EXPECT_EQ(fake().Notes(), std::vector<std::string>{});
    framework->backward.set_value();
    Drain(*update);
    EXPECT_TRUE(group.Finish(After(kPatience)).ok());
  });
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(fake().Notes(),
            (std::vector<std::string>{"backward", "waited", "operation", "waited", "update"}));
}

TEST_F(NcclEventsTest, SeveralDeferredOperationsRunInOrder) {
  OnConnectedRanks(2, [&](NcclGroup& group) {
    group.Defer(true);
    std::vector<int64_t> values(50, group.rank() + 1);
    for (int64_t& value : values) {
      ASSERT_TRUE(
          group.AllReduce(&values[0], &value, 1, DataType::kInt64, ReduceOp::kSum, After(kPatience))
              .ok());
    }
    ASSERT_TRUE(group.Finish(After(kPatience)).ok());
    // The first one replaced what the others read.
    EXPECT_EQ(values[0], 3);
    EXPECT_EQ(values[49], 6);
  });
  EXPECT_EQ(fake().operations, 50);
}

TEST_F(NcclEventsTest, DeferredErrorsAreToldInTheEnd) {
  const auto framework = NewFramework();
  float gradient = 0;
  OnConnectedRanks(1, [&](NcclGroup& group) {
    group.Defer(true);
    ASSERT_TRUE(group.WaitFor(framework->Compute(*this, &gradient, 7)).ok());
    ASSERT_TRUE(group
                    .AllReduce(&gradient, &gradient, 1, DataType::kFloat32, ReduceOp::kSum,
                               After(kPatience))
                    .ok());
    const Status late = group.Finish(After(milliseconds(50)));
    EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(late.message().rfind("all that was begun on GPUs was not done after ", 0), 0U)
        << late.message();
    framework->backward.set_value();
  });
  EXPECT_EQ(fake().aborted, 1);
}

}  // namespace
}  // namespace tony::collective
