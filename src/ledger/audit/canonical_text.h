// Canonical JSON of a known shape: written straight into a string, and read token by token with nothing built
// on the way. What the audit's events and exports are made of; every string and number has one spelling.
//
// Threads: the functions may be called from any thread; a scan belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace callgate::ledger {

/// Why a text was not accepted, and at which byte.
struct ScanFault {
    const char* what = "";
    std::size_t at = 0;
};

/// Each bool is whether it was there; after the first false() of fault() the scan is over.
class CanonicalScan {
public:
    explicit CanonicalScan(std::string_view text) noexcept : text_(text) {}

    std::size_t position() const noexcept { return at_; }
    bool at_end() const noexcept { return at_ == text_.size(); }
    std::string_view rest() const noexcept { return text_.substr(at_); }
    void skip(std::size_t bytes) noexcept { at_ += bytes; }
    const ScanFault& found() const noexcept { return fault_; }

    /// Always false. The scan ends with its first fault, which told() gives.
    bool fault(const char* what) noexcept {
        fault_ = {what, at_};
        return false;
    }

    bool take(char c) noexcept {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view token) noexcept {
        if (text_.compare(at_, token.size(), token) != 0) return false;
        at_ += token.size();
        return true;
    }

    /// A string in quotes: `raw` is what stands between them, `bytes` how many it says.
    bool string(std::string_view& raw, std::size_t& bytes) noexcept;
    /// Without quotes: exactly `count` lower-case hexadecimal digits.
    bool hex_digits(std::size_t count, std::string_view& digits) noexcept;
    /// In quotes: pairs of lower-case hexadecimal digits that say something that is not UTF-8.
    bool hex_string(std::string_view& digits);
    /// Below 2^53.
    bool integer(std::uint64_t& number) noexcept;

private:
    std::size_t escape() const noexcept;

    std::string_view text_;
    std::size_t at_ = 0;
    ScanFault fault_;
};

/// What a scanned string says.
std::string unescaped(std::string_view raw);

/// `text` in quotes, escaped in the one canonical way; it must be UTF-8.
void append_canonical(std::string& out, std::string_view text);
void append_hex(std::string& out, std::string_view bytes);

}  // namespace callgate::ledger
