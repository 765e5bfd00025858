#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <utility>

#include "precond/choose.hpp"
#include "tessera/direct.hpp"

namespace tessera {

DirectOptions parse_direct(Spec spec) {
    DirectOptions options;
    options.threshold = spec.real("threshold", options.threshold, 0, 0.5);
    const std::string matching = spec.word("matching", "auto", {"auto", "on", "off"});
    if (matching != "auto") options.matching = matching == "on";
    options.symmetric = spec.word("symmetric", "on", {"on", "off"}) == "on";
    options.max_flops = spec.real("max_flops", options.max_flops, 0, 1e30);
    spec.finish();
    return options;
}

template <class T>
std::string Direct<T>::describe() const {
    const DirectOptions& options = this->options();
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(std::numeric_limits<double>::digits10);
    text << "direct";
    if (options.threshold >= 0) text << ",threshold=" << options.threshold;
    if (options.matching) text << ",matching=" << (*options.matching ? "on" : "off");
    if (!options.symmetric) text << ",symmetric=off";
    if (options.max_flops > 0) text << std::setprecision(6) << ",max_flops=" << options.max_flops;
    std::string words = text.str();
    std::erase(words, '+');  // 1e09
    return words;
}

template std::string Direct<float>::describe() const;
template std::string Direct<double>::describe() const;

}  // namespace tessera
