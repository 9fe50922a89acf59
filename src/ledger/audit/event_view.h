// Reading an event's bytes: a strict scanner for the one form that is written (event.h).
//
// It accepts exactly the canonical texts of events: known members in their order, each at most once, no
// spaces, one spelling for every character and number. So whatever it accepts has one meaning only, and
// nothing is built on the way: the view points into the bytes.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <callgate/outcome.h>

#include "ledger/audit/canonical_text.h"
#include "ledger/audit/event.h"

namespace callgate::ledger {

/// In the order of their names.
enum class Member : std::uint8_t {
    action,
    approval,
    attempt,
    autonomy,
    boot,
    call,
    chain,
    commits,
    connector,
    error,
    has_key,
    key,
    latency_ns,
    mono,
    old_key,
    outcome,
    parent,
    principal,
    request,
    risk,
    run,
    seq,
    stage,
    step,
    task,
    tenant,
    time,
    tool,
    trace,
    type,
    v,
};
inline constexpr std::size_t kMemberCount = static_cast<std::size_t>(Member::v) + 1;
std::string_view to_string(Member member) noexcept;

class EventView {
public:
    bool has(Member member) const noexcept { return (present_ >> index(member) & 1) != 0; }
    /// As it stands there, without quotes: escaped, or the hexadecimal digits.
    std::string_view raw(Member member) const noexcept { return raw_[index(member)]; }
    /// What it says, "" where it is absent.
    std::string text(Member member) const;
    /// 0 where it is absent.
    std::uint64_t number(Member member) const noexcept { return numbers_[index(member)]; }
    std::uint64_t sequence() const noexcept { return number(Member::seq); }
    /// All zero where it is absent.
    CallId id(Member member) const noexcept;

    struct CommitView {
        std::string_view field;
        std::string_view hex;
    };
    /// In the order of their fields.
    std::span<const CommitView> commits() const noexcept { return std::span(commits_).first(commit_count_); }

private:
    friend class EventScanner;
    static std::size_t index(Member member) noexcept { return static_cast<std::size_t>(member); }

    std::uint32_t present_ = 0;
    std::uint32_t hex_ = 0;
    std::size_t commit_count_ = 0;
    std::array<std::string_view, kMemberCount> raw_{};
    std::array<std::uint64_t, kMemberCount> numbers_{};
    std::array<CommitView, kMaxAuditPayloads> commits_;  // the first commit_count_
};

/// The event at the start of `text`; `end` is where it ends. The view is as good as `text`.
std::optional<ScanFault> scan_event(std::string_view text, EventView& view, std::size_t& end);
/// The same, and nothing may follow.
std::optional<ScanFault> scan_event(std::string_view text, EventView& view);

}  // namespace callgate::ledger
