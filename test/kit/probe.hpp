// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// A second pair of eyes: one blocking connection that asks a server what it really holds. It shares no code
/// with the library, so both cannot be wrong in the same way. Every wait is bounded; failures throw
/// std::runtime_error.
class probe {
public:
    static constexpr std::chrono::seconds patience{5};

    explicit probe(std::uint16_t port, std::chrono::milliseconds timeout = patience);
    explicit probe(std::string const& unix_path, std::chrono::milliseconds timeout = patience);
    ~probe();
    probe(probe&& other) noexcept;
    probe& operator=(probe&& other) noexcept;

    /// The reply in readable form: text as it is, "1", "(nil)", "-ERR ...", "[a, [b, (nil)]]".
    std::string command(std::vector<std::string> const& arguments);
    /// The next message or reply, in the same form.
    std::string next();

    std::optional<std::string> get(std::string const& key);
    long long pttl(std::string const& key);
    bool exists(std::string const& key);
    /// Sorted.
    std::vector<std::string> keys();
    std::string info(std::string const& section);
    /// How often the server ran this command since its start (or CONFIG RESETSTAT); "set", "client|tracking".
    long long command_calls(std::string_view name);

private:
    struct reply;

    reply ask(std::vector<std::string> const& arguments);
    /// As ask(), but an error reply throws: a question the server refused has no answer.
    reply answer(std::vector<std::string> const& arguments);
    void send(std::string_view bytes);
    void fill();
    std::string line();
    std::string exactly(std::size_t count);
    reply read();
    static std::string readable(reply const& from);

    int socket_ = -1;
    std::string received_;
};

} // namespace redlock::test
