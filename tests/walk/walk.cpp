// walk: which functions of the library one call enters, in order, and on which thread.
//
// Puts a breakpoint on every function of namespace callgate in its own program and lets a call run. A
// breakpoint that is met notes its address and is gone; so each function is noted once a call, in the order
// of their first entries, and the call costs little more than usual. Nothing has to be compiled for it.
// run.py makes files of the addresses.
//
//     walk          a breakpoint on every function
//     walk FILE     at the addresses in FILE instead, one to a line, in hexadecimal: of lines of code
//
// Prints, for each of the three kinds of call and for each of kRounds rounds, a line
//     KIND ROUND THREAD:ADDRESS…
// THREAD is 0 on the caller's thread and 1 elsewhere; addresses are those of the program's file, in
// hexadecimal. Exit code 77 where it cannot be done: not on this processor.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

constexpr int kRounds = 3;

#if defined(__x86_64__)

constexpr std::uint8_t kBreakpoint = 0xCC;

struct Place {
    std::uint64_t address = 0;  // in the file
    std::uint8_t byte = 0;      // what the breakpoint stands in place of
};
struct Entry {
    std::uint64_t address = 0;
    bool elsewhere = false;
};

// Used in the signal handler, so made before and never changed in size.
std::vector<Place> places;
std::vector<Entry> entries;
std::atomic<std::size_t> noted{0};
std::uint64_t base = 0;
int memory = -1;
pid_t walker = 0;

bool put(std::uint64_t address, std::uint8_t byte) {
    return pwrite(memory, &byte, 1, static_cast<off_t>(base + address)) == 1;
}

void on_breakpoint(int, siginfo_t*, void* context) {
    auto& instruction = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const std::uint64_t address = static_cast<std::uint64_t>(instruction) - 1 - base;
    const auto found =
        std::lower_bound(places.begin(), places.end(), address,
                         [](const Place& one, std::uint64_t key) { return one.address < key; });
    if (found == places.end() || found->address != address) _exit(70);
    if (!put(address, found->byte)) _exit(71);
    // Two threads may meet the same one at once; run.py counts it once.
    const std::size_t at = noted.fetch_add(1);
    if (at < entries.size()) entries[at] = {address, syscall(SYS_gettid) != walker};
    instruction = static_cast<greg_t>(base + address);
}

bool ours(std::string_view symbol) {
    for (const std::string_view prefix : {"_ZN8callgate", "_ZNK8callgate"})
        if (symbol.starts_with(prefix)) return true;
    return false;
}

/// The program's own file.
class Program {
public:
    Program() {
        std::ifstream in("/proc/self/exe", std::ios::binary);
        file_.assign(std::istreambuf_iterator<char>(in), {});
        Elf64_Ehdr head;
        read(0, head);
        sections_.resize(head.e_shnum);
        for (std::size_t i = 0; i < sections_.size(); ++i)
            read(head.e_shoff + i * head.e_shentsize, sections_[i]);
    }

    std::vector<std::uint64_t> functions() const {
        std::vector<std::uint64_t> found;
        for (const Elf64_Shdr& table : sections_) {
            if (table.sh_type != SHT_SYMTAB) continue;
            const std::size_t names = sections_[table.sh_link].sh_offset;
            for (std::size_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
                Elf64_Sym symbol;
                read(table.sh_offset + offset, symbol);
                if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size != 0 &&
                    symbol.st_shndx != SHN_UNDEF && ours(file_.c_str() + names + symbol.st_name))
                    found.push_back(symbol.st_value);
            }
        }
        return found;
    }

    std::vector<Place> places_at(std::vector<std::uint64_t> addresses) const {
        std::sort(addresses.begin(), addresses.end());
        addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
        std::vector<Place> found;
        for (const std::uint64_t address : addresses) {
            for (const Elf64_Shdr& code : sections_) {
                if ((code.sh_flags & SHF_EXECINSTR) == 0 || address < code.sh_addr ||
                    address >= code.sh_addr + code.sh_size)
                    continue;
                Place place;
                place.address = address;
                read(code.sh_offset + (address - code.sh_addr), place.byte);
                found.push_back(place);
            }
        }
        return found;
    }

private:
    template <class T>
    void read(std::size_t offset, T& to) const {
        if (offset + sizeof to > file_.size()) throw std::runtime_error("cannot read its own file");
        std::memcpy(&to, file_.data() + offset, sizeof to);
    }

    std::string file_;
    std::vector<Elf64_Shdr> sections_;
};

std::vector<std::uint64_t> addresses_in(const char* path) {
    std::ifstream in(path);
    std::vector<std::uint64_t> found;
    for (std::string line; std::getline(in, line);) found.push_back(std::stoull(line, nullptr, 16));
    return found;
}

void prepare(const char* lines) {
    const Program program;
    places = program.places_at(lines == nullptr ? program.functions() : addresses_in(lines));
    entries.resize(places.size() * 2);
    walker = static_cast<pid_t>(syscall(SYS_gettid));
    memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void*) {
            base = info->dlpi_addr;
            return 1;  // the first is the program itself
        },
        nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_breakpoint;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (memory < 0 || places.empty() || sigaction(SIGTRAP, &action, nullptr) != 0)
        throw std::runtime_error("cannot set breakpoints");
}

void arm(bool on) {
    if (on) noted = 0;
    for (const Place& one : places)
        if (!put(one.address, on ? kBreakpoint : one.byte))
            throw std::runtime_error("cannot set breakpoints");
}

template <class Call>
void walk(const char* kind, int round, const Call& call) {
    arm(true);
    const bool fine = call();
    arm(false);
    if (!fine) throw std::runtime_error(std::string(kind) + ": the call did not end as it should");
    std::printf("%s %d", kind, round);
    for (std::size_t i = 0; i < std::min(noted.load(), entries.size()); ++i)
        std::printf(" %d:%" PRIx64, entries[i].elsewhere ? 1 : 0, entries[i].address);
    std::printf("\n");
}

void add_tools(cg::Runtime& runtime) {
    cg::PolicyConfig config;
    config.antiflap = std::chrono::milliseconds(0);  // the same call again, at once
    if (!runtime.policy().set(config)) throw std::runtime_error("the policy was refused");
    runtime.tools().add_or_throw(cg::tool(
                                     "look", "Look", [](int n) { return n; }, cg::param("n"))
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::read)
                                     .run_inline());
    runtime.tools().add_or_throw(cg::tool(
                                     "pay", "Pay", [](int n) { return n; }, cg::param("n"))
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::unsafe));
    runtime.tools().add_or_throw(cg::tool(
                                     "send", "Send", [](int n) { return n; }, cg::param("n"))
                                     .risk(cg::Risk::high)
                                     .effect(cg::EffectClass::unsafe));
}

int run(const char* lines) {
    prepare(lines);
    {
        cg::Runtime runtime;
        add_tools(runtime);
        // The first call of each kind makes what later ones find made.
        if (!runtime.call("look", {{"n", 0}}).ok()) return 1;
        for (int round = 0; round < kRounds; ++round) {
            const cg::Args arguments = {{"n", round}};
            walk("read", round, [&] { return runtime.call("look", arguments).ok(); });
        }
    }
    std::string scratch = (std::filesystem::temp_directory_path() / "callgate-walk-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr) return 1;
    struct Cleanup {
        std::string path;
        ~Cleanup() { std::filesystem::remove_all(path); }
    } const cleanup{scratch};
    cg::RuntimeOptions options;
    options.ledger_dir = scratch + "/ledger";
    options.ledger_mark_dir = scratch + "/marks";
    auto opened = cg::Runtime::open(std::move(options));
    if (!opened) throw std::runtime_error(opened.error().message);
    cg::Runtime& runtime = **opened;
    add_tools(runtime);
    cg::Context agent;
    agent.principal = "agent";
    agent.idempotency_key = "first";
    if (!runtime.call("pay", {{"n", 99}}, agent).ok()) return 1;
    for (int round = 0; round < kRounds; ++round) {
        agent.idempotency_key = "pay-" + std::to_string(round);
        const cg::Args arguments = {{"n", round}};
        walk("unsafe", round, [&] { return runtime.call("pay", arguments, agent).ok(); });
    }
    agent.idempotency_key.clear();
    for (int round = 0; round < kRounds; ++round) {
        const cg::Args arguments = {{"n", round}};
        walk("approval", round, [&] {
            const cg::Outcome asked = runtime.call("send", arguments, agent);
            if (asked.state() != cg::State::needs_approval) return false;
            if (!runtime.approvals().approve(asked.approval_id(), "olga")) return false;
            return runtime.resume(asked.call_id(), agent).ok();
        });
    }
    return 0;
}

#else

int run(const char*) {
    std::printf("the walk sets breakpoints of x86-64, and this is another processor\n");
    return 77;
}

#endif

}  // namespace

int main(int count, char** words) {
    try {
        return run(count > 1 ? words[1] : nullptr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "walk: %s\n", error.what());
        return 1;
    }
}
