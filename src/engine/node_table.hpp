// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "net/connect.hpp"
#include <redlock/node_outcome.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Why, since when and until when a connected node's votes do not count for a lock.
struct quarantine {
    std::string why;
    core::instant since{};
    core::instant until{};
    std::string lock; ///< its name

    /// "restarted 2.1 s ago"
    [[nodiscard]] std::string explanation(core::instant now) const;
    /// "restarted 2.1 s ago; no votes for 'seat:42' for 9.0 s"
    [[nodiscard]] std::string notice(core::instant now) const;
};

/// The table behind `client::node_table()`, for any thread.
class node_table {
public:
    explicit node_table(std::vector<std::string> const& names);

    /// A node that is not ready any more has no quarantine, either.
    /// \param why it is down, or what cannot be checked on a node that is ready; nothing: needs no memory
    void enter(unsigned node, node_state, net::failure const& why = {});
    /// Shown as long as the node is connected and it lasts.
    void enter(unsigned node, quarantine);
    void note(unsigned node, std::string words);
    void note_master(unsigned node, std::string const& address);
    /// Shown as long as the node is connected, in addition.
    void note_minor_refusal(unsigned node, std::string_view words);
    [[nodiscard]] std::vector<node_status> rows(core::instant now) const;

private:
    struct row {
        node_status shown;
        std::string lack;
        quarantine waits;
    };

    std::mutex mutable lock_;
    std::vector<row> rows_;
};

} // namespace redlock::detail
