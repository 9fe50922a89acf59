#include "ledger/control/request_reader.h"

#include <utility>

#include <fmt/format.h>

#include "json/size.h"

namespace callgate::ledger {

RequestReader::RequestReader(const Object& request) : request_(request), taken_{"v", "verb"} {}

const Value* RequestReader::take(std::string_view name) {
    taken_.emplace(name);
    return request_.if_contains(name);
}

void RequestReader::refuse(std::string_view name, std::string_view what) {
    if (fault_) return;
    fault_ = Error(ErrorCode::invalid_arguments, fmt::format("The request's '{}' {}.", name, what),
                   {{"reason", "bad_request"}, {"member", name}});
}

std::string RequestReader::text(std::string_view name, std::size_t max_bytes) {
    std::string found = text_or(name, {}, max_bytes);
    if (found.empty()) refuse(name, "must be given and not empty");
    return found;
}

std::string RequestReader::text_or(std::string_view name, std::string_view otherwise, std::size_t max_bytes) {
    const Value* value = take(name);
    if (value == nullptr) return std::string(otherwise);
    if (!value->is_string()) {
        refuse(name, fmt::format("must be a string, not {}", json::kind_with_article(*value)));
    } else if (value->get_string().size() > max_bytes) {
        refuse(name,
               fmt::format("has {} bytes; at most {} are taken", value->get_string().size(), max_bytes));
    } else {
        return std::string(value->get_string());
    }
    return std::string(otherwise);
}

bool RequestReader::flag(std::string_view name) {
    if (request_.if_contains(name) == nullptr) refuse(name, "must be true or false");
    return flag_or(name, false);
}

bool RequestReader::flag_or(std::string_view name, bool otherwise) {
    const Value* value = take(name);
    if (value == nullptr) return otherwise;
    if (!value->is_bool()) {
        refuse(name, fmt::format("must be true or false, not {}", json::kind_with_article(*value)));
        return otherwise;
    }
    return value->get_bool();
}

std::optional<std::uint64_t> RequestReader::number_if(std::string_view name, std::uint64_t least,
                                                      std::uint64_t most) {
    const Value* value = take(name);
    if (value == nullptr) return std::nullopt;
    std::optional<std::uint64_t> number;
    if (value->is_uint64()) number = value->get_uint64();
    if (value->is_int64() && value->get_int64() >= 0) number = static_cast<std::uint64_t>(value->get_int64());
    if (number && *number >= least && *number <= most) return number;
    refuse(name, fmt::format("must be an integer from {} to {}", least, most));
    return std::nullopt;
}

std::uint64_t RequestReader::number(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const auto number = number_if(name, least, most);
    if (!number) refuse(name, fmt::format("must be an integer from {} to {}", least, most));
    return number.value_or(least);
}

std::uint64_t RequestReader::number_or(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                                       std::uint64_t most) {
    return number_if(name, least, most).value_or(otherwise);
}

std::vector<std::string> RequestReader::texts_or_none(std::string_view name, std::size_t max_count,
                                                      std::size_t max_bytes) {
    std::vector<std::string> out;
    const Value* value = take(name);
    if (value == nullptr) return out;
    if (!value->is_array() || value->get_array().size() > max_count) {
        refuse(name, fmt::format("must be an array of at most {} strings", max_count));
        return out;
    }
    for (const Value& one : value->get_array()) {
        if (!one.is_string() || one.get_string().size() > max_bytes) {
            refuse(name, fmt::format("must hold strings of at most {} bytes", max_bytes));
            return {};
        }
        out.emplace_back(one.get_string());
    }
    return out;
}

Result<void> RequestReader::done() {
    for (const auto& member : request_) {
        if (!taken_.contains(std::string_view(member.key())))
            refuse(member.key(), "is not known to this verb");
    }
    if (fault_) return tl::unexpected(std::move(*fault_));
    return {};
}

}  // namespace callgate::ledger
