#include <callgate/args.h>

namespace callgate {

void Args::own() {
    if (const std::string_view* pointed = view()) held_ = std::string(*pointed);
}

}  // namespace callgate
