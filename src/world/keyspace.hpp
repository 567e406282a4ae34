#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace redlock::world {

/// Milliseconds of a server's wall clock since 1970.
using millis = std::int64_t;

/// The keys of one server. As in Redis a key that may expire is gone when the clock is past its expiry, and still there
/// when it is at it.
class keyspace {
public:
    struct value {
        std::string text{};
        std::optional<millis> expires{};
        bool is_string = true;
    };

    /// \param changed told of each key that is set, changed, deleted or found to have expired
    explicit keyspace(std::function<void(std::string const&)> changed) : changed_(std::move(changed)) {}

    /// Null: there is none.
    [[nodiscard]] value const* find(std::string const& key, millis now);
    /// Its string; nothing where there is none, or no string.
    [[nodiscard]] std::optional<std::string> text(std::string const& key, millis now);
    /// As PTTL says it: -2 no key, -1 no expiry.
    [[nodiscard]] millis time_left(std::string const& key, millis now);
    void set(std::string const& key, value);
    bool expire(std::string const& key, millis at, millis now);
    bool erase(std::string const& key, millis now);
    [[nodiscard]] std::map<std::string, value> const& all() const { return values_; }
    void clear() { values_.clear(); }
    /// Would it be found? Unlike `find` this changes nothing.
    [[nodiscard]] bool shows(std::string const& key, millis now) const;
    void replace(std::map<std::string, value> data) { values_ = std::move(data); }

private:
    std::map<std::string, value> values_;
    std::function<void(std::string const&)> changed_;
};

} // namespace redlock::world
