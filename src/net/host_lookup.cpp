#include "net/host_lookup.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/mutex.h"
#include "base/thread_role.h"

namespace callgate::net {
namespace {

constexpr std::size_t kLookupThreads = 8;
constexpr std::size_t kMostLookups = 1'024;
// Of one name; what follows would never be tried.
constexpr std::size_t kMostAddresses = 16;

Result<std::vector<IpAddress>> addresses_of(const std::string& host) {
    CALLGATE_MAY_BLOCK("a look-up of a name");
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int result = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(result == 0 ? found : nullptr,
                                                                   ::freeaddrinfo);
    std::vector<IpAddress> addresses;
    for (const addrinfo* one = all.get(); one != nullptr && addresses.size() < kMostAddresses;
         one = one->ai_next) {
        IpAddress address;
        if (one->ai_family == AF_INET) {
            sockaddr_in four{};
            std::memcpy(&four, one->ai_addr, sizeof four);
            std::memcpy(address.bytes.data(), &four.sin_addr, sizeof four.sin_addr);
        } else if (one->ai_family == AF_INET6) {
            sockaddr_in6 six{};
            std::memcpy(&six, one->ai_addr, sizeof six);
            std::memcpy(address.bytes.data(), &six.sin6_addr, sizeof six.sin6_addr);
            address.scope = six.sin6_scope_id;
            address.six = true;
        } else {
            continue;
        }
        if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
    }
    if (!addresses.empty()) return addresses;
    const char* reason = result == 0 ? "it has no address" : ::gai_strerror(result);
    return fail(ErrorCode::transport, fmt::format("Cannot find the address of {}: {}.", host, reason),
                {{"reason", "lookup"}, {"host", host}});
}

class SystemLookup final : public HostLookup {
public:
    SystemLookup() = default;
    ~SystemLookup() override {
        CALLGATE_MAY_BLOCK("the end of looking up names");
        std::map<std::string, std::vector<Done>> dropped;
        {
            const base::MutexLock lock(mutex_);
            ended_ = true;
            hosts_.clear();
            wanted_.swap(dropped);
            changed_.notify_all();
        }
        for (std::thread& thread : threads_) thread.join();
    }
    SystemLookup(const SystemLookup&) = delete;
    SystemLookup& operator=(const SystemLookup&) = delete;

    void look_up(std::string host, Done done) override {
        if (!take(std::move(host), done))
            done(fail(ErrorCode::unavailable, "Too many names wait to be looked up.",
                      {{"reason", "too_many_lookups"}}));
    }

private:
    bool take(std::string host, Done& done) {
        const base::MutexLock lock(mutex_);
        if (waiting_ >= kMostLookups) return false;
        // Who wants a name that is being looked up has it with the others: a name that hangs has one thread.
        if (!wanted_.contains(host)) {
            if (idle_ <= hosts_.size() && threads_.size() < kLookupThreads && !add_thread()) return false;
            hosts_.push_back(host);
            changed_.notify_one();
        }
        wanted_[std::move(host)].push_back(std::move(done));
        ++waiting_;
        return true;
    }

    // False: there is none, and the system has no room for one.
    bool add_thread() CALLGATE_REQUIRES(mutex_) {
        try {
            threads_.emplace_back([this] { run(); });
        } catch (const std::system_error&) {
            return !threads_.empty();
        }
        return true;
    }

    void run() {
        const base::OurThread ours;
        base::MutexLock lock(mutex_);
        for (;;) {
            ++idle_;
            changed_.wait(lock, [this]() CALLGATE_REQUIRES(mutex_) { return ended_ || !hosts_.empty(); });
            --idle_;
            if (ended_) return;
            const std::string host = std::move(hosts_.front());
            hosts_.pop_front();
            lock.unlock();
            const auto found = addresses_of(host);
            lock.lock();
            const auto dones = wanted_.extract(host);
            if (dones.empty()) continue;
            waiting_ -= dones.mapped().size();
            lock.unlock();
            for (const Done& done : dones.mapped()) done(found);
            lock.lock();
        }
    }

    base::Mutex mutex_;
    base::CondVar changed_;
    std::deque<std::string> hosts_ CALLGATE_GUARDED_BY(mutex_);  // that no thread has taken yet
    // Also of those that are being looked up.
    std::map<std::string, std::vector<Done>> wanted_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t waiting_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::vector<std::thread> threads_;  // grows under the mutex
    std::size_t idle_ CALLGATE_GUARDED_BY(mutex_) = 0;
    bool ended_ CALLGATE_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::shared_ptr<HostLookup> system_lookup() {
    return std::make_shared<SystemLookup>();
}

}  // namespace callgate::net
