// A known secret, used by tools, is looked for afterwards wherever it could have been left.
//
// A host in a process of its own keeps the secret in an encrypted file and has a durable ledger, a log, an
// observer that writes down every event, and exports of the audit. One tool uses the secret as it
// should; others put it, in many encodings, into results, errors, exceptions, progress, previews and partial
// results. First the scan must find the value while a call runs; afterwards it must find it nowhere: not in
// the ledger's file or its log, not in logs, events, exports, outcomes or error texts, not in what a core
// dump would hold, not in what the kernel shows of any process.
//
// The last line is the RESULT; exit code 0 if nothing was left and the scan had seen it, 1 if not.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callgate/callgate.h>
#include <callgate/secret_stores.h>

#include "base/encoding.h"
#include "base/rng.h"
#include "ledger/audit/export.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "pipeline/core.h"
#include "places.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreedMemory = true;  // the sanitizer's quarantine holds whatever was freed
#else
constexpr bool kKeepsFreedMemory = false;
#endif

namespace {

using namespace callgate;

struct Pipe {
    Pipe() {
        int ends[2];
        if (::pipe(ends) != 0) std::abort();
        in = ends[0];
        out = ends[1];
    }
    void say(char what = '.') const { (void)!::write(out, &what, 1); }
    void hear() const {
        char what = 0;
        while (::read(in, &what, 1) < 0 && errno == EINTR) {
        }
    }
    int in = -1;
    int out = -1;
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "canary: %s\n", why.c_str());
    std::_Exit(3);
}

template <class T>
T must(Result<T> result) {
    if (!result) give_up(result.error().message);
    return std::move(*result);
}
void must(const Result<void>& result) {
    if (!result) give_up(result.error().message);
}

/// Writes down every event.
class Diary final : public Observer {
public:
    explicit Diary(const std::string& path) : out_(path, std::ios::binary) {}
    void on_audit(const AuditEvent& event) override { put(json::write(event.to_json())); }
    void on_telemetry(const TelemetryEvent& event) override {
        if (event.params != nullptr) put(json::write(event.params->get()));
        if (event.result != nullptr) put(json::write(event.result->get()));
        put(event.reason);
    }
    void on_log(LogLevel, std::string_view line) override { put(line); }
    void on_progress(const Progress& progress) override {
        put(progress.message);
        if (progress.partial) put(json::write(*progress.partial));
    }
    void put(std::string_view text) {
        const std::lock_guard lock(mutex_);
        out_ << text << '\n' << std::flush;
    }

private:
    std::mutex mutex_;
    std::ofstream out_;
};

/// The value in every dress.
Object dressed(std::string_view value) {
    return Object{{"plain", value},
                  {"inside", "before " + std::string(value) + " after"},
                  {"base64", base::base64_encode(value)},
                  {"base64 of more", base::base64_encode("x" + std::string(value) + "y")},
                  {"base64 url", base::base64_encode("xy" + std::string(value), base::Base64Alphabet::url)},
                  {"hex", base::hex_encode(value)},
                  {"HEX", base::hex_encode(value, base::HexCase::upper)},
                  {"percent", base::percent_encode(value)},
                  {"list", Array{Value(value), Object{{std::string(value), 1}}}}};
}

class Host {
public:
    Host(std::string directory, const Pipe& to, const Pipe& from)
        : directory_(std::move(directory)), to_(to), from_(from) {}

    void run(std::string value) {
        const std::string secrets = directory_ + "/kept";
        std::filesystem::create_directories(secrets);
        std::filesystem::permissions(secrets, std::filesystem::perms::owner_all);
        must(make_key_file(secrets + "/key"));
        std::shared_ptr<EncryptedFileSecrets> store =
            must(EncryptedFileSecrets::open(secrets + "/secrets", KeySource::file(secrets + "/key")));
        must(store->set("mail", "password", value));
        ::explicit_bzero(value.data(), value.size());
        value.clear();
        (void)harden_process();

        diary_ = std::make_shared<Diary>(directory_ + "/diary.log");
        RuntimeOptions options;
        options.ledger_dir = directory_ + "/ledger";
        options.secrets = store;
        options.observers = {diary_};
        options.audit_allowed = true;
        auto runtime = must(Runtime::open(std::move(options)));
        add_tools(*runtime);

        call(*runtime, "good", "k-good");
        to_.say();  // 2: the good call is over
        from_.hear();
        for (const char* tool : {"tells", "fails", "throws", "loses", "blocks"}) {
            call(*runtime, tool, std::string("k-") + tool);
            call(*runtime, tool, std::string("k-") + tool);  // replayed from the record
        }
        ask(*runtime);
        export_audit(*runtime);
        to_.say();  // 3: every event has been delivered
        from_.hear();
        runtime.reset();
        to_.say();  // 4: closed
        from_.hear();
    }

private:
    void add_tools(Runtime& runtime) {
        const auto tool = [&](const char* name,
                              std::function<ToolReturn(std::string_view value, CallContext & context)> act) {
            Tool made = schema_tool(
                ToolDefinition(name, "Uses a secret.", Object{{"type", "object"}}),
                [act = std::move(act)](const Object&, CallContext& context) -> ToolReturn {
                    ToolReturn answer;
                    auto used = context.with_secret(
                        "password", [&](const Secret& secret) { answer = act(secret.expose(), context); });
                    if (!used) return tl::unexpected(ToolFailure(used.error()));
                    return answer;
                });
            made.connector("mail").effect(EffectClass::unsafe).risk(Risk::low);
            made.contract.breaker.failures = 0;
            must(runtime.tools().add(made));
        };
        tool("good", [this](std::string_view value, CallContext&) -> ToolReturn {
            used_ = value.size();
            to_.say();  // 1: the value is in use
            from_.hear();
            return ToolResult(Value("sent"));
        });
        tool("tells", [](std::string_view value, CallContext& context) -> ToolReturn {
            context.progress("with " + std::string(value), 1, 2);
            context.partial(dressed(value));
            return ToolResult(Value(dressed(value)));
        });
        tool("fails", [](std::string_view value, CallContext&) -> ToolReturn {
            return tl::unexpected(ToolFailure::answered("no, " + std::string(value), dressed(value)));
        });
        tool("throws", [](std::string_view value, CallContext&) -> ToolReturn {
            throw std::runtime_error("not with " + std::string(value));
        });
        tool("loses", [](std::string_view value, CallContext& context) -> ToolReturn {
            context.partial(dressed(value));
            return tl::unexpected(ToolFailure::lost("after " + std::string(value)));
        });
        tool("blocks", [](std::string_view value, CallContext&) -> ToolReturn {
            ToolResult result(std::vector<Block>{
                Block::of_text("see " + std::string(value)), Block::of_json(dressed(value)),
                Block::of_image("\x89PNG" + std::string(value), "image/png"),
                Block::of_resource("file:///" + base::percent_encode(value), std::string(value))});
            result.structured = dressed(value);
            result.raw = json::write(dressed(value));
            return result;
        });
        Tool risky = schema_tool(ToolDefinition("risky", "Needs a person.", Object{{"type", "object"}}),
                                 [](const Object&, CallContext& context) -> ToolReturn {
                                     std::string seen;
                                     (void)context.with_secret(
                                         "password", [&](const Secret& secret) { seen = secret.expose(); });
                                     return ToolResult(Value(seen));
                                 });
        risky.connector("mail").effect(EffectClass::unsafe).risk(Risk::high);
        must(runtime.tools().add(risky));
    }

    void call(Runtime& runtime, std::string_view tool, std::string key) {
        Context context;
        context.principal = "agent";
        context.idempotency_key = std::move(key);
        context.trace = true;
        context.on_progress = [this](const Progress& progress) { diary_->put(progress.message); };
        write_down(runtime.call(tool, {}, std::move(context)));
    }

    void ask(Runtime& runtime) {
        Context context;
        context.principal = "agent";
        const Outcome asked = runtime.call("risky", {}, context);
        if (asked.state() != State::needs_approval) give_up("no approval was asked for");
        must(runtime.approvals().approve(asked.approval_id(), "olga"));
        write_down(runtime.resume(asked.call_id(), context));
    }

    /// What the caller learns.
    void write_down(const Outcome& outcome) {
        diary_->put(fmt::format("{} {}", outcome.tool(), to_string(outcome.state())));
        diary_->put(outcome.text());
        diary_->put(json::write(outcome.content()));
        if (outcome.structured()) diary_->put(json::write(*outcome.structured()));
        diary_->put(outcome.raw());
        for (const Block& block : outcome.blocks()) diary_->put(block.text + block.data + block.uri);
        if (outcome.partial()) diary_->put(json::write(outcome.partial()->content));
        if (outcome.error() != nullptr)
            diary_->put(outcome.error()->message + json::write(outcome.error()->details));
        for (const StageNote& note : outcome.trace()) diary_->put(note.reason);
    }

    void export_audit(Runtime& runtime) {
        auto reader = must(runtime.core()->parts.operations->read_audit());
        std::ofstream lines(directory_ + "/audit.jsonl", std::ios::binary);
        must(ledger::export_jsonl(*reader, [&](std::string_view text) -> Result<void> {
            lines << text;
            return {};
        }));
        for (const AuditEvent& event : must(runtime.audit()))
            diary_->put(event.summary() + json::write(event.to_json()));
        diary_->put(json::write(must(runtime.core()->parts.operations->stats())));
    }

    const std::string directory_;
    const Pipe& to_;
    const Pipe& from_;
    std::shared_ptr<Diary> diary_;
    std::size_t used_ = 0;
};

constexpr std::size_t kValueBytes = 32;

std::size_t total(const canary::Findings& found) {
    std::size_t all = 0;
    for (const auto& [where, count] : found) all += count;
    return all;
}

std::size_t report(const char* place, const canary::Findings& found) {
    fmt::print("  {:<44} {}\n", place, total(found));
    for (const auto& [where, count] : found) fmt::print("    {}: {}\n", where, count);
    return total(found);
}

/// Whether the tools really did what they should, and were masked: what the diary lacks of it.
std::string not_told(const std::string& diary) {
    std::ifstream in(diary, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    for (const char* line :
         {"good succeeded\n", "tells succeeded\n", "tells replayed\n", "fails failed\n", "throws failed\n",
          "loses unknown\n", "blocks succeeded\n", "blocks replayed\n", "risky succeeded\n", "[REDACTED]"}) {
        if (text.find(line) == std::string::npos) return line;
    }
    return {};
}

}  // namespace

int main() {
    const std::string directory =
        (std::filesystem::temp_directory_path() / fmt::format("callgate-canary-{}", ::getpid())).string();
    std::filesystem::create_directories(directory);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);

    const Pipe to_us;
    const Pipe to_host;
    const Pipe secret;
    std::fflush(stdout);
    const pid_t host = ::fork();
    if (host == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::string told(kValueBytes, '\0');
        if (::read(secret.in, told.data(), told.size()) != static_cast<ssize_t>(kValueBytes))
            give_up("no secret");
        Host(directory, to_us, to_host).run(std::move(told));
        std::_Exit(0);
    }
    // Made after the fork, so that the host has only what it is handed. With characters that every
    // encoding changes; nobody else in the machine has it.
    base::SystemRng rng;
    std::string value = "cnry\"/+&";
    while (value.size() < kValueBytes)
        value.push_back("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"[rng.below(57)]);
    const canary::Forms forms(value);
    (void)!::write(secret.out, value.data(), value.size());

    to_us.hear();  // 1
    const std::size_t in_use = total(canary::in_memory(host, forms, false));
    const std::size_t in_core = total(canary::in_memory(host, forms, true));
    fmt::print("while a call uses it: {} places in the host's memory, {} of them in a core dump\n", in_use,
               in_core);
    to_host.say();
    to_us.hear();  // 2
    fmt::print("after a call that used it as it should:\n");
    std::size_t left = 0;
    std::size_t in_memory = 0;
    if (kKeepsFreedMemory) {
        fmt::print("  (its memory is not looked through: a sanitizer keeps what was freed)\n");
    } else {
        in_memory = report("all of the host's memory", canary::in_memory(host, forms, false));
        left += in_memory;
    }
    left += report("files: ledger, log, secrets, diary", canary::in_files(directory, forms));
    to_host.say();
    to_us.hear();  // 3
    fmt::print("after tools that put it wherever they could:\n");
    left += report("files: ledger and its log, diary, exports", canary::in_files(directory, forms));
    left += report("command lines and environments", canary::in_proc(forms));
    const std::string missing = not_told(directory + "/diary.log");
    if (!missing.empty()) fmt::print("  the diary does not tell of: {}\n", missing);
    to_host.say();
    to_us.hear();  // 4
    left += report("the same files once all is closed", canary::in_files(directory, forms));
    to_host.say();
    int status = 0;
    ::waitpid(host, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fmt::print("the host ended with status {}\n", status);
    std::filesystem::remove_all(directory);
    fmt::print("RESULT found_in_use={} in_core_in_use={} left={} memory_scanned={}\n", in_use, in_core, left,
               kKeepsFreedMemory ? 0 : 1);
    return in_use > 0 && left == 0 && status == 0 && missing.empty() ? 0 : 1;
}
