// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "component/wish_fixture.hpp"
#include <redlock/fenced_multi_mutex.hpp>
#include <redlock/multi_mutex.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using names = std::vector<std::string>;

/// Clients that want several locks at once, and clients that want one of them.
struct multi_fixture : wish_fixture {
    using wish_fixture::wish_fixture;

    std::unique_ptr<wish> want_all(contender& by, names which)
    {
        return want(multi_mutex(*by.locks, std::move(which), options));
    }
    std::unique_ptr<wish> want_one(contender& by, std::string const& name)
    {
        return want(mutex(*by.locks, name, options));
    }
    error_code try_all(contender& by, names which)
    {
        return try_once(multi_mutex(*by.locks, std::move(which), options));
    }
    error_code try_one(contender& by, std::string const& name)
    {
        return try_once(mutex(*by.locks, name, options));
    }
    /// Scripts that look at queues fail from now on.
    void forbid_lines()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).redis.is.forbidden.insert("exists");
    }
    std::size_t nodes_with(std::string const& key, std::string_view owner)
    {
        std::size_t found = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            if (auto const there = on(n, key))
                found += there->text == owner ? 1 : 0;
        return found;
    }
};

} // namespace redlock::test
