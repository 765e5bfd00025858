#include "tessera/device_group.hpp"

#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

namespace tessera::test {

TEST(device_group, has_a_context_for_each) {
    const Context one = Context::cpu(1);
    EXPECT_THROW(DeviceGroup({one, one}), InvalidArgument);
    EXPECT_EQ(DeviceGroup({one, Context::cpu(1)}).size(), 2);
}

TEST(device_group, is_named_by_a_text) {
    const DeviceGroup group = DeviceGroup::from_text("3", "cpu", 1);
    ASSERT_EQ(group.size(), 3);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(group[k].threads(), 1);
    EXPECT_TRUE(group.description().starts_with("3 x CPU, 1 thread")) << group.description();
    const int all = Context::cpu().threads();
    EXPECT_EQ(DeviceGroup::from_text("1", "cpu")[0].threads(), all);
    const auto refused = [](const char* devices, const char* device) {
        return message_of<InvalidArgument>([&] { DeviceGroup::from_text(devices, device); });
    };
    for (const char* text : {"0", "-1", "1e3", "cuda:0,cuda:1", "all", "", "5000"}) {
        expect_contains(refused(text, "cpu"), "devices");
    }
    expect_contains(refused("2", "cuda:1"), "cuda:0,cuda:1");
    for (const char* text : {"two", "cpu,cpu", "cuda:0,", "cuda:x"}) {
        EXPECT_FALSE(refused(text, "auto").empty());
    }
    expect_contains(message_of<InvalidArgument>([] { DeviceGroup({}); }), "one or more");
    if (!context().on_gpu()) return;
    EXPECT_THROW(DeviceGroup({Context::cpu(1), context()}), InvalidArgument);
    const int gpus = int(cuda_devices().size());
    EXPECT_EQ(DeviceGroup::from_text("all").size(), gpus);
    EXPECT_EQ(DeviceGroup::from_text("cuda:0,cuda:0").size(), 2);
    EXPECT_THROW(DeviceGroup::from_text(std::to_string(gpus + 1)), DeviceError);
}

}  // namespace tessera::test
