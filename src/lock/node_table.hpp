#pragma once

#include "core/instant.hpp"
#include "net/connect.hpp"
#include <redlock/node_outcome.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::lock {

inline constexpr std::string_view fenced_refusal =
    "its data was lost or replaced: no votes for fenced locks yet";

/// What `client::nodes()` shows, for any thread.
class node_table {
public:
    explicit node_table(std::vector<std::string> const& names);

    /// \param why what keeps it from voting, or what cannot be checked on a node that votes; nothing: needs no memory
    void enter(unsigned node, node_state, net::failure const& why = {});
    /// Fenced votes do not count there until then (rule F6).
    void refuse_fenced(unsigned node, core::instant until);
    void remark(unsigned node, std::string_view script, std::string_view words);
    [[nodiscard]] std::vector<node_status> rows() const;

private:
    struct row {
        node_status shown;
        net::failure why;
        core::instant fenced_from{};
    };

    std::mutex mutable lock_;
    std::vector<row> rows_;
};

} // namespace redlock::lock
