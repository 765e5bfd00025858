#include <optional>

#include "commands/commands.hpp"
#include "commands/self_test.hpp"
#include "report/text.hpp"
#include "run/output.hpp"

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
    DeviceReport report;
    const Context cpu = Context::cpu();
    report.threads = cpu.threads();
    for (const InstructionSet set : instruction_sets()) report.sets.emplace_back(to_string(set));
    report.devices.push_back({"cpu", cpu.description(), {}});
    report.cuda = cuda_devices(&report.why_not_cuda);
    for (std::size_t k = 0; k < report.cuda.size(); ++k) {
        report.devices.push_back({"cuda:" + std::to_string(k), describe(report.cuda[k]), {}});
    }
    if (with_test) {
        for (Device& device : report.devices) device.items = test(device.name);
    }
    return report;
}

bool all_passed(const DeviceReport& report) {
    for (const Device& device : report.devices) {
        for (const TestItem& item : device.items) {
            if (!item.passed) return false;
        }
    }
    return true;
}

std::string to_table(const DeviceReport& report) {
    std::string table;
    for (const Device& device : report.devices) {
        table += format("%-8s %s\n", device.name.c_str(), device.description.c_str());
        if (device.name == "cpu") {
            table += "         instruction sets:";
            for (const std::string& set : report.sets) table += " " + set;
            table += "\n";
        }
        for (const TestItem& item : device.items) {
            table += format("         %-6s %s: %s\n", item.passed ? "ok" : "FAILED",
                            item.name.c_str(), item.detail.c_str());
        }
    }
    if (report.cuda.empty()) table += "cuda     none: " + report.why_not_cuda + "\n";
    return table;
}

std::string to_json(const DeviceReport& report, bool with_test) {
    std::vector<JsonObject> cuda;
    for (const DeviceDescription& device : report.cuda) {
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
        JsonObject().add("threads", Offset(report.threads)).add("instruction_sets", report.sets));
    json.add("cuda", cuda);
    if (report.cuda.empty()) json.add("why_not_cuda", report.why_not_cuda);
    if (with_test) {
        std::vector<JsonObject> items;
        for (const Device& device : report.devices) {
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
    const DeviceReport report = find_devices(arguments.test);
    if (!arguments.json.empty()) write_text(arguments.json, to_json(report, arguments.test));
    if (arguments.json != "-") write_text("-", to_table(report));
    return all_passed(report) ? exit_converged : exit_internal;
}

}  // namespace tessera::cli
