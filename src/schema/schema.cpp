#include <callgate/schema.h>

#include <utility>

#include "base/thread_role.h"
#include "base/try.h"
#include "schema/coerce.h"
#include "schema/compiler.h"
#include "schema/evaluate.h"
#include "schema/explain.h"
#include "schema/program.h"
#include "schema/run.h"

namespace callgate::schema {

Scratch::Scratch() : state_(std::make_unique<State>()) {}
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;

Result<Schema> Schema::compile(const Value& document, const CompileOptions& options) {
    CALLGATE_MAY_BLOCK("compiling a schema");
    CALLGATE_TRY_ASSIGN(auto program, compile_program(document, options));
    return Schema(std::move(program));
}

Verdict Schema::check(const Value& instance, Scratch& scratch) const {
    Run run(scratch.state(), program_->limits.max_steps);
    NoRecorder silent;
    Evaluator<ValueNode, NoRecorder> evaluator(*program_, run, silent);
    return run.verdict(evaluator.holds(program_->root, ValueNode(instance)));
}

namespace {

[[gnu::hot]] Verdict judge_tape(const Program& program, Scratch::State& state) {
    Run run(state, program.limits.max_steps);
    NoRecorder silent;
    Evaluator<TapeNode, NoRecorder> evaluator(program, run, silent);
    return run.verdict(evaluator.holds(program.root, TapeNode(state.tape.root())));
}

}  // namespace

Result<Verdict> Schema::check_text(std::string_view text, Scratch& scratch,
                                   const json::ParseLimits& limits) const {
    json::Tape& tape = scratch.state().tape;
    if (!tape.scan(text, limits)) return tl::unexpected<Error>(tape.error(text));
    return judge_tape(*program_, scratch.state());
}

[[gnu::hot]] Result<Accepted> Schema::accept(std::string_view text, Scratch& scratch,
                                             const json::ParseLimits& limits,
                                             boost::json::storage_ptr memory) const {
    json::Tape& tape = scratch.state().tape;
    if (!tape.scan(text, limits)) return tl::unexpected<Error>(tape.error(text));
    const Verdict verdict = judge_tape(*program_, scratch.state());
    if (verdict != Verdict::valid) return Accepted{verdict, nullptr};
    return Accepted{verdict, json::to_value(tape.root(), std::move(memory))};
}

Explanation Schema::explain(const Value& instance, std::size_t max_violations) const {
    return explain_instance(*program_, instance, max_violations);
}

Coerced Schema::coerce(const Value& instance, CoercionMode mode) const {
    return coerce_instance(*program_, instance, mode);
}

Dialect Schema::dialect() const noexcept {
    return program_->dialect;
}

}  // namespace callgate::schema
