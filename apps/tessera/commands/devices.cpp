#include <optional>

#include "commands/commands.hpp"
#include "commands/self_test.hpp"
#include "report/text.hpp"

namespace tessera::cli {

namespace {

/// One device, with the result of its self-test if it ran.
struct Device {
    std::string name;  ///< Name for --device.
    std::string description;
    std::vector<TestItem> items;
};

struct DeviceReport {
    std::vector<std::string> sets;
    int threads = 0;
    std::vector<DeviceDescription> cuda;
    std::string why_not_cuda;
    std::vector<Device> devices;
};

std::string describe(const DeviceDescription& device) {
    return format("%s, %s, compute capability %d.%d, %d multiprocessors", device.name.c_str(),
                  format_bytes(double(device.memory_bytes)).c_str(), device.compute_capability / 10,
                  device.compute_capability % 10, device.multiprocessors);
}

std::vector<TestItem> test(const std::string& device) {
    try {
        return self_test(Context::from_name(device));
    } catch (const std::exception& error) {
        return {{"open", false, error.what()}};
    }
}

DeviceReport find_devices(bool with_test) {
    DeviceReport found;
    const Context cpu = Context::cpu();
    found.threads = cpu.threads();
    for (const InstructionSet set : instruction_sets()) found.sets.emplace_back(to_string(set));
    found.devices.push_back({"cpu", cpu.description(), {}});
    found.cuda = cuda_devices(&found.why_not_cuda);
    for (std::size_t k = 0; k < found.cuda.size(); ++k) {
        found.devices.push_back({"cuda:" + std::to_string(k), describe(found.cuda[k]), {}});
    }
    if (with_test) {
        for (Device& device : found.devices) device.items = test(device.name);
    }
    return found;
}

bool all_passed(const DeviceReport& found) {
    for (const Device& device : found.devices) {
        for (const TestItem& item : device.items) {
            if (!item.passed) return false;
        }
    }
    return true;
}

std::string to_table(const DeviceReport& found) {
    std::string table;
    for (const Device& device : found.devices) {
        table += format("%-8s %s\n", device.name.c_str(), device.description.c_str());
        if (device.name == "cpu") {
            table += "         instruction sets:";
            for (const std::string& set : found.sets) table += " " + set;
            table += "\n";
        }
        for (const TestItem& item : device.items) {
            table += format("         %-6s %s: %s\n", item.passed ? "ok" : "FAILED",
                            item.name.c_str(), item.detail.c_str());
        }
    }
    if (found.cuda.empty()) table += "cuda     none: " + found.why_not_cuda + "\n";
    return table;
}

std::string to_json(const DeviceReport& found, bool with_test) {
    std::vector<JsonObject> cuda;
    for (const DeviceDescription& device : found.cuda) {
        cuda.push_back(
            JsonObject()
                .add("name", device.name)
                .add("memory_bytes", device.memory_bytes)
                .add("compute_capability", format("%d.%d", device.compute_capability / 10,
                                                  device.compute_capability % 10))
                .add("multiprocessors", Offset(device.multiprocessors)));
    }
    JsonObject json;
    json.add("schema", "tessera-devices/1").add("version", version()).add("commit", commit());
    json.add(
        "cpu",
        JsonObject().add("threads", Offset(found.threads)).add("instruction_sets", found.sets));
    json.add("cuda", cuda);
    if (found.cuda.empty()) json.add("why_not_cuda", found.why_not_cuda);
    if (with_test) {
        std::vector<JsonObject> items;
        for (const Device& device : found.devices) {
            for (const TestItem& item : device.items) {
                items.push_back(JsonObject()
                                    .add("device", device.name)
                                    .add("name", item.name)
                                    .add("passed", item.passed)
                                    .add("detail", item.detail));
            }
        }
        json.add("test", items);
    }
    return json.text() + "\n";
}

}  // namespace

int devices(const DevicesArguments& arguments) {
    check_output("--json", arguments.json, {});
    const DeviceReport found = find_devices(arguments.test);
    if (!arguments.json.empty()) write_text(arguments.json, to_json(found, arguments.test));
    if (arguments.json != "-") write_text("-", to_table(found));
    return all_passed(found) ? exit_converged : exit_internal;
}

}  // namespace tessera::cli
