// None of these lines compiles. The compiler's own words about each come with ours.
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <callgate/callgate.h>

namespace cg = callgate;

struct Mailer {
    int send(std::string) { return 1; }
};

struct Plain {
    int a;
};

struct Viewing {
    std::string_view text;
};
BOOST_DESCRIBE_STRUCT(Viewing, (), (text))

void refused(cg::Runtime& runtime) {
    Mailer mailer;
    // refused: give a generic lambda's parameters their types
    cg::tool("t", "", [](auto a) { return a; }, cg::param("a"));
    // refused: give a generic lambda's parameters their types
    cg::tool("t", "", std::bind_front([](auto, auto b) { return b; }, 1), cg::param("b"));
    // refused: a member function needs its object
    cg::tool("t", "", &Mailer::send, cg::param("to"));
    // refused: say who keeps the object
    cg::tool("t", "", cg::member(mailer, &Mailer::send), cg::param("to"));
    // refused: this type has no JSON form
    cg::tool("t", "", [](std::variant<int, std::thread::id>) {}, cg::param("a"));
    // refused: give one param() for each argument
    cg::tool("t", "", [](int, int) {}, cg::param("a"));
    // refused: this type has no JSON form
    runtime.call("t").as<Plain>();
    // refused: an outcome is read into a value of its own
    runtime.call("t").as<std::string_view>();
    // refused: an outcome is read into a value of its own
    runtime.call("t").as<std::vector<std::string_view>>();
    // refused: an outcome is read into a value of its own
    runtime.call("t").as<std::map<std::string, std::optional<std::pair<int, std::string_view>>>>();
    // refused: an outcome is read into a value of its own
    runtime.call("t").as<std::variant<int, Viewing>>();
    // refused: this type has no JSON form
    runtime.call("t").as<std::vector<const char*>>();
    // refused: this type has no JSON form
    runtime.call("t").as<std::optional<std::span<const int>>>();
    // refused: cannot bind
    cg::Tool& dangling = cg::Tool().risk(cg::Risk::low);
    // refused: cannot bind
    cg::Param& gone = cg::param("a").minimum(1);
}
