// MCP 2024-11-05: the first revision. The later ones of the legacy era build on it.
//
// Threads: constant.
#pragma once

#include "mcp/codec.h"

namespace callgate::mcp {

class Codec20241105 : public Codec {
public:
    std::string_view revision() const noexcept override { return "2024-11-05"; }
    bool progress_message() const noexcept override { return false; }
    InputAbilities abilities(const Object& capabilities) const override;
    Object tool(const ListedTool& listed) const override;
    std::string call_result(const Outcome& outcome) const override;
    Value content(Value item) const override;
    Object resource(const Resource& resource) const override;
    Object resource_template(const ResourceTemplate& pattern) const override;
    Object prompt(const Prompt& prompt) const override;
    Object capabilities() const override;
    Object info(const ServerOptions& options) const override;
    Object client_capabilities(const InputAbilities& can) const override;
    bool names_itself() const noexcept override { return false; }

protected:
    /// Whether content of this type can be said.
    virtual bool has_content(std::string_view type) const noexcept;
    /// Whether a result has structured content, which this one is.
    virtual bool has_structured(const Value& structured) const noexcept;
    /// `title`, `icons`, `_meta` …: the members beside the first revision's that this one has of a thing.
    virtual bool has_member(std::string_view member) const noexcept;
    /// Copies those it has.
    void add_members(Object& to, const Object& from) const;
    void add_resource_members(Object& to, const Object& from) const;
};

}  // namespace callgate::mcp
