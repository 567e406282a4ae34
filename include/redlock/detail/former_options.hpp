// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <optional>

/// Options that have moved, under their former names until 0.3. These are types, because with attributes of the members
/// compilers also warn where an aggregate is copied. // NOLINTBEGIN(google-explicit-constructor): as the members were
namespace redlock::detail {

/// `lock_options::fence_ttl`
struct former_fence_ttl : std::optional<std::chrono::milliseconds> {
    constexpr former_fence_ttl() = default;
    template <std::convertible_to<std::optional<std::chrono::milliseconds>> Time>
        requires(!std::derived_from<Time, former_fence_ttl>)
    [[deprecated("give it to the lock: fenced_mutex(client, name, options, {.fence_ttl = time})")]] //
    constexpr former_fence_ttl(Time time)
        : optional(time)
    {}

    friend bool operator==(former_fence_ttl const&, former_fence_ttl const&) = default;
};

/// `config::assume_fresh`
struct former_assume_fresh {
    constexpr former_assume_fresh() = default;
    [[deprecated("write .admission = {.assume_fresh = true}")]] //
    constexpr former_assume_fresh(bool value)
        : set(value)
    {}
    [[deprecated("read admission.assume_fresh")]] //
    constexpr
    operator bool() const
    {
        return set;
    }

    bool set = false;
};

/// `tls_settings::system_roots`
struct former_system_roots {
    constexpr former_system_roots() = default;
    [[deprecated("leave it out: with a ca_file or ca_dir the system's authorities are not trusted")]] //
    constexpr former_system_roots(bool value)
        : set(value)
    {}
    [[deprecated("it has no effect beside ca_file and ca_dir")]] //
    constexpr
    operator bool() const
    {
        return set;
    }

    bool set = true;
};

/// `health_settings::keep_alive`
struct former_keep_alive {
    constexpr former_keep_alive() = default;
    [[deprecated(
        "leave it out: connections have TCP keep-alive; ?keepalive=false in a URL switches it off")]] //
    constexpr former_keep_alive(bool value)
        : set(value)
    {}
    [[deprecated("connections have TCP keep-alive")]] //
    constexpr
    operator bool() const
    {
        return set;
    }

    bool set = true;
};
// NOLINTEND(google-explicit-constructor)
} // namespace redlock::detail
