#include "tessera/device_group.hpp"

#include "base/checks.hpp"
#include "base/concat.hpp"

namespace tessera {

namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

std::vector<Context> groups_of_threads(std::int64_t count, int threads) {
    const int all = Context::cpu(threads).threads();
    std::vector<Context> contexts;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t own = all / count + (k < all % count ? 1 : 0);
        contexts.push_back(Context::cpu(int(std::max<std::int64_t>(1, own))));
    }
    return contexts;
}

/// The names of `count` GPUs, or of all for 0.
std::vector<std::string> names_of_gpus(std::int64_t count) {
    std::string reason;
    const auto there = std::int64_t(cuda_devices(&reason).size());
    if (there == 0) {
        throw DeviceError("CUDA cannot be used: " + reason +
                          " (device cpu has groups of threads in place of GPUs)");
    }
    if (count > there) {
        throw DeviceError(concat("this machine has ", there, there == 1 ? " GPU" : " GPUs",
                                 " that can be used, not ", count));
    }
    std::vector<std::string> names;
    for (std::int64_t k = 0; k < (count == 0 ? there : count); ++k) {
        names.push_back("cuda:" + std::to_string(k));
    }
    return names;
}

}  // namespace

DeviceGroup::DeviceGroup(std::vector<Context> contexts) : contexts_(std::move(contexts)) {
    require_argument("devices", !contexts_.empty(), "a group of devices has one or more");
    for (std::size_t k = 0; k < contexts_.size(); ++k) {
        require_argument("devices", contexts_[k].on_gpu() == contexts_.front().on_gpu(),
                         "the devices of a group are all GPUs, or all groups of CPU threads");
        for (std::size_t other = 0; other < k; ++other) {
            require_argument("devices", &contexts_[k].state() != &contexts_[other].state(),
                             "each device of a group needs a Context of its own, not a copy");
        }
    }
}

DeviceGroup DeviceGroup::from_text(const std::string& devices, const std::string& device,
                                   int threads) {
    std::int64_t count = 0;
    const bool is_number = parse_integer(devices, count).empty();
    const std::int64_t most = device == "cpu" ? 1024 : 4096;
    require_argument("devices", !is_number || (count >= 1 && count <= most),
                     "the number of devices is 1 to ", most, ", not ", devices);
    if (device == "cpu") {
        require_argument("devices", is_number, "with device cpu, devices is a number of groups of ",
                         "threads, not '", devices, "'");
        return DeviceGroup(groups_of_threads(count, threads));
    }
    require_argument("device", device == "auto" || device == "cuda", "device ", device,
                     " is a single one: with devices, name cpu or cuda, or list them in devices, "
                     "as cuda:0,cuda:1");
    const std::vector<std::string> names =
        is_number || devices == "all" ? names_of_gpus(count) : split_at_commas(devices);
    for (const std::string& name : names) {
        require_argument("devices", name.starts_with("cuda:"), "devices is a number, all, or a ",
                         "list such as cuda:0,cuda:1, not '", devices, "'");
    }
    std::vector<Context> contexts;
    for (const std::string& name : names) contexts.push_back(Context::from_name(name, threads));
    return DeviceGroup(std::move(contexts));
}

std::string DeviceGroup::description() const {
    std::string text;
    for (auto first = contexts_.begin(); first != contexts_.end();) {
        const std::string each = first->description();
        auto next = first;
        while (next != contexts_.end() && next->description() == each) ++next;
        text += (text.empty() ? "" : " and ") +
                (next - first > 1 ? std::to_string(next - first) + " x " : "") + each;
        first = next;
    }
    return text;
}

}  // namespace tessera
