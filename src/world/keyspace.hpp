// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "world/sorted_set.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::world {

/// Milliseconds of a server's wall clock since 1970.
using millis = std::int64_t;

/// Thrown if a command needs a value of another type.
struct wrong_type {};

/// The keys of one server. As in Redis a key that may expire is gone when the clock is past its expiry, but not yet at
/// that moment.
class keyspace {
public:
    enum class type : std::uint8_t { string, list, sorted_set, hash };
    /// In the order in which they were set first, as in a small hash of Redis.
    using fields = std::vector<std::pair<std::string, std::string>>;

    struct value {
        std::string text{};
        std::optional<millis> expires{};
        type is = type::string;
        sorted_set members{};
        fields hash{};
    };

    /// \param changed called with each key that is set, changed, deleted or found to have expired
    explicit keyspace(std::function<void(std::string const&)> changed) : changed_(std::move(changed)) {}

    /// Null: there is no such key.
    [[nodiscard]] value const* find(std::string const& key, millis now);
    /// The key's string; empty if there is no key, or no string.
    [[nodiscard]] std::optional<std::string> text(std::string const& key, millis now);
    /// Empty if nothing was found. \throws wrong_type
    [[nodiscard]] static std::optional<std::string> text_of(value const* found);
    /// None where nothing was found. \throws wrong_type
    [[nodiscard]] static sorted_set const& members_of(value const* found);
    /// None where nothing was found. \throws wrong_type
    [[nodiscard]] static fields const& fields_of(value const* found);
    /// In PTTL's form: -2 no key, -1 no expiry.
    [[nodiscard]] millis time_left(std::string const& key, millis now);
    void set(std::string const& key, value);
    /// The value keeps its expiry; a set that is empty is removed.
    void set_members(std::string const& key, sorted_set);
    /// True: the field is new. \throws wrong_type
    bool set_field(std::string const& key, std::string const& name, std::string text, millis now);
    /// Returns how many were erased; with the last one the key is removed. \throws wrong_type
    std::size_t erase_fields(std::string const& key, std::vector<std::string> const& names, millis now);
    bool expire(std::string const& key, millis at, millis now);
    bool erase(std::string const& key, millis now);
    [[nodiscard]] std::map<std::string, value> const& all() const { return values_; }
    void clear() { values_.clear(); }
    /// Would `find` return it? Unlike `find` this changes nothing.
    [[nodiscard]] bool shows(std::string const& key, millis now) const;
    void replace(std::map<std::string, value> data) { values_ = std::move(data); }
    /// For a replica: expired keys are not found, but are removed only when the master says so.
    void keep_expired(bool now) { keeps_expired_ = now; }

private:
    std::map<std::string, value> values_;
    std::function<void(std::string const&)> changed_;
    bool keeps_expired_ = false;
};

} // namespace redlock::world
