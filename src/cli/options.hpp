// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/lock_use.hpp"
#include <redlock/config.hpp>
#include <redlock/lock_options.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::cli {

enum class on_loss : std::uint8_t { stop, warn };
/// With whom a lock may be shared: nobody; other readers; or nobody, as a writer among readers.
enum class sharing : std::uint8_t { none, reader, writer };

/// The parsed arguments of the command line and of the environment.
struct options {
    std::string verb;
    std::string name;                 ///< several names: "seat:41, seat:42"; list: the beginning of all names
    std::vector<std::string> names;   ///< run: each of them once, in their order
    std::vector<std::string> command; ///< run, elect: the program and its arguments
    std::string value{};              ///< elect: the value that observers read

    config client;
    lock_options lock{.ttl = std::chrono::seconds{30}};
    bool fenced = false;
    sharing with = sharing::none;
    unsigned permits = 0; ///< the size of a semaphore; zero: it is none
    unsigned count = 1;   ///< permits that are wanted
    std::optional<std::chrono::milliseconds>
        wait; ///< zero: one attempt; empty: no limit, unless an outage lasts

    std::string owner;       ///< the owner token
    std::uint64_t token = 0; ///< the fencing token

    int conflict = 75; ///< the exit status if another client has the lock
    bool quiet = false;
    bool verbose = false;
    bool json = false;
    bool prepare = false;                           ///< doctor: leave the marker of fenced locks
    bool all = false;                               ///< list: also keys that are no locks
    std::size_t limit = 10000;                      ///< list: names
    std::optional<std::chrono::milliseconds> watch; ///< list: again and again, after such pauses
    std::set<lock_use> uses{}; ///< doctor: judge by the rights that these need; empty: by a mutex's

    /// The name for messages: without characters that would control a terminal.
    [[nodiscard]] std::string shown_name() const;

    std::string ttl_as_typed = "30s";
    std::string kill_after_as_typed;

    int stop_signal = SIGTERM;
    std::optional<std::chrono::milliseconds> kill_after; ///< empty: chosen by the ttl
    on_loss when_lost = on_loss::stop;
};

/// Parses all arguments. If each word is valid by itself, the verb and the output format are set also when it throws.
/// \throws failure with a message for the user, or with status 0 and the text that was asked for (help, version)
void read_options(options& into, int argc, char const* const* argv);

/// Removes passwords from a message, whatever they are part of: `scheme://user:secret@` becomes `scheme://***@`.
[[nodiscard]] std::string without_secrets(std::string text);

/// "30s", "1.5m", "500ms", "2h"; a number alone is seconds.
/// \throws failure
[[nodiscard]] std::chrono::milliseconds read_duration(std::string const& text);

/// "TERM", "SIGTERM" or "15".
/// \throws failure
[[nodiscard]] int read_signal(std::string const& text);

/// Reads the first line of a file.
/// \throws failure
[[nodiscard]] std::string read_password(std::string const& file);

/// Returns the nodes' URLs from flags, a file, or the environment, in this order.
/// \throws failure
[[nodiscard]] std::vector<std::string> find_nodes(std::vector<std::string> const& flags,
                                                  std::string const& file);

/// Returns an advice if these are no URLs, perhaps because of a wrong separator; otherwise empty.
[[nodiscard]] std::string advice_on_nodes(std::vector<std::string> const&);

} // namespace redlock::cli
