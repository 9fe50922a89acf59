#include "mcp/member_text.h"

#include <algorithm>

#include <callgate/json.h>

namespace callgate::mcp {
namespace {

// Over a text that was parsed before, so its grammar is not judged again.
class MemberFinder {
public:
    explicit MemberFinder(std::string_view text) : text_(text) {}

    std::string_view find(std::string_view member) {
        skip_space();
        if (!take('{')) return {};
        for (skip_space(); at_ < text_.size() && text_[at_] == '"'; skip_space()) {
            const std::string_view key = value();
            skip_space();
            take(':');
            skip_space();
            const std::string_view found = value();
            if (is(key, member)) return found;
            skip_space();
            if (!take(',')) break;
        }
        return {};
    }

private:
    void skip_space() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void skip_string() {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') ++at_;
        }
        ++at_;
    }
    std::string_view value() {
        const std::size_t begin = at_;
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                skip_string();
                if (depth == 0) break;
                continue;
            }
            if (depth == 0 && (c == ',' || c == '}' || c == ' ' || c == '\t' || c == '\n' || c == '\r'))
                break;
            ++at_;
            if (c == '{' || c == '[') ++depth;
            if ((c == '}' || c == ']') && --depth == 0) break;
        }
        at_ = std::min(at_, text_.size());
        return text_.substr(begin, at_ - begin);
    }
    static bool is(std::string_view key, std::string_view member) {
        if (key.find('\\') == std::string_view::npos)
            return key.size() == member.size() + 2 && key.substr(1, member.size()) == member;
        const auto read = json::parse(key);
        return read && read->is_string() && std::string_view(read->get_string()) == member;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::string_view member_text(std::string_view object, std::string_view member) {
    return MemberFinder(object).find(member);
}

}  // namespace callgate::mcp
