// What may be a typed tool's callable besides functions and lambdas; what may not is in tests/refused/.
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <callgate/typed.h>

namespace callgate {
namespace {

template <class F>
using FunctionOf = typename decltype(typed::signature_of<F>())::Type;

std::string joined(std::string first, std::string second, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += first + second;
    return out;
}

class Mailer {
public:
    explicit Mailer(std::string name) : name_(std::move(name)) {}
    std::string send(const std::string& to, int copies) {
        sent_ += copies;
        return name_ + " to " + to;
    }
    int sent() const noexcept { return sent_; }
    std::string action(CallContext& context, int) const { return context.action(); }

private:
    std::string name_;
    int sent_ = 0;
};

template <class F, class... P>
std::string schema_text(F callable, P... params) {
    return json::write(tool("t", "", std::move(callable), params...).definition.input_schema);
}

TEST(TypedCallable, BindFrontLeavesTheOtherParameters) {
    EXPECT_TRUE(
        (std::is_same_v<FunctionOf<decltype(std::bind_front(joined, "a"))>, std::string(std::string, int)>));
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(std::bind_front(joined, "a", "b", 3))>, std::string()>));
    const auto lambda = [](int a, CallContext&, const std::string&) { return a; };
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(std::bind_front(lambda, 1))>,
                                int(CallContext&, const std::string&)>));
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(std::bind_front(&Mailer::send, nullptr))>,
                                std::string(const std::string&, int)>));
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(std::bind_front(std::bind_front(joined, "a"), "b"))>,
                                std::string(int)>));
    EXPECT_EQ(schema_text(std::bind_front(joined, "a"), param("second"), param("times")),
              schema_text([](std::string, int) {}, param("second"), param("times")));
}

TEST(TypedCallable, AFunctionObjectWithOneCallOperatorKeepsItsSignature) {
    EXPECT_TRUE((std::is_same_v<FunctionOf<std::function<int(std::string)>>, int(std::string)>));
}

TEST(TypedCallable, AMemberFunctionIsCalledOnItsObject) {
    Mailer mailer("smtp");
    EXPECT_EQ(member(&mailer, &Mailer::send)("ada", 2), "smtp to ada");
    EXPECT_EQ(member(std::ref(mailer), &Mailer::send)("ada", 3), "smtp to ada");
    EXPECT_EQ(mailer.sent(), 5) << "the object itself, no copy";
    EXPECT_EQ(member(std::cref(mailer), &Mailer::sent)(), 5);
    EXPECT_EQ(member(std::make_unique<Mailer>("own"), &Mailer::send)("ada", 1), "own to ada");
    auto shared = std::make_shared<Mailer>("shared");
    const std::weak_ptr<Mailer> there = shared;
    {
        const auto send = member(std::move(shared), &Mailer::send);
        EXPECT_EQ(send("ada", 1), "shared to ada");
        EXPECT_FALSE(there.expired()) << "the callable keeps it";
    }
    EXPECT_TRUE(there.expired());
    EXPECT_EQ(schema_text(member(&mailer, &Mailer::action), param("n")), schema_text([](int) {}, param("n")));
}

TEST(TypedCallable, OfNoObjectIsRefused) {
    EXPECT_THROW(member(static_cast<Mailer*>(nullptr), &Mailer::sent), std::invalid_argument);
    EXPECT_THROW(member(std::shared_ptr<Mailer>(), &Mailer::sent), std::invalid_argument);
}

}  // namespace
}  // namespace callgate
