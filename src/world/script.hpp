#pragma once

#include "world/keyspace.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::world {

/// What the library's scripts (src/kind/scripts, src/redis/scripts) do, without Lua. A test compares both.
class script_run {
public:
    struct surroundings {
        keyspace& keys;
        std::int64_t now_us;                          ///< since 1970
        std::function<void(std::string const&)> read; ///< told of each key that is read
        std::function<void(std::string_view)>
            before_write; ///< throws `script_error` where the server refuses writes
    };

    script_run(surroundings where, std::vector<std::string> keys, std::vector<std::string> arguments)
        : where_(std::move(where)), keys_(std::move(keys)), arguments_(std::move(arguments))
    {}

    /// \param sha1 of one of the library's scripts
    /// \returns the reply's bytes
    [[nodiscard]] std::string run(std::string_view sha1);

private:
    [[nodiscard]] std::string release();
    [[nodiscard]] std::string extend();
    [[nodiscard]] std::string fenced_vote();
    [[nodiscard]] std::string fenced_raise();
    [[nodiscard]] std::string fenced_extend();
    [[nodiscard]] std::string fenced_adopt();
    [[nodiscard]] std::string mark();

    struct sight {
        std::optional<std::string> lock;
        std::optional<std::string> fence;
        std::optional<std::string> marker;
    };
    [[nodiscard]] sight look();
    [[nodiscard]] bool strange(std::optional<std::string> const& marker) const;
    [[nodiscard]] std::optional<double> fence_of(std::optional<std::string> const& text);
    [[nodiscard]] std::string no_fence() const;

    [[nodiscard]] millis now() const { return where_.now_us / 1000; }
    [[nodiscard]] std::optional<std::string> get(std::string const& key);
    [[nodiscard]] std::optional<std::string> mget(std::string const& key);
    [[nodiscard]] millis pttl(std::string const& key);
    void pexpire(std::string const& key, std::string const& ms);
    void set(std::string const& key, std::string text, std::string const* ms);
    void del(std::string const& key);

    surroundings where_;
    std::vector<std::string> keys_;
    std::vector<std::string> arguments_;
};

struct script_error {
    std::string text;
};

} // namespace redlock::world
